"""Answers have become longer within the window.

Meaning: the mean answer of the requests that finished in the later half is half as long again as in
the earlier one. A trigger, not a cause.

Impact: growth of answers is what no admission check reserves: it is what preempts.

Evidence: output_tokens_mean, later against earlier; max_tokens asked for beside it.

Not evidence: the first minute after a start or a burst: short answers finish first, so the mean
rises by itself.

Mitigation: cap max_tokens at the edge; look for a release that dropped its limit (none means up to
the model's length).

Source: `vllm:request_generation_tokens` (observed when a request finishes).
"""

from __future__ import annotations

from barostat.core.symptom import Symptom
from barostat.core.verdict import Verdict
from barostat.core.window import Window
from barostat.symptoms._halves import longer

GROWTH_TOKENS = 32
"""Minimum growth: an increase from ten to twenty tokens is irrelevant."""


def judge(window: Window) -> Verdict:
    """Present if the mean answer grew within the window."""
    return longer(window, "output_tokens_mean", "answer", GROWTH_TOKENS)


SYMPTOM = Symptom(
    name="longer-outputs",
    title="answers have become longer",
    judge=judge,
    needs=("output_tokens_mean",),
)
