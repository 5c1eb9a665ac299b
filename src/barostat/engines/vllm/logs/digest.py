"""Digests an engine's log in one pass: starts, settings, events, failures."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from barostat.core.config import ConfigValue
from barostat.core.signal import Signal
from barostat.engines.vllm.logs import signals as log_signals
from barostat.engines.vllm.logs.lines import LifeEvents, LogEvent, LoggedStep, StatsLine
from barostat.engines.vllm.logs.reader import Reader


@dataclass(frozen=True, slots=True)
class LogDigest:
    """A log in a nutshell; everything but `lines`, `bytes`, `lives` and `previous` is about the
    last life of the engine.

    A life goes from one server start to the next. `previous` is the life before the last, where the
    log holds one.
    Units: times are unix seconds where `dated`; else seconds of a clock of the log's own (its lines
    carry no year): only differences count.
    """

    source: str
    lines: int = 0
    bytes: int = 0
    lives: int = 0
    ready: int = 0
    dated: bool = False
    started_at: float | None = None
    last_at: float | None = None
    settings: Mapping[str, ConfigValue] = field(default_factory=dict)
    pools: Mapping[str, int] = field(default_factory=dict)
    """Tokens of the KV pool by engine index ("" where the line names none)."""
    stats: tuple[StatsLine, ...] = ()
    steps: Mapping[str, tuple[LoggedStep, ...]] = field(default_factory=dict)
    """The latest steps that computed something, by engine index, where the engine was started to
    tell of each.
    """
    events: tuple[LogEvent, ...] = ()
    survived: tuple[LogEvent, ...] = ()
    """Failures in the last life that a later success outweighs."""
    previous: LifeEvents | None = None
    problems: tuple[str, ...] = ()
    foreign: bool = False
    """It is the log of something else, and says nothing of an engine."""
    unfinished: str = ""
    """The last line of a log that stops during a start without a reason; otherwise empty."""

    def event(self, kind: str) -> LogEvent | None:
        """The event of this kind in the last life, or None."""
        return next((event for event in self.events if event.kind == kind), None)

    def signals(self, at: float, *, previous: bool = False) -> dict[str, list[Signal]]:
        """The log's signals by engine index ("" for what is not per engine), as seen at `at` (unix
        seconds).

        A log whose lines carry no year is anchored: its last dated line is put at `at`. Load
        signals use the last stretch of statistics lines only (no gap over 15 minutes). `previous`:
        this is the log before a restart; only previous_log_* signals are made of it.
        """
        if self.foreign:
            return {}
        offset_s = 0.0 if self.dated or self.last_at is None else at - self.last_at
        if previous:
            life = LifeEvents(self.events, self.ready > 0, self.last_at or 0.0)
            return {"": log_signals.previous_signals(life, at, offset_s, self.source)}
        found = {"": log_signals.event_signals(self.events, self.stats, at, offset_s, self.source)}
        if self.previous is not None:
            found[""] += log_signals.previous_signals(self.previous, at, offset_s, self.source)
        found[""] += log_signals.unfinished_signal(self.unfinished, at, self.source)
        load = log_signals.load_signals(self.stats, self.pools, self.last_at, offset_s, self.source)
        for engine, made in load.items():
            found.setdefault(engine, []).extend(made)
        found[""] += log_signals.setting_signals(
            self.settings, at, self.started_at, offset_s, self.source
        )
        return found


def digest(lines: Iterable[str], *, source: str) -> LogDigest:
    """The digest of a log, read in one pass with a memory that does not grow. `source` names it for
    a person.

    Shapes: decoded lines, with or without their line ends; decode bytes with errors="replace".
    Errors: none; what cannot be read is counted in `problems`.
    """
    reader = Reader()
    reader.read(lines)
    life, before, clock = reader.life, reader.before, reader.clock
    return LogDigest(
        source,
        lines=reader.lines,
        bytes=reader.bytes,
        lives=reader.lives,
        ready=life.ready,
        dated=clock.absolute,
        started_at=life.began_at,
        last_at=clock.now,
        settings=dict(life.settings),
        pools=dict(life.pools),
        stats=tuple(life.stats),
        steps={engine: tuple(steps) for engine, steps in life.steps.items()},
        events=life.events(),
        survived=life.survived(),
        previous=before,
        problems=reader.problems(),
        foreign=reader.is_foreign(),
        unfinished=reader.stops_in_a_start(),
    )
