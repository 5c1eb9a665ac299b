"""The evidence does not carry a cause.

Meaning: what was measured fits none of the causes well enough, or the signals that would tell are
missing or stale. This is an answer, not a failure: nothing may be changed on the strength of it.

Impact: none by itself.

Evidence: the report lists what was looked at, which causes stay open, and what would help most to
decide.

Not evidence: silence. A signal that is missing never counts as good news.

Mitigation: give it what it asks for: a longer window, the log, per-process CPU, the card's state,
the pod's status.

Source: DESIGN.md, laws.
"""

from __future__ import annotations

from barostat.judge.diagnosis.case import Case, Cause, Judgement, Open


def judge(case: Case) -> Judgement:
    """Never claims: it remains when no other cause claims."""
    return Open(f"left when no other cause is carried by the evidence on {case.window.replica}")


CAUSE = Cause("unknown", "The evidence does not carry a cause", 99, judge)
