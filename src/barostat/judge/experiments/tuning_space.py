"""The levers that tuning turns, the values each may have on this engine, and the settings that a
choice of them makes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from barostat.catalog.settings.table import OUR_NAMES, SETTINGS
from barostat.core.errors import InputError
from barostat.judge.experiments.trials import Trial
from barostat.twin.pace import Pace
from barostat.twin.settings import Settings, check, has_field

ALWAYS = ("max-num-seqs", "max-num-batched-tokens", "watermark", "long-prefill-token-threshold")
ON_REQUEST = ("edge-input-cap", "edge-output-cap", "edge-kv-budget", "max-num-queued-reqs")
# In the scheduler both bound the running requests; which of them is set is decided when the answer
# is written.
_SAME = {"max-num-active-seqs": "max-num-seqs", "max-queued-requests": "max-num-queued-reqs"}
LIVE = frozenset({"edge-input-cap", "edge-output-cap", "edge-kv-budget"})
_POOL_SHARES = (0.7, 0.8, 0.9, 1.0, 1.2)

Value = int | float | None
Point = tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class Lever:
    """One lever: its values in order, today's among them at `today`. None: off."""

    name: str
    values: tuple[Value, ...]
    today: int


@dataclass(frozen=True, slots=True)
class Space:
    """All choices there are. A point has one value for each lever, in order."""

    settings: Settings
    levers: tuple[Lever, ...]

    @property
    def today(self) -> Point:
        """The engine as it is."""
        return tuple(lever.values[lever.today] for lever in self.levers)

    def changed(self, point: Point) -> dict[str, Value]:
        """Return the point's changes from today, by lever."""
        return {
            lever.name: value
            for lever, value, now in zip(self.levers, point, self.today, strict=True)
            if value != now
        }

    def settings_at(self, point: Point) -> Settings | None:
        """The engine's settings at that point; None if it would refuse them."""
        try:
            return _set(
                self.settings,
                {lever.name: value for lever, value in zip(self.levers, point, strict=True)},
            )
        except InputError:
            return None

    def trial(self, point: Point, version: int, pace: Pace) -> Trial | None:
        """The point as a trial; None if the engine would refuse it."""
        chosen = {lever.name: value for lever, value in zip(self.levers, point, strict=True)}
        settings = self.settings_at(point)
        if settings is None:
            return None
        inputs, outputs, held = (
            _whole(chosen.get(name))
            for name in ("edge-input-cap", "edge-output-cap", "edge-kv-budget")
        )
        return Trial(settings, version, pace, inputs, outputs, held)

    def neighbours(self, point: Point) -> list[Point]:
        """Every point one step along one lever away."""
        found = []
        for place, lever in enumerate(self.levers):
            at = lever.values.index(point[place])
            near = lever.values[max(0, at - 1) : at] + lever.values[at + 1 : at + 2]
            found += [(*point[:place], value, *point[place + 1 :]) for value in near]
        return found


def usual(settings: Settings) -> tuple[str, ...]:
    """The levers that are tried where none is named: those of ALWAYS that this version has."""
    return tuple(name for name in ALWAYS if not _lacking(settings, name))


def space_of(
    settings: Settings, names: Sequence[str], inputs: Sequence[int], outputs: Sequence[int]
) -> Space:
    """The values worth trying on this engine: steps that halve and double, today's own among them;
    caps at quantiles of the traffic.

    `inputs`, `outputs`: lengths of a sample of the traffic.
    Errors: InputError for a lever that is not known, or that this version does not have.
    """
    for name in names:
        if since := _lacking(settings, name):
            raise InputError(
                f"this version has no such setting; it came with {since}", f"--lever {name}"
            )
        if name not in (*ALWAYS, *ON_REQUEST, *_SAME):
            raise InputError(
                f"is not known; there are {', '.join((*ALWAYS, *ON_REQUEST, *_SAME))}",
                f"--lever {name}",
            )
    levers = []
    for name in dict.fromkeys(_SAME.get(name, name) for name in names):
        values, now = _values(settings, name, inputs, outputs)
        ordered = sorted({*values, now}, key=_rank)
        if len(ordered) > 1:
            levers.append(Lever(name, tuple(ordered), ordered.index(now)))
    return Space(settings, tuple(levers))


