"""The longest request that the engine promises fits its pool.

Meaning: --max-model-len bounds one request, and the engine starts only if one such request fits the
pool.
When: the engine does not start because the length does not fit; the log says which length does.
Not when: KV pressure while serving: the length reserves nothing, so a smaller one leaves the pool
and what the requests take as they are (hybrid models report another size, and hold the same).
Undo: restore the former value, once the pool is larger.
Proof: the engine starts and logs a concurrency of at least 1.0x.
Source: vLLM 0.33.0 kv_cache_planning (start-up check); 0.14.0 for `auto`.
"""

from __future__ import annotations

from barostat.catalog.vllm_behaviours import behaves
from barostat.core.diagnosis import KV_CAUSES
from barostat.core.lever import Lever, NotApplicable, Proposal, Situation
from barostat.core.proposed_change import SetFlag
from barostat.core.prose import Prose
from barostat.levers._readings import count, detail_of, number_in

NAME = "max-model-len"


def propose(situation: Situation) -> Proposal | NotApplicable:
    """The length that the log says would fit, rounded down; `auto` where the version has it and the
    log says none.
    """
    window = situation.window
    if situation.cause in KV_CAUSES:
        why = (
            "the length reserves nothing for a request: a smaller one frees no block; cap the "
            "input at the edge instead"
        )
        return NotApplicable(NAME, Prose(why), classic=True)
    if situation.variant != "length":
        return NotApplicable(
            NAME,
            Prose(
                "there are no blocks at all: a shorter length makes none"
                if situation.variant == "no-blocks"
                else "the length fits"
            ),
        )
    line = detail_of(window, "log_model_too_long")
    wanted = number_in(r"max seq len \((\d+)\)", line) or window.config.number("max_model_len")
    fits = number_in(r"estimated maximum model length is (\d+)", line) or number_in(
        r"stored in (?:the )?KV cache \((\d+)\)", line
    )
    if fits is None:
        need, available = (
            number_in(r"\(([\d.]+) Gi?B KV cache is needed", line),
            number_in(r"available KV cache memory \((-?[\d.]+) Gi?B\)", line),
        )
        fits = (
            wanted * available / need * 0.98
            if wanted and need and available and available > 0
            else None
        )
    if fits is not None and fits >= 16:
        target = int(fits) // 16 * 16
        asked = f"; {count(wanted)} were requested" if wanted else ""
        return Proposal(
            NAME,
            SetFlag("max_model_len", target),
            Prose(f"the pool holds one request of {count(fits)} tokens{asked}"),
            True,
            20,
        )
    if behaves("auto-model-length", window.version):
        return Proposal(
            NAME,
            SetFlag("max_model_len", "auto"),
            Prose("the log does not say what fits; this version finds it at start"),
            True,
            20,
        )
    return NotApplicable(
        NAME,
        Prose("the log does not say which length fits (--max-model-len auto needs vLLM >= 0.14.0)"),
    )


LEVER = Lever(
    NAME, Prose("a length that fits"), "demand", ("kv-pool-too-small", *KV_CAUSES), propose
)
