"""The token budget of a step fits the work.

Meaning: --max-num-batched-tokens bounds the tokens of one step, and with it the activation peak
that is reserved at start.
When: prefill-bound: steps are full of prompt tokens and the queue grows while the pool has room:
up. Out of GPU memory: down.
Not when: KV pressure. The budget limits tokens per step, not tokens that stay in the pool;
measured, a quarter of it left preemptions as they were (142 to 134). Without chunked prefill it is
never below max_model_len: vLLM would refuse to start.
Undo: restore the former value; drain first.
Proof: prompt tokens per second rise and the queue shrinks; the inter-token latency may rise: that
is the price.
Source: vLLM 0.32.0 Scheduler.schedule, GPUWorker.determine_available_memory.
"""

from __future__ import annotations

from barostat.catalog.settings.defaults import SMALL_CARD_SEQS
from barostat.catalog.vllm_behaviours import behaves
from barostat.core.diagnosis import KV_CAUSES
from barostat.core.lever import Lever, NotApplicable, Proposal, Situation
from barostat.core.proposed_change import SetFlag
from barostat.core.prose import Prose
from barostat.core.window import Window
from barostat.levers._readings import count, detail_of, last_of

NAME = "max-num-batched-tokens"
MOST = 16_384


def _chunked_prefill_is_off(window: Window) -> bool:
    """True if a prompt is computed in one step: it was switched off, or this version has it off
    by default.
    """
    found = window.config.get("enable_chunked_prefill")
    return (
        found.value is False
        if found is not None
        else behaves("chunked-prefill-default", window.version) is False
    )


def propose(situation: Situation) -> Proposal | NotApplicable:
    """Twice the budget up to 16,384 for prefill, half of it for memory, and the reason why not for
    KV pressure.
    """
    window = situation.window
    if situation.cause in KV_CAUSES:
        why = (
            "it bounds the tokens of one step, not the tokens that stay in the pool: lowering "
            "it does not reduce KV demand"
        )
        return NotApplicable(NAME, Prose(why), classic=True)
    found = window.config.get("max_num_batched_tokens")
    now = last_of(window, "max_batched_tokens") or (
        window.config.number("max_num_batched_tokens") if found and found.certain else None
    )
    if now is None:
        return NotApplicable(NAME, Prose("the present token budget is not known"))
    if situation.cause == "prefill-bound":
        if now >= MOST:
            return NotApplicable(
                NAME,
                Prose(
                    f"the budget is {count(now)} tokens already: a bigger one hardly speeds "
                    "prefill and stalls the decodes"
                ),
            )
        target = int(min(MOST, 2 * now))
        return Proposal(
            NAME,
            SetFlag("max_num_batched_tokens", target),
            Prose(f"the steps are full at {count(now)} tokens while prompts wait"),
            True,
            30,
        )
    if "Free memory on device" in detail_of(window, "log_gpu_oom_startup"):
        return NotApplicable(
            NAME,
            Prose(
                "the engine compares the card's free memory with its budget before it runs any step"
            ),
        )
    slots = window.config.number("max_num_seqs") or SMALL_CARD_SEQS
    whole_prompts = _chunked_prefill_is_off(window)
    longest = last_of(window, "max_model_len_tokens") or window.config.number("max_model_len")
    if whole_prompts and (longest is None or longest <= 0):
        return NotApplicable(
            NAME,
            Prose(
                "chunked prefill is off: a step must hold a whole prompt, and max_model_len is "
                "not known"
            ),
        )
    prompt = int(longest) if whole_prompts and longest is not None else 0
    target = max(int(now) // 2, int(slots), prompt, 1024)
    if target >= now:
        least = (
            f"{count(prompt)} tokens of one prompt (chunked prefill is off)"
            if prompt > slots
            else f"{count(slots)} slots"
        )
        return NotApplicable(
            NAME, Prose(f"the budget of {count(now)} tokens cannot be lowered below the {least}")
        )
    peak = f"the activation peak is that of a step of {count(now)} tokens"
    if situation.variant == "startup" and window.config.get("model_memory_gib") is None:
        return Proposal(
            NAME,
            SetFlag("max_num_batched_tokens", target),
            Prose(f"{peak}; no help where the weights do not fit"),
            True,
            48,
        )
    return Proposal(NAME, SetFlag("max_num_batched_tokens", target), Prose(peak), True, 32)


LEVER = Lever(
    NAME,
    Prose("the token budget of a step"),
    "demand",
    ("prefill-bound", "gpu-oom", *KV_CAUSES),
    propose,
)