def flags_of(settings: Settings, changed: Mapping[str, Value]) -> dict[str, Value]:
    """Return the changes as vLLM's arguments, without limits at the gateway (None: remove the
    argument). A lower number of running requests keeps the graphs if the version can.

    If max_num_active_seqs is set today, it is changed, or removed if more requests should run than
    it allows.

    Source: vLLM 0.31.0, SchedulerConfig.max_num_active_seqs.
    """
    flags: dict[str, Value] = {}
    for name, value in changed.items():
        if name in LIVE:
            continue
        limited = settings.max_num_active_seqs is not None
        if name != "max-num-seqs" or value is None or not settings.behaviour.active_limit:
            flags[name] = value
        elif value < settings.max_num_seqs or (limited and value == settings.max_num_seqs):
            flags["max-num-active-seqs"] = value
        else:
            flags |= {name: value, "max-num-active-seqs": None} if limited else {name: value}
    return flags


def _values(
    settings: Settings, name: str, inputs: Sequence[int], outputs: Sequence[int]
) -> tuple[list[Value], Value]:
    longest, budget = settings.max_model_len, settings.max_num_batched_tokens
    if name == "max-num-seqs":
        now = settings.running_limit
        most = max(now, min(settings.usable_blocks, 1024))
        values = {*_around(now, 1.4142, 8), *_around(_held(settings, inputs, outputs), 1.4142, 4)}
        return [value for value in values if 1 <= value <= most], now
    if name == "max-num-batched-tokens":
        return [value for value in _around(budget, 2.0, 4) if 64 <= value <= 65_536], budget
    if name == "watermark":
        return [0.0, 0.01, 0.02, 0.05, 0.1, 0.2], settings.watermark_ratio
    if name == "long-prefill-token-threshold":
        return [
            0,
            *(value for value in (128, 256, 512, 1024, 2048, 4096) if value < min(longest, budget)),
        ], settings.long_prefill_token_threshold
    if name == "max-num-queued-reqs":
        return [
            None,
            *_around(2 * _held(settings, inputs, outputs), 1.4142, 6),
        ], settings.max_queued_requests
    if name == "edge-kv-budget":
        pool = settings.usable_blocks * settings.groups[0].block_tokens
        return [None, *(int(share * pool) for share in _POOL_SHARES)], None
    sample = sorted(inputs if name == "edge-input-cap" else outputs)
    quantiles = (0.5, 0.75, 0.9, 0.95, 0.98, 0.99, 0.995)
    return [
        None,
        *(sample[min(len(sample) - 1, int(q * len(sample)))] for q in quantiles if sample),
    ], None


def _held(settings: Settings, inputs: Sequence[int], outputs: Sequence[int]) -> int:
    """How many of these requests run at once: as many as may, or as the pool holds. A limit above
    that changes nothing.
    """
    if not inputs or not outputs:
        return settings.running_limit
    each = settings.needed_blocks(
        max(1, round(sum(inputs) / len(inputs) + sum(outputs) / len(outputs)))
    )
    return max(1, min(settings.running_limit, round(settings.usable_blocks / each)))


def _lacking(settings: Settings, name: str) -> str:
    """The version that brought the lever, where this one does not have it; else empty."""
    setting = SETTINGS.get(OUR_NAMES.get(name, name.replace("-", "_")))
    if setting is None or not setting.twin or has_field(settings.behaviour, setting.twin):
        return ""
    return setting.since


def _around(now: int, factor: float, steps: int) -> list[int]:
    return [max(1, round(now * factor**step)) for step in range(-steps, steps + 1)]


def _rank(value: Value) -> float:
    return float("inf") if value is None else float(value)


def _set(settings: Settings, chosen: Mapping[str, Value]) -> Settings:
    running = _whole(chosen.get("max-num-seqs"))
    if running is not None and running != settings.running_limit:
        if running <= settings.max_num_seqs and settings.behaviour.active_limit:
            settings = replace(settings, max_num_active_seqs=running)
        else:
            settings = replace(settings, max_num_seqs=running, max_num_active_seqs=None)
    budget = _whole(chosen.get("max-num-batched-tokens"))
    watermark = chosen.get("watermark")
    threshold = _whole(chosen.get("long-prefill-token-threshold"))
    queued = chosen.get("max-num-queued-reqs", settings.max_queued_requests)
    changed = replace(
        settings,
        max_num_batched_tokens=settings.max_num_batched_tokens if budget is None else budget,
        watermark_ratio=settings.watermark_ratio if watermark is None else float(watermark),
        long_prefill_token_threshold=settings.long_prefill_token_threshold
        if threshold is None
        else threshold,
        max_queued_requests=_whole(queued),
    )
    check(changed)
    return changed


def _whole(value: Value) -> int | None:
    return None if value is None else int(value)
