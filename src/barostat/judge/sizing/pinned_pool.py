"""A pool that a flag sets, held against the card: the engine takes it unmeasured, and runs out of
memory where it is too much.

Source: vLLM 0.32.0, Worker.determine_available_memory (kv_cache_memory_bytes "skipped memory
profiling"), get_num_blocks_override and the check of get_kv_cache_configs, which since 0.21.0 is of
the override's own bytes.
"""

from __future__ import annotations

from barostat.core.config import EngineConfig
from barostat.kv.deployment import Deployment
from barostat.kv.estimate import Estimate
from barostat.kv.memory import Footprint
from barostat.kv.pool import Layout

FITS_CARD = Estimate("beyond the card", 0.0, 0.0, 0.0, "the pool is what is left")


def pin_of(config: EngineConfig, flags: Deployment) -> str:
    """The flag that sets the pool; empty if the engine measures it."""
    if flags.num_gpu_blocks_override is not None:
        return "--num-gpu-blocks-override"
    return "--kv-cache-memory-bytes" if config.number("kv_cache_memory_bytes") else ""


def beyond_card(
    layout: Layout, blocks: int, total: Estimate, spent: Footprint, pin: str
) -> Estimate:
    """Return the bytes by which the fullest stage's GPU is overcommitted; negative if memory is
    left.

    --gpu-memory-utilization is ignored, and graphs, which are allocated last, are not counted.
    """
    stages = zip(
        spent.stage_weights, spent.stage_activations, layout.block_bytes_by_stage, strict=True
    )
    fullest = max(stages, key=lambda stage: stage[0] + stage[1].value + blocks * stage[2])
    size, activated, block_bytes = fullest
    scale = size / spent.weights.value if spent.weights.value else 1.0
    pool = blocks * block_bytes
    return Estimate(
        FITS_CARD.name,
        size + activated.value + spent.adapters.value + spent.non_torch.value + pool - total.value,
        spent.weights.low * scale
        + activated.low
        + spent.adapters.low
        + spent.non_torch.low
        + pool
        - total.high,
        spent.weights.high * scale
        + activated.high
        + spent.adapters.high
        + spent.non_torch.high
        + pool
        - total.low,
        pin,
    )
