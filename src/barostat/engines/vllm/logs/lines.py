"""What a vLLM log is reduced to: its statistics lines and its events. Small, frozen, without prompt
text or secrets.
"""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class StatsLine:
    """One statistics line of one engine ("" if the line names none). None: the line does not
    contain the value, in this version or because it was quoted in part.

    Units: `at` on the digest's clock (see LogDigest). `hit_ratio` is over the engine's last
    thousand requests.
    """

    at: float
    engine: str
    prompt_tokens_per_s: float | None
    generation_tokens_per_s: float | None
    running: float
    waiting: float
    usage_ratio: float | None
    deferred: float | None = None
    swapped: int | None = None
    preemptions: float | None = None
    """Preemptions since the line before, where they are printed: vLLM 0.11.1 to 0.33 means to and
    zeroes the count first.
    """
    hit_ratio: float | None = None
    engines: int = 1
    """Data-parallel engines that the line is of, where it is one of all: its counts and rates are
    sums over them, its usage their mean.
    """


@dataclass(frozen=True, slots=True)
class LogEvent:
    """All lines of one kind in one life of the engine: first, last and how many.

    `kind` is the catalogue's signal name without `log_`. `quote`: the last such line, redacted and
    cut. `fields` are named groups of that line (`maxlen`, `args`, `exception`).
    """

    kind: str
    count: int
    first_at: float
    last_at: float
    quote: str
    fields: tuple[tuple[str, str], ...] = ()

    def get(self, name: str) -> str | None:
        """The named part of the line, or None."""
        return dict(self.fields).get(name)


@dataclass(frozen=True, slots=True)
class LoggedStep:
    """One engine step as `--enable-logging-iteration-details` prints it.

    `context`: tokens of requests that have produced no token yet. A resumed request counts as
    generating, with all recomputed tokens. `duration_s`: from dispatching the step to the executor
    until its output arrives; time between steps is not included. `usage_ratio`: of the KV pool,
    after the step's output was processed. `at` on the log's clock, often whole seconds. `engine`:
    data-parallel index, "" if the line names none. `number`: the engine's step counter; None if not
    logged.
    """

    at: float
    context_requests: int
    context_tokens: int
    generation_requests: int
    generation_tokens: int
    duration_s: float
    usage_ratio: float | None = None
    engine: str = ""
    number: int | None = None


@dataclass(frozen=True, slots=True)
class LifeEvents:
    """Events of an earlier life of the engine in the same log."""

    events: tuple[LogEvent, ...] = field(default_factory=tuple)
    ready: bool = False
    last_at: float = 0.0
