"""Requests wait because every step is full: prompts arrive faster than the token budget per step
can prefill them.

Meaning: requests wait, slots and KV blocks are free, and steps compute close to
max_num_batched_tokens each. The pool fills slowly because little is decoded; KV usage may stay at
20 to 40 % while the queue grows without bound.

Impact: time to first token grows; decodes share every step with a chunk of prefill, so the gap
between tokens rises to the length of a full step.

Without chunked prefill a prompt starts only in a step that has room for all of it, so prompts wait
while steps are partly empty, and a long one holds up those behind it.

Evidence: computed tokens per step near the budget (the cached part of prompts taken out), waiting
above 0, usage below its ceiling, running below the limit. From a log alone: a queue that grows with
the pool far from full and prompt throughput high and flat.

Not evidence: KV usage as a saturation signal: it says little here, and autoscalers that watch it
see no load. A percentile of tokens per step: vLLM books a prompt into the step that finishes it.

Mitigation: more replicas, or prefill on engines of its own. A larger budget helps only where the
card is not busy and costs inter-token latency. Route by prefix and keep prefix caching on: what is
cached needs no budget. Cap prompt length at the edge.

Source: vLLM 0.32, Scheduler.schedule (token_budget); a controlled run by an autoscaler's
maintainers, 6,000-token prompts at 32 % KV usage.
"""

from __future__ import annotations

from barostat.catalog.settings.defaults import SMALL_CARD_STEP_TOKENS
from barostat.core.symptom import Harm, Symptom
from barostat.core.verdict import Absent, Evidence, Present, Unknown, Verdict
from barostat.core.window import Window
from barostat.symptoms._halves import change
from barostat.symptoms._holding import holding, recent_mean, together
from barostat.symptoms._pool import ceiling
from barostat.symptoms._queue import (
    FULL_STEP_RATIO,
    GUESSED_CONFIDENCE,
    QUEUE,
    budget_is_certain,
    computed_tokens_per_step,
    length,
    queue,
    running_limit,
    step_budget_tokens,
)

POOL_FREE_RATIO = 0.85
"""Judged without a step count, the pool must be clearly not the limit."""
PREFILL_HEAVY_RATIO = 2.0
"""Judged without a step count, prompt throughput must be at least so many times the generated
one.
"""
LONG_QUEUE = 5
"""Judged by elimination from one reading: a shorter queue may be requests that arrived within the
last step.
"""

LONGEST_FULL_STEP_S = 4.0
"""A step full of prompts takes a card 0.05 to 2 s. Where it would have to take longer, it is not
full, or slow for another reason.
"""


def _by_elimination(
    window: Window, waiting_grows: bool, evidence: tuple[Evidence, ...], limit: float | None
) -> Verdict:
    """The verdict where steps were not counted: free pool and prefill-heavy throughput, or nothing
    else left that could hold the queue.
    """
    usage, waiting = window["kv_usage_ratio"], queue(window)
    prompt, generated = window.fresh("prompt_tokens_per_s"), window.fresh("generation_tokens_per_s")
    waits = length(waiting) if waiting is not None else 0.0
    if usage.high >= POOL_FREE_RATIO:
        return Unknown(
            "tokens per step are not known, and the pool is too full to rule it out",
            ("tokens_per_step", "max_batched_tokens"),
        )
    if (
        prompt is not None
        and generated is not None
        and prompt.mean >= PREFILL_HEAVY_RATIO * generated.mean
        and prompt.mean > 0
    ):
        full_step_s = (step_budget_tokens(window) or SMALL_CARD_STEP_TOKENS) / (
            prompt.mean + generated.mean
        )
        if full_step_s > LONGEST_FULL_STEP_S:
            slow = (
                f"{prompt.mean:.0f} prompt tokens/s would be full steps of {full_step_s:.0f} s "
                "each: not the budget holds them"
            )
            return Unknown(slow, ("tokens_per_step", "expected_work_ratio"))
        because = (
            f"{waits:.0f} wait with the pool {usage.mean:.0%} used, while {prompt.mean:.0f} "
            "prompt tokens/s go in"
        )
        return Present(
            because,
            (*evidence, prompt.evidence(window.at, prompt.mean, "mean")),
            0.75 if waiting_grows else 0.6,
        )
    if limit is not None and waits >= LONG_QUEUE and usage.high < 0.5:
        return Present(
            f"{waits:.0f} wait although slots and KV blocks are free: only the step budget "
            "is left to hold them",
            evidence,
            0.5,
        )
    if computed_tokens_per_step(window) is not None:
        return Unknown("the token budget of a step is not known", ("max_batched_tokens",))
    return Unknown("tokens per step are not known", ("tokens_per_step", "max_batched_tokens"))


