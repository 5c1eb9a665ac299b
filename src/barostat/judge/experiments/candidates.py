"""A candidate beside today: a change of the engine, its pool, its edge, its replicas or its load,
made into trials.

    scheduler     a field of the twin's settings               max_num_seqs, watermark, ...
    pool          its blocks, by sizing (pool_change.py)       gpu_memory_utilization, kv_cache_dtype, ...
    edge          requests rejected or held before the engine  SetEdgeLimit
    fleet         the share of the load that comes here        Scale
    tomorrow      how much comes, and how long it is           ScaleLoad
    offloading    recomputation after preemptions, at best     kv_offloading_size
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import cast

from barostat.catalog.settings.setting import option_of
from barostat.catalog.settings.table import SETTINGS
from barostat.core.config import ConfigScalar
from barostat.core.errors import InputError
from barostat.core.proposed_change import ProposedChange, Scale, SetEdgeLimit, SetFlag, UnsetFlag
from barostat.judge.experiments.gated import one_kind_of_attention
from barostat.judge.experiments.pool_change import SIZING, PoolThen, Sizing, pool_then
from barostat.judge.experiments.trials import Load, Trial, of_lengths, times_as_much
from barostat.twin.from_config import with_setting
from barostat.twin.linear_pace import LinearPace
from barostat.twin.pace import Pace
from barostat.twin.settings import Settings, check

OFFLOADING = "kv_offloading_size"
_ADAPTERS = "max_loras"
_BLOCKS, _BLOCKS_OVERRIDE = "kv_blocks", "num_gpu_blocks_override"


@dataclass(frozen=True, slots=True)
class ScaleLoad:
    """Multiples of today's request rate, prompt length and output length. Changes the load, not the
    engine.
    """

    times: float = 1.0
    input_times: float = 1.0
    output_times: float = 1.0


TrialChange = ProposedChange | ScaleLoad
"""What a trial can be asked for."""


@dataclass(frozen=True, slots=True)
class Today:
    """The baseline of candidates. `replicas`: number that share the traffic, as far as known."""

    settings: Settings
    sizing: Sizing = field(default_factory=Sizing)
    replicas: int = 1


@dataclass(frozen=True, slots=True)
class Candidate:
    """A simulated change. `load`, `input_times`, `output_times`: relative to today; `engines`:
    number of engines that share the load of one today. `pool`: the new pool, None if unchanged.
    `tier`: a prefix cache behind the pool. `notes`: how the candidate was estimated, for the user.
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
    notes: tuple[str, ...] = ()
    input_times: float = 1.0
    output_times: float = 1.0

    def traffic(self, load: Load) -> Load:
        """Today's load as it comes to this candidate.

        Errors: InputError where its load cannot be had (`times_as_much`).
        """
        return of_lengths(times_as_much(load, self.load), self.input_times, self.output_times)

    def trial(self, version: int, pace: Pace) -> Trial:
        """Its run on that version of the load, where `pace` is that of today's steps."""
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
        """The pace of its steps, given that of today's."""
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


def is_modelled(change: ProposedChange) -> bool:
    """True if the twin models what the change acts on, so that it can be tried."""
    match change:
        case SetEdgeLimit() | Scale():
            return True
        case SetFlag(name) | UnsetFlag(name):
            has_field = name in SETTINGS and bool(SETTINGS[name].twin)
            return has_field or name in (*SIZING, OFFLOADING, _BLOCKS)
        case _:
            return False


def candidate(name: str, changes: Sequence[TrialChange], today: Today) -> Candidate:
    """Today's engine with these changes.

    Errors: InputError for a change that the twin does not model, a value that is none, an argument
    that this version lacks, and an engine that would not start.
    """
    where = f"--set {name}"
    made = Candidate(name, today.settings)
    sized: dict[str, ConfigScalar | None] = {}
    for change in changes:
        match change:
            case SetFlag(flag, value) if flag in SIZING:
                sized[flag] = value
            case UnsetFlag(flag) if flag in SIZING:
                sized[flag] = None
            case SetFlag(flag, value):
                made = _with_setting(made, flag, value, where)
            case UnsetFlag(flag):
                made = _with_setting(made, flag, None, where)
            case SetEdgeLimit():
                made = _with_edge_limit(made, change, where)
            case Scale():
                made = _scaled(made, change, today, where)
            case ScaleLoad():
                made = _of_other_load(made, change, where)
            case _:
                raise InputError("the twin does not model what it changes", where)
    if sized:
        made = _resized(made, sized, today, where)
    try:
        check(made.settings)
    except InputError as error:
        raise InputError(str(error), where) from None
    return made


