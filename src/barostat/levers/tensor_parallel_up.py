"""More cards share the model, so that each has more memory left for KV.

Meaning: twice the --tensor-parallel-size halves the weights per card and, up to the number of KV
heads, the KV bytes per token and card.
When: the weights do not fit, or leave no room for a pool, and there are more cards.
Not when: KV pressure while serving: another replica is the simpler way. Above the number of KV
heads it gains nothing for KV.
Undo: restore the former value, with the cards it had.
Proof: the engine starts; the weights logged per card are half.
Source: vLLM 0.33.0 ModelConfig.get_num_kv_heads, GPUWorker.load_model.
"""

from __future__ import annotations

from barostat.core.lever import Lever, NotApplicable, Proposal, SetsFlag, Situation
from barostat.core.proposed_change import Advise, SetFlag
from barostat.core.prose import Prose
from barostat.levers._readings import detail_of, is_cpu, last_of, number_in, short_of_the_pool

NAME = "tensor-parallel-up"


def propose(situation: Situation) -> Proposal | NotApplicable:
    """Twice the present size for weights that do not fit or leave no pool."""
    window = situation.window
    if is_cpu(window):
        return NotApplicable(NAME, Prose("the CPU backend has no cards to share"))
    if short_of_the_pool(situation):
        return NotApplicable(
            NAME, Prose("the weights fit: memory ran out after the pool was sized")
        )
    weights = situation.variant == "startup" and "Free memory on device" not in detail_of(
        window, "log_gpu_oom_startup"
    )
    if not weights and situation.variant not in ("no-blocks", "length"):
        return NotApplicable(NAME, Prose("the weights fit"))
    known = window.config.number("tensor_parallel_size")
    index = number_in(r"\bGPU (\d+) has a total capacity", detail_of(window, "log_gpu_oom_startup"))
    if known is None and index:
        why = (
            f"memory ran out on GPU {index:.0f}: there are several cards already, and how many "
            "share the model is not recorded"
        )
        return Proposal(
            NAME,
            Advise(Prose("--tensor-parallel-size <twice the present one>")),
            Prose(f"{why}; it needs as many cards"),
            True,
            45,
        )
    now = known or 1.0
    cards = last_of(window, "gpu_count")
    have = (
        f"; {cards:.0f} cards were seen"
        if cards is not None and cards > now
        else "; it needs as many cards"
    )
    return Proposal(
        NAME,
        SetFlag("tensor_parallel_size", int(2 * now)),
        Prose(f"the model is on {now:.0f} card{'s' if now > 1 else ''} now{have}"),
        True,
        45,
    )


LEVER = Lever(
    NAME,
    Prose("more cards per replica"),
    "supply",
    ("gpu-oom", "kv-pool-too-small"),
    propose,
    sets=SetsFlag("tensor_parallel_size"),
)
