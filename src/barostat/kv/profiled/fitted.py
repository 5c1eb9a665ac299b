"""The constants of the memory model: medians over the parts that public start-up logs state, never
a regression over what is left.

docs/decisions/memory-model.md says how they were found and how well they do.
"""

from __future__ import annotations

from dataclasses import dataclass

from barostat.core.units import GIB


@dataclass(frozen=True, slots=True)
class MemoryModel:
    """The fitted constants. Units: copies of a tensor, or bytes.

    `sampler_copies`: simultaneous float32 copies of the logits; `sorting_copies`: if the sampler
    sorts them. `forward_ffn`, `forward_hidden`: copies of the feed-forward's and the hidden
    activations. `state_copies`: of a state layer's projections. `tower_bytes`: extra memory of a
    multimodal profile (`old_`: in V0). `context_bytes`: used by a process before it allocates
    anything. `host_growth_bytes`, `host_bytes`: for a host that shares the card's memory, its
    growth during start, and its use before. `delta_tuning_bytes`: left allocated by kernel tuning
    of delta nets on Blackwell. `single_bytes`, `linked_bytes`, `unlinked_bytes`: non-torch memory
    on one GPU, on several Hopper or newer data-centre GPUs, on several others. `early_`: the same
    before 0.12 or 0.18, and for linked ones before 0.13. `amd_bytes`: on AMD's cards.
    """

    sampler_copies: float = 3.62
    sorting_copies: float = 10.0
    fixed_bytes: float = 0.05 * GIB
    forward_ffn: float = 3.0
    forward_hidden: float = 4.2
    state_copies: float = 3.0
    tower_bytes: float = 0.2 * GIB
    old_tower_bytes: float = 2.5 * GIB
    single_bytes: float = 0.25 * GIB
    linked_bytes: float = 2.08 * GIB
    unlinked_bytes: float = 0.25 * GIB
    early_bytes: float = 0.1 * GIB
    early_linked_bytes: float = 1.4 * GIB
    amd_bytes: float = 0.53 * GIB
    graph_base_bytes: float = 0.38 * GIB
    graph_layer_bytes: float = 0.0165 * GIB
    graph_moe_bytes: float = 0.7 * GIB
    weights_extra_bytes: float = 0.02 * GIB
    context_bytes: float = 0.5 * GIB
    host_growth_bytes: float = 1.5 * GIB
    delta_tuning_bytes: float = 3.4 * GIB
    host_bytes: float = 6 * GIB


FITTED = MemoryModel()