def _with_setting(made: Candidate, name: str, value: ConfigScalar | None, where: str) -> Candidate:
    if name == OFFLOADING:
        return replace(
            made,
            tier=value is not None,
            notes=made.notes if value is None else (*made.notes, _TIER_AT_BEST),
        )
    notes = made.notes if name != _ADAPTERS else (*made.notes, _SLOTS_TAKE_MEMORY)
    return replace(made, settings=_set(made.settings, name, value, where), notes=notes)


_SLOTS_TAKE_MEMORY = "the memory of more adapter slots is not taken from the KV pool here"
_TIER_AT_BEST = (
    "kv-offloading-size is tried at its best: blocks lost to preemption are never recomputed (the "
    "tier is large enough, and copying back costs nothing)"
)


def _set(settings: Settings, name: str, value: ConfigScalar | None, where: str) -> Settings:
    shown = option_of(name).lstrip("-")
    if name == _BLOCKS:
        if value is None:
            raise InputError(f"{shown} cannot be left out of a twin: give a number", where)
        return replace(settings, kv_blocks=_whole(shown, value, where))
    try:
        return with_setting(settings, name, value)
    except InputError as error:
        raise InputError(f"{shown} {error.what}", where) from None


def _with_edge_limit(made: Candidate, change: SetEdgeLimit, where: str) -> Candidate:
    match change.limit:
        case "request.maxInputTokens":
            return replace(made, input_cap=change.tokens)
        case "request.maxOutputTokens":
            return replace(made, output_cap=change.tokens)
        case "edge.kvTokenBudget":
            one_kind_of_attention(made.settings, where)
            return replace(made, kv_budget=change.tokens)


def _of_other_load(made: Candidate, change: ScaleLoad, where: str) -> Candidate:
    for name, times in (
        ("load", change.times),
        ("input", change.input_times),
        ("output", change.output_times),
    ):
        if not 1e-3 <= times <= 1e3:
            raise InputError(f"{name} is 0.001 to 1000 times today's, not {times:g}", where)
    return replace(
        made,
        load=made.load * change.times,
        input_times=made.input_times * change.input_times,
        output_times=made.output_times * change.output_times,
    )


def _scaled(made: Candidate, change: Scale, today: Today, where: str) -> Candidate:
    then = today.replicas + change.more if change.replicas is None else change.replicas
    if then < 1:
        raise InputError(f"replicas is a whole number above 0, not {then}", where)
    note = (
        f"{then} replicas in place of {today.replicas}: each has {today.replicas}/{then} "
        "of the load; rates are of all together"
    )
    more = then / today.replicas
    return replace(
        made, load=made.load / more, engines=made.engines * more, notes=(*made.notes, note)
    )


def _resized(
    made: Candidate, sized: dict[str, ConfigScalar | None], today: Today, where: str
) -> Candidate:
    if set(sized) == {_BLOCKS_OVERRIDE} and (blocks := sized[_BLOCKS_OVERRIDE]) is not None:
        shown = option_of(_BLOCKS_OVERRIDE).lstrip("-")
        settings = replace(made.settings, kv_blocks=_whole(shown, blocks, where))
        return replace(made, settings=settings)
    try:
        then = pool_then(today.sizing, sized)
    except InputError as error:
        raise InputError(error.what, where) from None
    settings = replace(
        made.settings,
        kv_blocks=1 + max(1, round(made.settings.usable_blocks * then.blocks_ratio)),
    )
    return replace(made, settings=settings, pool=then, notes=(*made.notes, f"{where}: {then.note}"))


def _whole(name: str, value: ConfigScalar, where: str) -> int:
    if isinstance(value, bool | str) or value != int(value) or value < 1:
        raise InputError(f"{name} is a whole number above 0, not {value}", where)
    return int(value)
