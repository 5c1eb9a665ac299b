"""A candidate beside today: what of the engine, its pool, its edge, its replicas or its load is
other, made into trials.

scheduler     a field of its settings                                max-num-seqs, watermark, ...
pool          its blocks, as sizing has them (pool_change.py)        gpu-memory-utilization, kv-cache-dtype, tensor-parallel-size, ...
edge          what is refused, cut or held back before the engine    edge-input-cap, edge-output-cap, edge-kv-budget
fleet         the share of the load that comes here                  replicas, load
offloading    what preemptions make to compute again, at its best    kv-offloading-size
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast

from barostat.core.config import ConfigScalar
from barostat.core.errors import InputError
from barostat.judge.experiments.lever_words import EDGE, FLEET, OFFLOADING, Asked
from barostat.judge.experiments.pool_change import SIZING, PoolThen, Sizing, pool_then
from barostat.judge.experiments.trials import Trial
from barostat.twin.linear_pace import LinearPace
from barostat.twin.pace import Pace
from barostat.twin.settings import Policy, Settings, check

_BLOCKS = "kv-blocks"
_WHOLE = {
    "max-num-seqs": "max_num_seqs", "max-num-active-seqs": "max_num_active_seqs", "max-num-batched-tokens": "max_num_batched_tokens",
    "max-model-len": "max_model_len", "long-prefill-token-threshold": "long_prefill_token_threshold",
    "max-num-queued-reqs": "max_queued_requests", "max-num-queued-tokens": "max_queued_tokens", _BLOCKS: "kv_blocks",
}  # fmt: skip
_SWITCHES = {
    "enable-prefix-caching": "prefix_caching", "enable-chunked-prefill": "chunked_prefill", "async-scheduling": "async_scheduling",
    "scheduler-reserve-full-isl": "reserve_full_isl",
}  # fmt: skip
_SINCE = {
    "watermark": ("watermark", "0.24.0"), "max-num-active-seqs": ("active_limit", "0.31.0"),
    "max-num-queued-reqs": ("queue_limits", "0.29.0"), "max-num-queued-tokens": ("queue_limits", "0.29.0"),
}  # fmt: skip
_OFF = {
    "max-num-active-seqs": None,
    "max-num-queued-reqs": None,
    "max-num-queued-tokens": None,
    "long-prefill-token-threshold": 0,
}
_TRUE, _FALSE = ("true", "on", "yes"), ("false", "no")


@dataclass(frozen=True, slots=True)
class Today:
    """What candidates are tried beside. `replicas`: that share the traffic, as far as it was
    seen.
    """

    settings: Settings
    sizing: Sizing = field(default_factory=Sizing)
    replicas: int = 1


@dataclass(frozen=True, slots=True)
class Candidate:
    """What is tried. `load`: of today's, times; `engines`: how many share what is one engine's
    today. `pool`: what its memory comes to, None where that is as today. `tier`: a prefix cache
    behind the pool. `told`: what a person has to know of how it was reckoned.
    """

    name: str
    settings: Settings
    input_cap: int | None = None
    output_cap: int | None = None
    kv_budget: int | None = None
    load: float = 1.0
    engines: float = 1.0
    pool: PoolThen | None = None
    tier: bool = False
    told: tuple[str, ...] = ()

    def trial(self, version: int, pace: Pace) -> Trial:
        """Its run of that version of the load, where today's steps take as the pace says."""
        return Trial(
            self.settings,
            version,
            self._paced(pace),
            self.input_cap,
            self.output_cap,
            self.kv_budget,
            self.tier,
        )

    def _paced(self, pace: Pace) -> Pace:
        """How long its steps take where today's take that long."""
        if self.pool is None or not self.pool.steps:
            return pace
        line = (
            pace
            if isinstance(pace, LinearPace)
            else cast("Callable[[], LinearPace] | None", getattr(pace, "line", None))
        )
        return (
            pace
            if line is None
            else self.pool.paced(line if isinstance(line, LinearPace) else line())
        )


def candidate(name: str, asked: Sequence[Asked], today: Today) -> Candidate:
    """The candidate that these settings make of today's engine.

    Errors: InputError for what the twin has nothing of, for a value that is none, for what this
    version lacks or would not start with.
    """
    where = f"--set {name}"
    found = Candidate(name, today.settings)
    sized: dict[str, ConfigScalar | None] = {}
    for one in asked:
        if one.name in SIZING:
            sized[one.name] = _scalar(one.value)
        elif one.name in EDGE or one.name in FLEET or one.name == OFFLOADING:
            found = _around(found, one, today, where)
        else:
            found = replace(found, settings=_set(found.settings, one, where))
    if sized:
        found = _resized(found, sized, today, where)
    try:
        check(found.settings)
    except InputError as error:
        raise InputError(str(error), where) from None
    return found


