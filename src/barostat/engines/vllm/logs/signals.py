"""A log digest as signals of the catalogue's names."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from barostat.catalog.signals import SIGNALS, signal
from barostat.core.config import ConfigValue
from barostat.core.signal import Signal
from barostat.engines.vllm.logs.lines import LifeEvents, LogEvent, StatsLine

STRETCH_GAP_S = 900.0
"""Statistics lines further apart than this belong to different stretches of traffic (an idle engine
stops printing them).
"""

V0_WARNS_EVERY = 50
"""The V0 engine logged the 1st, 51st, 101st ... preemption with the total so far; a line without a
total means at least this many.
"""

_COUNTED_KINDS = tuple(
    name.removeprefix("log_")
    for name in SIGNALS
    if name.startswith("log_") and name not in ("log_preemptions", "log_start_unfinished")
)
_PREVIOUS: dict[str, tuple[str, ...]] = {
    "previous_log_gpu_oom": (
        "gpu_oom_startup",
        "gpu_oom_graph_capture",
        "gpu_oom_serving",
        "gpu_oom",
    ),
    "previous_log_host_oom": ("host_oom",),
    "previous_log_collective_timeout": ("collective_timeout",),
    "previous_log_gpu_fault": ("gpu_fault",),
    "previous_log_engine_dead": ("engine_dead",),
    "previous_log_shutdown": ("shutdown",),
}


def event_signals(
    events: Sequence[LogEvent], stats: Sequence[StatsLine], at: float, offset_s: float, source: str
) -> list[Signal]:
    """Return every log_* signal: the number of lines of its kind (0 if none), dated as the last
    line, with a quote as detail.
    """
    by_kind = {event.kind: event for event in events}
    found: list[Signal | None] = []
    for kind in _COUNTED_KINDS:
        event = by_kind.get(kind)
        if event is None:
            found.append(signal(f"log_{kind}", [(at, 0.0)], source))
            continue
        value = float(event.count)
        if kind == "preempted_v0":
            counted = event.get("n")
            value = max(value, float(counted)) if counted else (value - 1) * V0_WARNS_EVERY + 1
        found.append(
            signal(
                f"log_{kind}", [(_when(event.last_at, offset_s, at), value)], source, event.quote
            )
        )
    printed = [line.preemptions for line in _last_stretch(stats) if line.preemptions is not None]
    found.append(
        signal("log_preemptions", [(at, float(sum(printed)))], source) if printed else None
    )
    return _there(found)


def unfinished_signal(last_line: str, at: float, source: str) -> list[Signal]:
    """Return log_start_unfinished: 1, with the last line as detail, if the log stops during a
    start; else 0.
    """
    return _there(
        [signal("log_start_unfinished", [(at, float(bool(last_line)))], source, last_line)]
    )


def previous_signals(life: LifeEvents, at: float, offset_s: float, source: str) -> list[Signal]:
    """Every previous_log_* signal of a life that ended; the detail of a GPU OOM begins with its
    phase.
    """
    by_kind = {event.kind: event for event in life.events}
    found: list[Signal | None] = []
    for name, kinds in _PREVIOUS.items():
        events = [by_kind[kind] for kind in kinds if kind in by_kind]
        if not events:
            found.append(signal(name, [(at, 0.0)], source))
            continue
        phase = (
            events[0].kind.removeprefix("gpu_oom").lstrip("_").replace("_", "-")
            if kinds[0].startswith("gpu_oom")
            else ""
        )
        detail = f"{phase}: {events[0].quote}" if phase else events[0].quote
        count = float(sum(event.count for event in events))
        found.append(
            signal(
                name,
                [(_when(max(event.last_at for event in events), offset_s, at), count)],
                source,
                detail,
            )
        )
    return _there(found)


def setting_signals(
    settings: Mapping[str, ConfigValue],
    at: float,
    started_at: float | None,
    offset_s: float,
    source: str,
) -> list[Signal]:
    """Return the limits in start-up lines as signals, dated at the start."""
    when = at if started_at is None else _when(started_at, offset_s, at)
    names = {
        "kv_pool_tokens": "kv_cache_size_tokens",
        "kv_pool_blocks": "num_gpu_blocks",
        "block_size_tokens": "block_size",
        "max_model_len_tokens": "max_model_len",
        "max_batched_tokens": "max_num_batched_tokens",
    }
    found = []
    for name, setting in names.items():
        value = settings.get(setting)
        if (
            value is not None
            and isinstance(value.value, int | float)
            and not isinstance(value.value, bool)
        ):
            found.append(signal(name, [(when, float(value.value))], source, value.source))
    return _there(found)


def load_signals(
    stats: Sequence[StatsLine],
    pools: Mapping[str, int],
    last_at: float | None,
    offset_s: float,
    source: str,
) -> dict[str, list[Signal]]:
    """The load that the last stretch of statistics lines shows, by engine index. `last_at`: the
    log's last line, on its own clock.

    A line of all data-parallel engines together is read as their mean engine's: pool and seats,
    which it is held against, are one engine's.
    """
    by_engine: dict[str, list[StatsLine]] = {}
    for line in _last_stretch(stats):
        by_engine.setdefault(line.engine, []).append(line)
    # 0.11.1 to 0.33 zero the count before they make the line, so that none is ever printed: only a
    # build that prints it counts.
    counts_preemptions = any(line.preemptions is not None for line in stats)
    found: dict[str, list[Signal]] = {}
    for engine, lines in by_engine.items():
        pool = pools.get(engine) or pools.get("") or (min(pools.values()) if pools else None)
        together = lines[-1].engines
        lines = [_of_one(line) for line in lines]
        made = _load(
            lines,
            pool,
            offset_s,
            source if together == 1 else f"{source}, mean of {together} engines",
        )
        if counts_preemptions:
            preempted = float(sum(line.preemptions or 0 for line in lines))
            made.append(
                signal("preemptions_in_window", [(lines[-1].at + offset_s, preempted)], source)
            )
        ended_at = max(lines[-1].at, last_at or lines[-1].at)
        made.append(
            signal("tokens_stalled_s", [(ended_at + offset_s, _stalled_s(lines, ended_at))], source)
        )
        if pool and engine:
            made.append(signal("kv_pool_tokens", [(lines[0].at + offset_s, float(pool))], source))
        found[engine] = _there(made)
    if (engines := sum(lines[-1].engines for lines in by_engine.values())) > 1:
        newest = max(lines[-1].at for lines in by_engine.values())
        found.setdefault("", []).extend(
            _there([signal("data_parallel_engines", [(newest + offset_s, float(engines))], source)])
        )
    return found


def _load(
    lines: list[StatsLine], pool: int | None, offset_s: float, source: str
) -> list[Signal | None]:
    def series(name: str, values: Iterable[tuple[StatsLine, float | None]]) -> Signal | None:
        return signal(
            name,
            [(line.at + offset_s, value) for line, value in values if value is not None],
            source,
        )

    made = [
        series("kv_usage_ratio", ((line, line.usage_ratio) for line in lines)),
        series("running_requests", ((line, float(line.running)) for line in lines)),
        # V0 keeps what it swapped out apart from the queue; both wait for blocks
        series(
            "waiting_requests",
            ((line, float(line.waiting + (line.swapped or 0))) for line in lines),
        ),
        series(
            "capacity_waiting_requests",
            (
                (line, float(line.waiting + (line.swapped or 0) - (line.deferred or 0)))
                for line in lines
            ),
        ),
        series("prompt_tokens_per_s", ((line, line.prompt_tokens_per_s) for line in lines)),
        series("generation_tokens_per_s", ((line, line.generation_tokens_per_s) for line in lines)),
        series("prefix_hit_ratio", ((line, line.hit_ratio) for line in lines)),
        signal(
            "batch_size_p95",
            [(lines[-1].at + offset_s, _p95([float(line.running) for line in lines]))],
            source,
        ),
    ]
    if any(line.deferred is not None for line in lines):
        made.append(
            series(
                "deferred_waiting_requests", ((line, float(line.deferred or 0)) for line in lines)
            )
        )
    if pool:
        made.append(
            series(
                "kv_used_tokens",
                (
                    (line, None if line.usage_ratio is None else line.usage_ratio * pool)
                    for line in lines
                ),
            )
        )
    return made


def _of_one(line: StatsLine) -> StatsLine:
    """The line with its sums shared out evenly among the engines that it is of."""
    if (share := line.engines) == 1:
        return line
    return replace(
        line,
        prompt_tokens_per_s=None
        if line.prompt_tokens_per_s is None
        else line.prompt_tokens_per_s / share,
        generation_tokens_per_s=None
        if line.generation_tokens_per_s is None
        else line.generation_tokens_per_s / share,
        running=line.running / share,
        waiting=line.waiting / share,
        deferred=None if line.deferred is None else line.deferred / share,
        preemptions=None if line.preemptions is None else line.preemptions / share,
    )


def _stalled_s(lines: list[StatsLine], ended_at: float) -> float:
    """How long, up to the log's end, requests have been running without a token.

    V1 prints one or two lines of a stall and then none (an interval without tokens is logged at
    DEBUG): while nothing says otherwise, the stall lasts to the end of the log.
    """
    first: float | None = None
    for line in reversed(lines):
        if line.running == 0 or line.generation_tokens_per_s != 0 or line.prompt_tokens_per_s != 0:
            break
        first = line.at
    return 0.0 if first is None else ended_at - first


def _last_stretch(stats: Sequence[StatsLine]) -> Sequence[StatsLine]:
    start = len(stats)
    while start > 0 and (
        start == len(stats) or stats[start].at - stats[start - 1].at <= STRETCH_GAP_S
    ):
        start -= 1
    return stats[start:]


def _p95(values: list[float]) -> float:
    return sorted(values)[min(len(values) - 1, int(0.95 * len(values)))]


def _when(at: float, offset_s: float, now: float) -> float:
    # An event before the first dated line has no time of its own (0); it is as old as the log,
    # which a person may read as now.
    if at <= 0.0:
        return now
    when = at + offset_s
    return when if when <= now and when > now - 365 * 86_400.0 else now


def _there(signals: Iterable[Signal | None]) -> list[Signal]:
    return [made for made in signals if made is not None]
