"""Prompts have become longer within the window.

Meaning: the mean prompt of the requests that finished in the later half is half as long again as in the earlier one.
A trigger, not a cause.

Impact: every request takes more blocks and more prefill: the same request rate asks for more of the pool.

Evidence: prompt_tokens_mean, later against earlier.

Not evidence: of who sends them. A shift seen in four readings or less.

Mitigation: find the tenant or the release that sends more context; cap prompt length at the edge.

Source: `vllm:request_prompt_tokens` (observed when a request finishes).
"""

from __future__ import annotations

from barostat.core.symptom import Symptom
from barostat.core.verdict import Absent, Present, Unknown, Verdict
from barostat.core.window import Window
from barostat.symptoms._halves import TOO_FEW, change

NEEDS = ("prompt_tokens_mean",)
GROWTH_RATIO = 1.5
"""Half as long again is a change of traffic, not its scatter."""
GROWTH_TOKENS = 64
"""And by at least so many tokens: twenty after ten is no longer a prompt than before in any sense that matters."""


def judge(window: Window) -> Verdict:
    """Present if the mean prompt grew within the window."""
    lengths = window["prompt_tokens_mean"]
    moved = change(lengths)
    if moved is None:
        return Unknown(TOO_FEW)
    evidence = (lengths.evidence(window.at, moved.later, f"earlier {moved.earlier:.0f}"),)
    if moved.ratio >= GROWTH_RATIO and moved.later - moved.earlier >= GROWTH_TOKENS:
        return Present(
            f"the mean prompt grew from {moved.earlier:.0f} to {moved.later:.0f} tokens within {moved.span_s:.0f} s",
            evidence,
            moved.confidence,
        )
    return Absent(f"the mean prompt: {moved.earlier:.0f} tokens earlier, {moved.later:.0f} now", evidence)


SYMPTOM = Symptom(name="longer-prompts", title="prompts have become longer", judge=judge, needs=NEEDS)
