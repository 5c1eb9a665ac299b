"""Answers have become longer within the window.

Meaning: the mean answer of the requests that finished in the later half is half as long again as in the earlier one.
A trigger, not a cause.

Impact: growth of answers is what no admission check reserves: it is what preempts.

Evidence: output_tokens_mean, later against earlier; max_tokens asked for beside it.

Not evidence: the first minute after a start or a burst: short answers finish first, so the mean rises by itself.

Mitigation: cap max_tokens at the edge; look for a release that dropped its limit (none means up to the model's
length).

Source: `vllm:request_generation_tokens` (observed when a request finishes).
"""

from __future__ import annotations

from barostat.core.symptom import Symptom
from barostat.core.verdict import Absent, Present, Unknown, Verdict
from barostat.core.window import Window
from barostat.symptoms._halves import TOO_FEW, change

NEEDS = ("output_tokens_mean",)
GROWTH_RATIO = 1.5
"""Half as long again is a change of traffic, not its scatter."""
GROWTH_TOKENS = 32
"""And by at least so many tokens: twenty after ten is no longer a prompt than before in any sense that matters."""


def judge(window: Window) -> Verdict:
    """Present if the mean answer grew within the window."""
    lengths = window["output_tokens_mean"]
    moved = change(lengths)
    if moved is None:
        return Unknown(TOO_FEW)
    evidence = (lengths.evidence(window.at, moved.later, f"earlier {moved.earlier:.0f}"),)
    if moved.ratio >= GROWTH_RATIO and moved.later - moved.earlier >= GROWTH_TOKENS:
        return Present(
            f"the mean answer grew from {moved.earlier:.0f} to {moved.later:.0f} tokens within {moved.span_s:.0f} s",
            evidence,
            moved.confidence,
        )
    return Absent(f"the mean answer: {moved.earlier:.0f} tokens earlier, {moved.later:.0f} now", evidence)


SYMPTOM = Symptom(name="longer-outputs", title="answers have become longer", judge=judge, needs=NEEDS)