def _set(settings: Settings, one: Asked, where: str) -> Settings:
    switch, since = _SINCE.get(one.name, ("", ""))
    if switch and one.value is not None and not getattr(settings.behaviour, switch):
        raise InputError(f"this version has no {one.name}; it came with {since}", where)
    if one.name in _SWITCHES:
        if one.value is None or one.value.lower() not in (*_TRUE, *_FALSE):
            raise InputError(f"{one.name} is true or false", where)
        return _with(settings, _SWITCHES[one.name], one.value.lower() in _TRUE)
    if one.name == "watermark":
        return replace(settings, watermark_ratio=0.0 if one.value is None else _number(one, where))
    if one.name == "scheduling-policy" and one.value in ("fcfs", "priority"):
        return replace(settings, policy=cast("Policy", one.value))
    if one.name in _WHOLE:
        if one.value is None and one.name not in _OFF:
            raise InputError(f"{one.name} cannot be left out of a twin: give a number", where)
        return _with(
            settings, _WHOLE[one.name], _OFF[one.name] if one.value is None else _whole(one, where)
        )
    raise InputError(
        f"{one.name} acts where the twin has nothing (the start, the host, the network), "
        "so that it cannot be tried here",
        where,
    )


def _with(settings: Settings, field: str, value: bool | int | None) -> Settings:
    changed: dict[str, Any] = {field: value}
    return replace(settings, **changed)


def _around(found: Candidate, one: Asked, today: Today, where: str) -> Candidate:
    """What is not the engine's own: its edge, its share of the load, a cache behind it."""
    if one.name == "edge-input-cap":
        return replace(found, input_cap=None if one.value is None else _whole(one, where))
    if one.name == "edge-output-cap":
        return replace(found, output_cap=None if one.value is None else _whole(one, where))
    if one.name == "edge-kv-budget":
        return replace(found, kv_budget=None if one.value is None else _whole(one, where))
    if one.name == "load":
        times = _number(one, where)
        if not 1e-3 <= times <= 1e3:
            raise InputError(f"load is 0.001 to 1000 times today's, not {times:g}", where)
        return replace(found, load=found.load * times)
    if one.name == "replicas":
        value = (one.value or "").lstrip("+")
        then = _whole(Asked(one.name, value), where) + (today.replicas if value != one.value else 0)
        told = (
            f"{then} replicas in place of {today.replicas}: each has {today.replicas}/{then} "
            "of the load; rates are of all together"
        )
        more = then / today.replicas
        return replace(
            found, load=found.load / more, engines=found.engines * more, told=(*found.told, told)
        )
    told = (
        f"{one.name} is tried at its best: what preemptions threw out is never computed "
        "again (the tier is large enough, and copying it "
        "back costs nothing)"
    )
    return replace(
        found,
        tier=one.value is not None,
        told=(*found.told, told) if one.value is not None else found.told,
    )


def _resized(
    found: Candidate, sized: dict[str, ConfigScalar | None], today: Today, where: str
) -> Candidate:
    blocks = sized.pop("num-gpu-blocks-override", 0)
    if blocks and not sized:
        return replace(
            found,
            settings=replace(
                found.settings,
                kv_blocks=_whole(Asked("num-gpu-blocks-override", str(blocks)), where),
            ),
        )
    if blocks is None or blocks:
        sized["num-gpu-blocks-override"] = blocks
    try:
        then = pool_then(today.sizing, sized)
    except InputError as error:
        raise InputError(error.what, where) from None
    settings = replace(
        found.settings,
        kv_blocks=1 + max(1, round(found.settings.usable_blocks * then.blocks_ratio)),
    )
    return replace(found, settings=settings, pool=then, told=(*found.told, f"{where}: {then.told}"))


def _scalar(value: str | None) -> ConfigScalar | None:
    if value is None or value.lower() in _FALSE:
        return None if value is None else False
    if value.lower() in _TRUE:
        return True
    try:
        number = float(value)
    except ValueError:
        return value
    return int(number) if number.is_integer() and "." not in value else number


def _number(one: Asked, where: str) -> float:
    try:
        value = float(one.value or "")
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise InputError(f"{one.name} is a number, not {one.value!r}", where)
    return value


def _whole(one: Asked, where: str) -> int:
    value = _number(one, where)
    if not value.is_integer() or value < 1:
        raise InputError(f"{one.name} is a whole number above 0, not {one.value}", where)
    return int(value)
