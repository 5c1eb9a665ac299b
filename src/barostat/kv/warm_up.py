"""What an engine allocates after its pool stands, beyond what it set aside for that while it
profiled: graphs, then the sampler at its full width, later the first image.

    profile:  weights | activations at their peak | non-torch | graphs, charged since 0.20
    start:    weights | KV pool ................................ | graphs | sampler over max_num_seqs rows

The sampler's warm-up repeats the profile's last step beside the pool, in memory that by then is cut
into pieces: on an A10G (22.06 GiB, vLLM 0.22.0, a vocabulary of 152,064) it ran out of memory with
1,016 rows at a utilisation of 0.9488 and came up with 990 rows at 0.9498. That is the room of
about one more float32 copy of the logits than the profile counts.
Source: vLLM 0.32.0, Worker.compile_or_warm_up_model, GPUModelRunner._dummy_sampler_run,
gpu/warmup.py (the newer runner); graz-dev/vllm-benchmark@468bffc.
"""

from __future__ import annotations

from barostat.core.units import GIB
from barostat.kv.architecture import Architecture
from barostat.kv.deployment import Deployment
from barostat.kv.dtypes import item_bytes
from barostat.kv.estimate import Estimate
from barostat.kv.memory import Footprint, sampler_copies
from barostat.kv.profiled.fitted import FITTED, MemoryModel
from barostat.kv.profiled.towers import tower_profile

ROOM_BESIDE_BUDGET = "room beside the budget"
_CUT_COPIES = 1.1
# The newer runner warms up with two tokens of a prompt for each request.
_V2_WARM_UP_TOKENS = 2


def warm_up(
    model: Architecture,
    flags: Deployment,
    spent: Footprint,
    *,
    eager: bool,
    constants: MemoryModel = FITTED,
) -> tuple[Estimate, ...]:
    """Return what each step of the start takes beyond what the budget holds for it, in bytes on the
    GPU of the last stage; only steps that take something.
    """
    steps = (
        None if spent.graphs_counted else spent.graphs,
        _sampler(model, flags, spent, constants, eager=eager),
        _tower(model, flags, spent),
    )
    return tuple(step for step in steps if step is not None and step.value > 0)


def room_beside(total: Estimate, utilization: float, constants: MemoryModel = FITTED) -> Estimate:
    """Return the memory of a GPU that is neither in the engine's budget nor taken by its context."""
    share, context = 1 - utilization, constants.context_bytes
    return Estimate(
        ROOM_BESIDE_BUDGET,
        total.value * share - context,
        total.low * share - context,
        total.high * share - context,
        f"{share:.1%} of the card less a context of about {context / GIB:.1f} GiB",
    )


def _sampler(
    model: Architecture, flags: Deployment, spent: Footprint, constants: MemoryModel, *, eager: bool
) -> Estimate | None:
    if flags.generation == "V0" or not model.vocab_size:
        return None
    if flags.v2_runner and eager:
        return None  # its warm-up is part of what --enforce-eager leaves out
    tokens = flags.max_num_batched_tokens // (_V2_WARM_UP_TOKENS if flags.v2_runner else 1)
    rows = min(flags.max_num_seqs, tokens)
    logits = rows * model.vocab_size * 4
    hidden = rows * model.hidden_size * item_bytes(flags.dtype)
    whole = sampler_copies(flags, constants) * logits + hidden + constants.fixed_bytes
    beyond = whole + _CUT_COPIES * logits - spent.stage_activations[-1].value
    if beyond <= 0:
        return None
    return Estimate(
        "sampler",
        beyond,
        max(0.0, beyond - _CUT_COPIES * logits),
        beyond + 0.5 * logits,
        f"{rows:,} rows of {model.vocab_size:,} logits, {whole / GIB:.2f} GiB and what lies between",
    )


def _tower(model: Architecture, flags: Deployment, spent: Footprint) -> Estimate | None:
    """The largest image or video, if profiling it was disabled."""
    if flags.profiles_items or flags.text_only:
        return None
    tower = tower_profile(model, flags)
    if tower is None:
        return None
    beyond = tower.peak_bytes - spent.stage_activations[0].value
    if beyond <= 0:
        return None
    source = f"{tower.patches:,} patches of the largest image or video, not profiled"
    return Estimate("tower", beyond, 0.75 * beyond, 1.25 * beyond, source)