def judge(window: Window) -> Verdict:
    """Present if the queue waits for the token budget of the steps."""
    usage, running, waiting, limit = (
        window["kv_usage_ratio"],
        window["running_requests"],
        queue(window),
        running_limit(window),
    )
    if waiting is None:
        return Unknown("the queue was not measured", QUEUE)
    evidence: tuple[Evidence, ...] = (
        waiting.evidence(window.at),
        usage.evidence(window.at, recent_mean(usage), "mean"),
        running.evidence(window.at),
    )
    full = ceiling(window, light_steps=False).reached
    moments = together(usage, running, waiting)
    if not holding(moments, lambda _used, _runs, waits: waits > 0).holds:
        return Absent(f"no request waits long ({waiting.last:.0f} now)", evidence)
    if holding(moments, full).holds:
        return Absent(
            f"the pool is full ({recent_mean(usage):.0%}): the queue waits for KV blocks", evidence
        )
    if limit is not None and holding(moments, lambda _used, runs, _waits: runs >= limit).holds:
        return Absent(f"all {limit:.0f} slots are in use: the queue waits for a slot", evidence)
    tokens, budget = computed_tokens_per_step(window), step_budget_tokens(window)
    if tokens is None or budget is None or budget <= 0:
        if running.last <= 0:
            return Absent(
                f"{waiting.last:.0f} wait and nothing runs: the steps are empty, not full", evidence
            )
        grown = change(waiting)
        return _by_elimination(window, grown is not None and grown.ratio > 1.2, evidence, limit)
    steps = window["tokens_per_step"].evidence(
        window.at, tokens, f"computed, of a budget of {budget:.0f}"
    )
    whole = _whole_prompt_tokens(window)
    if tokens < FULL_STEP_RATIO * budget and whole is not None and tokens + whole > budget:
        held = holding(moments, lambda used, runs, waits: waits > 0 and not full(used, runs, waits))
        return Present(
            f"{length(waiting):.0f} wait for a step with room for a whole prompt: prompts are not "
            f"chunked, a long one has {whole:.0f} tokens, and steps use {tokens:.0f} of "
            f"{budget:.0f}",
            (*evidence, steps, window["prompt_tokens_p95"].evidence(window.at)),
            min(held.confidence, 0.9),
        )
    if tokens < FULL_STEP_RATIO * budget:
        return Absent(
            f"steps have room: {tokens:.0f} of {budget:.0f} tokens on average", (*evidence, steps)
        )
    held = holding(moments, lambda used, runs, waits: waits > 0 and not full(used, runs, waits))
    because = (
        f"{length(waiting):.0f} wait for the step budget: {tokens:.0f} of {budget:.0f} tokens "
        f"per step, pool {recent_mean(usage):.0%} used"
    )
    most = 1.0 if budget_is_certain(window) else GUESSED_CONFIDENCE
    return Present(because, (*evidence, steps), min(held.confidence, most))


def _whole_prompt_tokens(window: Window) -> float | None:
    """Return the tokens of a long prompt (95th percentile) where prompts have to fit into one step,
    None if they are computed in chunks.
    """
    chunked, long = (
        window.config.get("enable_chunked_prefill"),
        window.fresh("prompt_tokens_p95"),
    )
    off = chunked is not None and chunked.value is False
    return long.last if off and long is not None else None


SYMPTOM = Symptom(
    name="prefill-budget-saturated",
    title="prompts wait for the step's token budget",
    judge=judge,
    needs=("kv_usage_ratio", "running_requests"),
    needs_any=QUEUE,
    harm=Harm.UNHEALTHY | Harm.OF_THE_ENGINE,
)
