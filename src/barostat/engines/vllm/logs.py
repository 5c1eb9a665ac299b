"""One pass over an engine's log gives a small digest: what started, what was set, what happened, what failed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from barostat.core.config import ConfigValue
from barostat.core.signal import Signal
from barostat.engines.vllm.log_lines import Iterations, LifeEvents, LogEvent, StatsLine


@dataclass(frozen=True, slots=True)
class LogDigest:
    """A log in a nutshell; everything but `lines`, `bytes` and `lives` is about the last life of the engine.

    A life goes from one server start to the next. `previous` is the life before the last, where the log holds one.
    Units: times are unix seconds where `dated`; else seconds on a clock of the log's own (its lines carry no year), of which only differences count.
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
    stats: tuple[StatsLine, ...] = ()
    iterations: Iterations | None = None
    events: tuple[LogEvent, ...] = ()
    survived: tuple[LogEvent, ...] = ()
    """Failures in the last life that a later success outweighs."""
    previous: LifeEvents | None = None
    problems: tuple[str, ...] = ()

    def event(self, kind: str) -> LogEvent | None:
        """The event of this kind in the last life, or None."""
        return next((event for event in self.events if event.kind == kind), None)

    def signals(self, at: float, *, previous: bool = False) -> dict[str, list[Signal]]:
        """The log's signals by engine index ("" for what is not per engine), as seen at `at` (unix seconds)."""
        return {}


def digest(lines: Iterable[str], *, source: str) -> LogDigest:
    """The digest of a log. `source` names it for a person."""
    count = size = 0
    for line in lines:
        count += 1
        size += len(line)
    return LogDigest(source, lines=count, bytes=size)
