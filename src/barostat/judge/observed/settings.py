"""What a running engine shows of its configuration and pool, and what of it has to be assumed."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from barostat.catalog.models import find_model
from barostat.catalog.settings.defaults import BLOCK_TOKENS, default
from barostat.catalog.settings.setting import option_of
from barostat.catalog.settings.table import SETTINGS
from barostat.catalog.vllm_versions import DEFAULT_VERSION
from barostat.core.config import ConfigScalar, ConfigValue, EngineConfig
from barostat.core.prose import Prose
from barostat.core.window import Window

ARCHITECTURE, VERSION = "architecture", "version"
ASSUMED = ("max_num_seqs", "max_num_batched_tokens", "block_size")
"""Settings that decide what a twin does and that metrics do not show."""
_SAME_POOL_RATIO = 0.02
_STEADY_LOOKS = 3
_ROOMY_USAGE_RATIO = 0.9


@dataclass(frozen=True, slots=True)
class Assumption:
    """A setting that affects a result and was not observed. `about`: the setting, `architecture` or
    `version`. `option`: the flag that supplies it, empty if there is none.
    """

    about: str
    text: Prose
    option: str = ""

    @property
    def advice(self) -> Prose:
        """The assumption with the option that replaces it."""
        return Prose(f"{self.text} ({self.option} sets it)") if self.option else self.text


@dataclass(frozen=True, slots=True)
class NamedModel:
    """A model that an engine names. `served`: only the name under which requests know it."""

    name: str
    served: bool


@dataclass(frozen=True, slots=True)
class SeenPool:
    """The engine's KV pool. `blocks`: of one engine, the null block included. `tokens`: as the
    engine counts them, None if it does not say.
    """

    blocks: int
    block_tokens: int
    tokens: int | None

    @property
    def is_of_one_kind(self) -> bool | None:
        """True if blocks times their size are the engine's tokens, so that all layers keep the same
        tokens; None if it does not count tokens.
        """
        if self.tokens is None:
            return None
        difference = abs(self.tokens - self.blocks * self.block_tokens)
        return difference <= max(2 * self.block_tokens, _SAME_POOL_RATIO * self.tokens)


def seen_pool(window: Window) -> SeenPool | None:
    """Return the pool that the engine reports, None if it reports none."""
    blocks = _blocks(window)
    if blocks is None:
        return None
    block, tokens = window.config.number("block_size"), window.config.number("kv_cache_size_tokens")
    return SeenPool(blocks, int(block or BLOCK_TOKENS), int(tokens) if tokens else None)


def seen_values(
    window: Window, given: Collection[str] = ()
) -> tuple[dict[str, ConfigScalar], tuple[Assumption, ...]]:
    """Return the settings that size an engine or steer its scheduler, by name, as they were
    declared or reported, and defaults that depend on the device. With them, what is assumed of
    those not in `given`.
    """
    config = with_seen_slots(window)
    values: dict[str, ConfigScalar] = {}
    for setting in SETTINGS.values():
        found = config.get(setting.name) if setting.sized or setting.twin else None
        if found is None or _is_plain_default(found, setting.name, window):
            continue
        value = found.value
        if setting.name == "dtype":
            value = str(value).removeprefix("torch.")
        if value != -1:
            values[setting.name] = value
    if not _has_own_block_size(config):
        values.pop("block_size", None)
    return values, tuple(assumptions(config, window, given))


def assumptions(
    config: EngineConfig, window: Window, given: Collection[str] = ()
) -> Iterator[Assumption]:
    """Yield the assumed settings and version, except those in `given`."""
    for name in ASSUMED:
        found = config.get(name)
        if found is not None and not found.certain and name not in given:
            text = Prose(f"{name} {found.value} is assumed: {found.source}")
            yield Assumption(name, text, option_of(name))
    if window.version is None:
        text = Prose(f"the engine's version was not seen: vLLM {DEFAULT_VERSION} is assumed")
        yield Assumption(VERSION, text, "--engine-version")


def with_seen_slots(window: Window) -> EngineConfig:
    """Return the configuration with max_num_seqs as the load shows it, where nothing states it: as
    many requests as run while others wait and the pool has room, or at least as many as ever ran.
    """
    config, running = window.config, window.signals.get("running_requests")
    stated = config.get("max_num_seqs")
    if stated is None or stated.certain or running is None or not running.values:
        return config
    most = int(max(running.values))
    if _is_at_its_slots(window):
        found = ConfigValue(
            most, "metric", f"{most} requests run while others wait and the pool has room"
        )
    elif isinstance(stated.value, int) and most > stated.value:
        source = f"{most} requests ran at once; {stated.source}"
        found = ConfigValue(most, stated.provenance, source, certain=False)
    else:
        return config
    return EngineConfig({**config.values, "max_num_seqs": found}, config.problems)


def named_model(config: EngineConfig) -> NamedModel | None:
    """Return the model of the built-in catalogue that the engine names: by its command line or log,
    else by the one name under which it is served.
    """
    named, served = config.get("model"), config.get("served_model_name")
    if named is not None and (found := find_model(str(named.value))) is not None:
        return NamedModel(found.name, served=False)
    names = str(served.value).split() if served is not None else []
    if len(names) == 1 and (found := find_model(names[0])) is not None:
        return NamedModel(found.name, served=True)
    return None


def is_cpu(window: Window) -> bool:
    """True if the engine runs on vLLM's CPU backend."""
    version = window.config.get("version")
    text = f"{window.version or ''}{version.value if version is not None else ''}"
    return "+cpu" in text or window.config.get("VLLM_CPU_KVCACHE_SPACE") is not None


def _is_at_its_slots(window: Window) -> bool:
    """True if the same number runs in every sample, requests wait in every sample, and the pool has
    room: then only the limit on sequences can be the reason.
    """
    running, waiting, usage = (
        window.signals.get(name)
        for name in ("running_requests", "waiting_requests", "kv_usage_ratio")
    )
    if running is None or waiting is None or usage is None or len(running.values) < _STEADY_LOOKS:
        return False
    preempted = window.signals.get("preemptions_per_s")
    return (
        min(running.values) == max(running.values) >= 2
        and min(waiting.values) >= 1
        and max(usage.values) < _ROOMY_USAGE_RATIO
        and (preempted is None or max(preempted.values) == 0)
    )


def _is_plain_default(found: ConfigValue, name: str, window: Window) -> bool:
    """True for a default that follows from the version alone."""
    usual = default(name, window.version)
    return (
        found.provenance == "version-default"
        and usual is not None
        and (usual.certain and usual.value == found.value)
    )


def _has_own_block_size(config: EngineConfig) -> bool:
    """False if the engine chose its block size itself, as far as it says so."""
    own = config.get("user_specified_block_size")
    return own is None or own.value is True


def _blocks(window: Window) -> int | None:
    for name in ("num_gpu_blocks", "num_gpu_blocks_override"):
        number = window.config.number(name)
        if number is not None and number > 1:
            return int(number)
    pool = window.signals.get("kv_pool_blocks")
    return int(pool.last) if pool is not None and pool.last > 1 else None
