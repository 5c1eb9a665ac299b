"""Reads the engine's configuration, KV pool, models and version from its metrics."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from barostat.catalog import metric_names as names
from barostat.catalog.metric_names import Era
from barostat.catalog.vllm_cache_labels import LABEL_ERAS, OF_SETTINGS
from barostat.core.config import ConfigScalar, ConfigValue
from barostat.core.version import EngineVersion, parse_version
from barostat.engines.vllm.metrics.exposition import Exposition

# Fewer names than this is a scrape that somebody filtered: what is not there tells nothing then.
_WHOLE_SCRAPE_NAMES = 20
_NO_SETTING = ("engine", "model_name", "pid")


class VersionHint(NamedTuple):
    """The versions that the names fit: at least `low`, before `high`; None if nothing bounds
    them. `because` names what says so.
    """

    low: EngineVersion | None
    high: EngineVersion | None
    because: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Pool:
    """The KV pool of one engine from cache_config_info. None: unknown.

    `blocks` includes V1's null block. `usable_ratio` and `idle_usage_ratio` convert the usage gauge
    to the share of the pool in use: share = usage times `usable_ratio` minus `idle_usage_ratio`
    (see `pool`).
    """

    block_size_tokens: float | None
    blocks: float | None
    tokens: float | None
    tokens_from: str
    blocks_from: str
    usable_ratio: float = 1.0
    idle_usage_ratio: float = 0.0


def settings(exposition: Exposition) -> dict[str, ConfigValue]:
    """Return the settings in cache_config_info, by vLLM's names, with provenance "metric"; values
    "None" are omitted.

    `num_gpu_blocks` is per engine. If engines differ: the first one's value, not certain.

    Source: vLLM 0.6.6 to 0.33.0, CacheConfig.metrics_info.
    """
    found: dict[str, ConfigValue] = {}
    by_engine = [sample.labels for sample in exposition.named(names.CACHE_CONFIG)]
    if by_engine:
        for label, text in by_engine[0].items():
            value = _scalar(text)
            if label in _NO_SETTING or label.startswith("_") or value is None:
                continue
            certain = all(labels.get(label) == text for labels in by_engine)
            setting = ConfigValue(
                value, "metric", f'{names.CACHE_CONFIG}{{{label}="{text}"}}', certain
            )
            found[label] = setting
            if label in OF_SETTINGS:
                found[OF_SETTINGS[label].name] = setting
        blocks = pool(exposition, by_engine[0].get("engine", ""))
        if blocks.blocks is not None:
            found["num_gpu_blocks"] = ConfigValue(
                int(blocks.blocks), "metric", blocks.blocks_from, certain=len(by_engine) == 1
            )
    for sample in exposition.named(names.LORA_REQUESTS):
        adapters = _scalar(sample.labels.get("max_lora", "None"))
        if adapters is not None:
            found["max_loras"] = ConfigValue(
                adapters, "metric", f'{names.LORA_REQUESTS}{{max_lora="{adapters}"}}'
            )
    return found


def pool(exposition: Exposition, engine: str) -> Pool:
    """The KV pool of that engine.

    `num_gpu_blocks` is summed over the engines of one front end since 0.9.0 (None before): divided
    by their number. `kv_cache_size_tokens` (0.24.0+) counts per engine and knows hybrid models;
    without it tokens are blocks times block size. Usage is 1 - free/(blocks - 1) since 0.10.2; 1 -
    free/blocks before, where the null block alone makes an idle V1 show 1/blocks.
    Source: vLLM 0.33.0 v1/engine/core_client.py, v1/core/block_pool.py (get_usage); 0.10.1 the
    same.
    """
    all_labels = [sample.labels for sample in exposition.named(names.CACHE_CONFIG)]
    labels: Mapping[str, str] = next(
        (found for found in all_labels if found.get("engine", "") == engine), {}
    )
    if not labels and len({found.get("engine", "") for found in all_labels}) == 1:
        labels = all_labels[0]
    block_size, blocks = _number(labels.get("block_size")), _number(labels.get("num_gpu_blocks"))
    engines = len({found.get("engine", "") for found in all_labels})
    blocks_from = f'num_gpu_blocks="{labels.get("num_gpu_blocks")}" of {names.CACHE_CONFIG}'
    if blocks is not None and engines > 1:
        blocks //= engines
        blocks_from += f", which is the sum over {engines} engines"
    tokens, tokens_from = (
        _number(labels.get("kv_cache_size_tokens")),
        f"kv_cache_size_tokens of {names.CACHE_CONFIG}",
    )
    if tokens is None and block_size is not None and blocks is not None:
        tokens = blocks * block_size
        tokens_from = f"{blocks_from}, times block_size {block_size:g} (too much for hybrid models)"
    usable, idle = 1.0, 0.0
    if blocks is not None and blocks > 1 and not is_v0(exposition):
        if "kv_cache_memory_bytes" in labels:  # 0.10.2 and newer
            usable = (blocks - 1) / blocks
        else:
            idle = 1 / blocks
    return Pool(block_size, blocks, tokens, tokens_from, blocks_from, usable, idle)


def model_names(exposition: Exposition) -> tuple[str, ...]:
    """The served model names that the samples carry, sorted."""
    return tuple(
        sorted(
            {
                sample.labels["model_name"]
                for sample in exposition.samples
                if sample.labels.get("model_name")
            }
        )
    )


def is_v0(exposition: Exposition) -> bool:
    """True if these are the metrics of the V0 engine (gone in 0.11.0)."""
    return any(map(exposition.named, names.V0_ONLY_NAMES)) and not any(
        _has(exposition, name) for name in names.V1_ONLY_NAMES
    )


def version_hint(exposition: Exposition) -> VersionHint:
    """Return the versions that fit this scrape's names and labels, for when the version is not
    reported.

    Present names are reliable bounds; missing names are bounds only in a complete scrape of V1, and
    never contradict present ones.
    """
    low: list[tuple[EngineVersion, str]] = []
    high: list[tuple[EngineVersion, str]] = []
    absent_high: list[tuple[EngineVersion, str]] = []
    absent_low: list[tuple[EngineVersion, str]] = []
    if not exposition.is_vllm:
        return VersionHint(None, None, ())

    def judge(era: Era, there: bool, what: str) -> None:
        if there:
            _add(low, era.since, f"has {what}")
            _add(high, era.before, f"has {what}")
        elif era.always:
            _add(absent_high, era.since, f"lacks {what}")

    for era in names.NAME_ERAS:
        judge(era, _has(exposition, era.what), era.what)
    cache_labels = {
        label for sample in exposition.named(names.CACHE_CONFIG) for label in sample.labels
    }
    if cache_labels:
        for era in LABEL_ERAS:
            judge(era, era.what in cache_labels, f"the label {era.what}")
    reasons = {
        sample.labels.get("finished_reason")
        for name in names.FINISHED
        for sample in exposition.named(f"{name}_total")
    }
    if reasons:
        for era in names.FINISHED_REASON_ERAS:
            judge(era, era.what in reasons, f"the finished_reason {era.what}")
    if is_v0(exposition):
        _add(high, names.V0_GONE_IN, "V0's names")
    elif any("engine" in sample.labels for sample in exposition.samples):
        _add(low, names.ENGINE_LABEL_SINCE, "has the engine label")
    else:
        _add(absent_high, names.ENGINE_LABEL_SINCE, "lacks the engine label")
    for era in names.HIDDEN_SINCE:
        if not _has(exposition, era.what):
            _add(absent_low, era.before, f"lacks {era.what}")

    is_v1 = any(_has(exposition, name) for name in names.V1_ONLY_NAMES)
    if is_v1 and not exposition.cut and len(exposition.by_name) >= _WHOLE_SCRAPE_NAMES:
        ceiling = min((found[0] for found in high), default=None)
        low += [found for found in absent_low if ceiling is None or found[0] < ceiling]
        floor = max((found[0] for found in low), default=None)
        high += [found for found in absent_high if floor is None or found[0] > floor]
    best_low, best_high = max(low, default=None), min(high, default=None)
    because = tuple(reason for found in (best_low, best_high) if found for reason in (found[1],))
    return VersionHint(best_low and best_low[0], best_high and best_high[0], because)


def _add(bounds: list[tuple[EngineVersion, str]], text: str, reason: str) -> None:
    version = parse_version(text)
    if version is not None:
        bounds.append((version, f"{reason} ({text})"))


def _has(exposition: Exposition, base: str) -> bool:
    return any(exposition.named(name) for name in (base, f"{base}_total", f"{base}_bucket"))


def _scalar(text: str) -> ConfigScalar | None:
    """A label's text as the value that it was printed from; None for "None" and for an empty
    text.
    """
    if text in ("None", ""):
        return None
    if text in ("True", "False"):
        return text == "True"
    number = _number(text)
    if number is None:
        return text
    return int(number) if text.lstrip("-").isdigit() else number


def _number(text: str | None) -> float | None:
    try:
        number = float(text or "")
    except ValueError:
        return None
    return number if abs(number) < 1e18 else None  # also refuses NaN and infinities
