"""The defaults of `vllm serve` by version, and by the card where they depend on it.

Source: vLLM 0.8.0 to 0.33.0, EngineArgs.get_batch_defaults, SchedulerConfig, CacheConfig.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeVar

from barostat.catalog.cards import find_card
from barostat.catalog.settings.setting import Setting, Tier
from barostat.catalog.settings.table import SETTINGS, known_flag
from barostat.catalog.vllm_versions import OLDEST_READ
from barostat.core.config import ConfigScalar, ConfigValue
from barostat.core.units import GIB
from barostat.core.version import EngineVersion, parse_version

_LARGE_GIB, _BEYOND_A100_GIB, _HUGE_GIB = 70.0, 90.0, 160.0
_HUGE_SINCE = "0.28.0"
_A100_IS_LARGE_BEFORE = "0.9.0"
_TIER_NAMES: dict[Tier, str] = {
    "huge": "card of 160 GiB or more",
    "large": "card of 70 GiB or more",
    "small": "smaller card",
    "cpu": "CPU backend",
}
_Value = TypeVar("_Value")


@dataclass(frozen=True, slots=True)
class Device:
    """The known properties of the card. `name`: as given by a tool or a person. `memory_gib`: total
    memory of one card.
    """

    name: str | None = None
    memory_gib: float | None = None
    is_cpu: bool = False

    def tier(self, version: EngineVersion | None) -> Tier | None:
        """Return the memory tier that decides the batch defaults, None if it is not known.

        Large: at least 70 GiB and no A100 (0.8.x also took an A100 of 80 GB for large). Huge: at
        least 160 GiB, since 0.28.0.
        """
        if self.is_cpu:
            return "cpu"
        name = (self.name or "").lower()
        has_old_rule = version is not None and version.before(_A100_IS_LARGE_BEFORE)
        if "a100" in name and not has_old_rule:
            return "small"
        if self.memory_gib is None:
            return _tier_of_name(name, version)
        if not name and not has_old_rule and _LARGE_GIB <= self.memory_gib < _BEYOND_A100_GIB:
            return None  # an A100 of 80 GB and an H100 look the same here
        return _tier_of_memory(self.memory_gib, version)


def _tier_of_name(name: str, version: EngineVersion | None) -> Tier | None:
    card = find_card(name) if name else None
    if card is None or card.vendor not in ("NVIDIA", "AMD"):
        return "small" if "geforce" in name else None
    _, low, high = (_tier_of_memory(size / GIB, version) for size in card.memory_bytes)
    return low if low == high else None


def _tier_of_memory(memory_gib: float, version: EngineVersion | None) -> Tier | None:
    if memory_gib < _LARGE_GIB:
        return "small"
    if memory_gib < _HUGE_GIB:
        return "large"
    return None if version is None else "huge" if version.at_least(_HUGE_SINCE) else "large"


def default(
    name: str, version: EngineVersion | None, device: Device | None = None, world_size: int = 1
) -> ConfigValue | None:
    """Return the value that `vllm serve` takes if nothing sets one, None if it has no fixed default
    or the version lacks the argument.

    `certain` is False if it depends on something unknown: the version, or the card's memory.
    `world_size`: tensor times pipeline parallel size, which the CPU backend multiplies by.
    """
    setting = SETTINGS.get(name)
    if setting is None:
        return None
    if _in_force(setting.by_card, version) is not None:
        return _card_default(setting, version, device or Device(), world_size)
    if version is None and setting.defaults:
        newest = list(setting.defaults.values())[-1]
        same = set(setting.defaults) == {""} and not setting.gone and is_old(setting)
        unknown = "" if same else "; the version is not known"
        return ConfigValue(newest, "version-default", f"vLLM's default{unknown}", certain=same)
    value = _in_force(setting.defaults, version)
    if value is None or version is None or known_flag(name, version) == "absent":
        return None
    return ConfigValue(value, "version-default", f"vLLM {version}, default")


def assumed_default(name: str, version: EngineVersion | None = None) -> ConfigScalar:
    """Return the default of that version; of the newest one and the smaller card where they are not
    known.

    Errors: KeyError for a setting without a default (a programming error).
    """
    setting = SETTINGS[name]
    by_tier = _in_force(setting.by_card, version)
    if by_tier is not None:
        return by_tier["small"]
    value = _in_force(setting.defaults, version)
    if value is None:
        raise KeyError(name)
    return value


def _in_force(rows: Mapping[str, _Value], version: EngineVersion | None) -> _Value | None:
    """The row that holds for the version; the newest one without a version."""
    fitting = [
        value
        for since, value in rows.items()
        if not since or version is None or version.at_least(since)
    ]
    return fitting[-1] if fitting else None


def is_old(setting: Setting) -> bool:
    """True if every version that was read has the argument."""
    oldest = parse_version(OLDEST_READ)
    return not setting.since or (oldest is not None and oldest.at_least(setting.since))


def _card_default(
    setting: Setting, version: EngineVersion | None, device: Device, world_size: int
) -> ConfigValue:
    by_tier = _in_force(setting.by_card, version)
    assert by_tier is not None
    tier = device.tier(version)
    shown = f"vLLM {version or '(version unknown)'}, default"
    if tier is None:
        unknown = f"{shown}; the card's memory is not known"
        return ConfigValue(by_tier["small"], "version-default", unknown, certain=False)
    value = by_tier[tier] * (max(1, world_size) if tier == "cpu" else 1)
    known = version is not None and (tier != "cpu" or version.at_least("0.10.0"))
    source = f"{shown} for a {_TIER_NAMES[tier]}"
    return ConfigValue(value, "version-default", source, certain=known)


BLOCK_TOKENS = int(assumed_default("block_size"))
"""Tokens of a block where nothing says; the attention backend may raise it."""
SMALL_CARD_SEQS = int(assumed_default("max_num_seqs"))
"""max_num_seqs where nothing is known of the engine: the smaller card's."""
SMALL_CARD_STEP_TOKENS = int(assumed_default("max_num_batched_tokens"))
"""max_num_batched_tokens where nothing is known of the engine: the smaller card's."""
