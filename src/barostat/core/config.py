"""The engine's configuration as it resolved it, each value with where it came from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Provenance = Literal[
    "flag", "environment", "config-file", "version-default", "log", "metric", "api"
]
ConfigScalar = int | float | str | bool


def written(value: ConfigScalar) -> str:
    """The value as a command line or a manifest has it: `true`, `48`, `0.05`, `8`."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        short = f"{value:g}"
        return short if float(short) == value else repr(value)
    return str(value)


@dataclass(frozen=True, slots=True)
class ConfigValue:
    """One resolved setting.

    `source` quotes the place: `--max-num-seqs=64`, `VLLM_CPU_KVCACHE_SPACE`, `vLLM 0.32.0, memory
    tier >= 70 GiB`. `certain` is False for a default that depends on something not known (the
    memory tier, the backend).
    """

    value: ConfigScalar
    provenance: Provenance
    source: str
    certain: bool = True


@dataclass(frozen=True, slots=True)
class EngineConfig:
    """Settings by vLLM's own name with underscores: `max_num_seqs`, `gpu_memory_utilization`.

    `problems`: what was wrong with the command line for this version (unknown argument, a value
    that does nothing), a sentence each.
    """

    values: Mapping[str, ConfigValue] = field(default_factory=dict)
    problems: tuple[str, ...] = ()

    def get(self, name: str) -> ConfigValue | None:
        """Return the setting, or None if it is unknown."""
        return self.values.get(name)

    def number(self, name: str) -> float | None:
        """The setting as a number, or None if it is not known or is none."""
        found = self.values.get(name)
        if found is None or isinstance(found.value, bool | str):
            return None
        return float(found.value)
