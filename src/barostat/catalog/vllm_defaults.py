"""The defaults of `vllm serve` by version, and by the card's memory where they depend on it.

Source: vLLM 0.8.0 to 0.33.0, EngineArgs.get_batch_defaults, SchedulerConfig, CacheConfig; 0.32.0
also EngineArgs._set_default_max_num_seqs_and_batched_tokens_args for the order of the adjustments.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from barostat.core.config import ConfigScalar, ConfigValue
from barostat.core.version import EngineVersion

Tier = Literal["small", "large", "huge", "cpu"]
LARGE_GIB, HUGE_GIB = 70.0, 160.0

# Cards that are on one side of the border in every build of theirs. An A100 is small at any size:
# the rule names it.
_LARGE_CARDS = (
    "h100",
    "h200",
    "h20",
    "gh200",
    "b200",
    "b300",
    "gb200",
    "gb300",
    "mi300",
    "mi325",
    "mi350",
    "mi355",
    "rtx pro 6000",
)
_HUGE_CARDS = ("b200", "b300", "gb200", "gb300", "mi300x", "mi325", "mi350", "mi355")
_SMALL_CARDS = ("a100", "l40", "l4", "l20", "a10", "a30", "a40", "a16", "a2", "a6000", "a5000", "t4", "v100", "p100", "p40", "rtx 20",
                "rtx 30", "rtx 40", "rtx 50", "3090", "4090", "5090", "4080", "3080", "mi50", "mi60", "mi100")  # fmt: skip


@dataclass(frozen=True, slots=True)
class Device:
    """What is known of the card. `name` as nvidia-smi or the recording gives it; `memory_gib` total
    of one card.
    """

    name: str | None = None
    memory_gib: float | None = None
    is_cpu: bool = False

    def tier(self, version: EngineVersion | None) -> Tier | None:
        """The memory tier that decides the batch defaults, or None where it cannot be told.

        Large: at least 70 GiB and no A100 (0.8.x also took an A100 of 80 GB for large). Huge: at
        least 160 GiB, since 0.28.0.
        """
        if self.is_cpu:
            return "cpu"
        name = (self.name or "").lower()
        old = version is not None and version.before("0.9.0")
        if "a100" in name and not old:
            return "small"
        if self.memory_gib is not None:
            if self.memory_gib < LARGE_GIB:
                return "small"
            if not name and not old and self.memory_gib < 90:
                return None  # an A100 of 80 GB and an H100 look the same here
            return self._huge_if(self.memory_gib >= HUGE_GIB, version)
        if any(card in name for card in _LARGE_CARDS):
            return self._huge_if(any(card in name for card in _HUGE_CARDS), version)
        return (
            "small" if any(card in name for card in _SMALL_CARDS) and "a100" not in name else None
        )

    @staticmethod
    def _huge_if(huge: bool, version: EngineVersion | None) -> Tier | None:
        if not huge:
            return "large"
        return None if version is None else "huge" if version.at_least("0.28.0") else "large"


_BATCH: tuple[tuple[str, dict[Tier, tuple[int, int]]], ...] = (
    (
        "0.8.0",
        {"huge": (1024, 16384), "large": (1024, 8192), "small": (256, 2048), "cpu": (128, 2048)},
    ),
)
"""From which version on, by tier: max_num_seqs and max_num_batched_tokens of an API server. On a
CPU both are times the world size.
"""
USUAL_SEQS, USUAL_STEP_TOKENS = _BATCH[-1][1]["small"]
"""What is taken for max_num_seqs and max_num_batched_tokens where nothing is known of the engine:
the smaller card's.
"""
USUAL_BLOCK_TOKENS = 16
"""What is taken for the block size where nothing says it; the attention backend may raise it."""

_TIER_WORDS: dict[Tier, str] = {
    "huge": "card of 160 GiB or more",
    "large": "card of 70 GiB or more",
    "small": "smaller card",
    "cpu": "CPU backend",
}

_STEADY: tuple[tuple[str, str, ConfigScalar], ...] = (
    ("gpu_memory_utilization", "0.0.0", 0.9),
    ("gpu_memory_utilization", "0.20.0", 0.92),
    ("kv_cache_dtype", "0.0.0", "auto"),
    ("enable_prefix_caching", "0.0.0", False),
    ("enable_prefix_caching", "0.8.0", True),
    ("enable_chunked_prefill", "0.8.0", True),
    ("enforce_eager", "0.0.0", False),
    ("tensor_parallel_size", "0.0.0", 1),
    ("pipeline_parallel_size", "0.0.0", 1),
    ("data_parallel_size", "0.8.0", 1),
    ("watermark", "0.24.0", 0.0),
    ("scheduler_reserve_full_isl", "0.19.0", True),
    ("scheduling_policy", "0.0.0", "fcfs"),
    ("shutdown_timeout", "0.18.0", 0),
    ("long_prefill_token_threshold", "0.8.0", 0),
    ("swap_space", "0.0.0", 4),
    ("port", "0.0.0", 8000),
)
"""Name, version from which on it holds, value."""

_ENDS = {"swap_space": "0.18.0"}


def default(
    name: str, version: EngineVersion | None, device: Device | None = None, world_size: int = 1
) -> ConfigValue | None:
    """The value that `vllm serve` takes where nothing sets one, or None where it has no fixed
    default (or the version lacks it).

    `certain` is False where it depends on something not known: the version, or the card's memory.
    `world_size`: tensor times pipeline parallel size (only the CPU backend asks).
    """
    if name in ("max_num_seqs", "max_num_batched_tokens"):
        return _batch_default(name, version, device or Device(), world_size)
    rows = [(since, value) for row, since, value in _STEADY if row == name]
    if not rows:
        return None
    if version is None:
        same = (
            len({value for _, value in rows}) == 1 and rows[0][0] == "0.0.0" and name not in _ENDS
        )
        return ConfigValue(
            rows[-1][1],
            "version-default",
            "vLLM's default" if same else "vLLM's default; the version is not known",
            certain=same,
        )
    if name in _ENDS and version.at_least(_ENDS[name]):
        return None
    fitting = [value for since, value in rows if version.at_least(since)]
    return (
        ConfigValue(fitting[-1], "version-default", f"vLLM {version}, default") if fitting else None
    )


def usual_utilization(version: EngineVersion | None = None) -> float:
    """The share of a card that this version takes where nothing says one; without a version, the
    newest.
    """
    rows = [
        (since, value)
        for name, since, value in _STEADY
        if name == "gpu_memory_utilization" and isinstance(value, float)
    ]
    return [value for since, value in rows if version is None or version.at_least(since)][-1]


def _batch_default(
    name: str, version: EngineVersion | None, device: Device, world_size: int
) -> ConfigValue | None:
    column = 0 if name == "max_num_seqs" else 1
    if version is not None and version.before("0.8.0"):
        # V0: 256 sequences everywhere; its token budget followed the model's length.
        return (
            ConfigValue(256, "version-default", f"vLLM {version}, default") if column == 0 else None
        )
    tier = device.tier(version)
    batch = [row for since, row in _BATCH if version is None or version.at_least(since)][-1]
    if tier is None:
        return ConfigValue(
            batch["small"][column],
            "version-default",
            f"vLLM {version or '(version unknown)'}, default; the card's memory is not known",
            False,
        )
    value = batch[tier][column] * (max(1, world_size) if tier == "cpu" else 1)
    source = f"vLLM {version or '(version unknown)'}, default for a {_TIER_WORDS[tier]}"
    return ConfigValue(
        value,
        "version-default",
        source,
        certain=version is not None and (tier != "cpu" or version.at_least("0.10.0")),
    )
