"""Requests with very long prompts are refused before they reach the engine.

Meaning: a limit on input tokens at the gateway or in the application; what is longer is answered
413 at once.
When: KV pressure or prefill pressure, and some prompts are far longer than the usual one. Live:
nothing restarts.
Not when: all prompts are alike: a cap would refuse ordinary requests.
Undo: take the limit out of the limits file; it holds from the next request on.
Proof: the 95th percentile of prompt tokens falls to the cap; KV usage and time to first token fall
with it.
Source: vLLM 0.33.0 Scheduler: a prompt is admitted whole (scheduler_reserve_full_isl) and holds its
blocks until it ends.
"""

from __future__ import annotations

from barostat.core.diagnosis import KV_CAUSES
from barostat.core.lever import Lever, NotApplicable, Proposal, SetsEdgeLimit, Situation
from barostat.core.proposed_change import SetEdgeLimit
from barostat.core.prose import Prose
from barostat.levers._readings import count, last_of, round_up_tokens

NAME = "edge-input-cap"


def propose(situation: Situation) -> Proposal | NotApplicable:
    """A cap at the 95th percentile of what clients send, where that lies well above the median."""
    window = situation.window
    median, high = last_of(window, "prompt_tokens_p50"), last_of(window, "prompt_tokens_p95")
    if high is None or high <= 0:
        return NotApplicable(NAME, Prose("the lengths of the prompts were not measured"))
    if median is not None and high < 1.25 * median:
        return NotApplicable(
            NAME,
            Prose(
                f"the prompts are all alike (median {count(median)}, 95th percentile "
                f"{count(high)}): a cap would refuse ordinary requests"
            ),
        )
    cap = round_up_tokens(high)
    limit = last_of(window, "max_model_len_tokens")
    if limit is not None and cap >= limit:
        return NotApplicable(
            NAME,
            Prose(
                f"a cap of {count(cap)} would be no tighter than the engine's own {count(limit)}"
            ),
        )
    usual = f"; the median is {count(median)}" if median is not None else ""
    return Proposal(
        NAME,
        SetEdgeLimit("request.maxInputTokens", cap),
        Prose(f"95 % of the prompts have at most {count(high)} tokens{usual}"),
        False,
        12,
    )


LEVER = Lever(
    NAME,
    Prose("cap the input tokens at the edge"),
    "edge",
    (*KV_CAUSES, "prefill-bound"),
    propose,
    sets=SetsEdgeLimit("request.maxInputTokens"),
)
