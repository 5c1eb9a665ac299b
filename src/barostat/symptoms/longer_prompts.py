"""Prompts have become longer within the window.

Meaning: the mean prompt of the requests that finished in the later half is half as long again as in
the earlier one. A trigger, not a cause.

Impact: every request takes more blocks and more prefill: the same request rate asks for more of the
pool.

Evidence: prompt_tokens_mean, later against earlier.

Not evidence: of who sends them. A shift seen in four readings or less.

Mitigation: find the tenant or the release that sends more context; cap prompt length at the edge.

Source: `vllm:request_prompt_tokens` (observed when a request finishes).
"""

from __future__ import annotations

from barostat.core.symptom import Symptom
from barostat.core.verdict import Verdict
from barostat.core.window import Window
from barostat.symptoms._halves import longer

GROWTH_TOKENS = 64
"""Minimum growth: an increase from ten to twenty tokens is irrelevant."""


def judge(window: Window) -> Verdict:
    """Present if the mean prompt grew within the window."""
    return longer(window, "prompt_tokens_mean", "prompt", GROWTH_TOKENS)


SYMPTOM = Symptom(
    name="longer-prompts",
    title="prompts have become longer",
    judge=judge,
    needs=("prompt_tokens_mean",),
)
