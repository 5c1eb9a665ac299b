"""What the counters gained between scrapes: rates, the effective batch, arrivals, preemptions, and
whether anything moves at all.
"""

from __future__ import annotations

from itertools import pairwise

from barostat.catalog import metric_names as names
from barostat.catalog.signals import signal
from barostat.core.signal import Signal
from barostat.engines.vllm.metrics.gauges import Points, queue_length, usage_ratio
from barostat.engines.vllm.metrics.scrapes import (
    CounterStep,
    EngineScrapes,
    HistogramStep,
    same_start,
    started_at,
)

_LAG = "the counter lags: it moves when a preempted request emits again"


def rate_signals(engine: EngineScrapes) -> list[Signal | None]:
    """Return the signals derived from counters; None if there are fewer than two scrapes or the
    counter is missing.
    """
    generated = _steps(engine, names.GENERATION_TOKENS)
    prompts = _steps(engine, names.PROMPT_TOKENS)
    finished = _steps(engine, names.FINISHED)
    preempted = _steps(engine, names.PREEMPTIONS)
    engine_steps = engine.histogram_steps(names.STEP_TOKENS, names.STEP_TOKENS[0])
    preemptions = f"{engine.spelled(names.PREEMPTIONS)}; {_LAG}"
    done = engine.spelled(names.FINISHED)
    return [
        signal(
            "generation_tokens_per_s", _rates(generated), engine.spelled(names.GENERATION_TOKENS)
        ),
        signal("prompt_tokens_per_s", _rates(prompts), engine.spelled(names.PROMPT_TOKENS)),
        signal(
            "finished_per_s",
            _rates(finished),
            f"{done}; requests aborted by clients are not counted",
        ),
        signal(
            "finished_in_window",
            _total(finished),
            f"{done}; requests aborted by clients are not counted",
        ),
        signal("preemptions_per_s", _rates(preempted), preemptions),
        signal("preemptions_in_window", _total(preempted), preemptions),
        *_batch(engine, generated, engine_steps),
        *_arrivals(engine, finished),
        _prefix_hits(engine),
        _prefix_hit_steps(engine),
        _accepted_drafts(engine),
        signal(
            "tokens_stalled_s",
            _stalled(engine),
            f"{engine.spelled(names.RUNNING, names.GENERATION_TOKENS)}: nothing counted moves",
        ),
        *_endpoint(engine),
    ]


def _steps(engine: EngineScrapes, family: tuple[str, ...]) -> list[CounterStep]:
    return engine.steps(engine.counter(family), family[0])


def _rates(steps: list[CounterStep]) -> Points:
    return [(step.end, step.per_s) for step in steps]


def _total(steps: list[CounterStep]) -> Points:
    """Return the total gain, dated with the last step; nothing without steps."""
    return [(steps[-1].end, sum(step.gain for step in steps))] if steps else []


def _batch(
    engine: EngineScrapes, generated: list[CounterStep], engine_steps: list[HistogramStep]
) -> list[Signal | None]:
    """Steps, tokens per step, and how many sequences got a token in a step (accepted draft tokens
    taken off).
    """
    histogram = engine.spelled(names.STEP_TOKENS)
    gained = {(step.start, step.end): step.gain for step in generated}
    drafted = {
        (step.start, step.end): step.gain for step in _steps(engine, names.ACCEPTED_DRAFT_TOKENS)
    }
    batch = [
        (
            step.end,
            max(0.0, gained[step.start, step.end] - drafted.get((step.start, step.end), 0.0))
            / step.observations,
        )
        for step in engine_steps
        if step.observations > 0 and (step.start, step.end) in gained
    ]
    source = f"{engine.spelled(names.GENERATION_TOKENS)} per step of {histogram}"
    if drafted:
        source += ", accepted draft tokens taken off"
    if started_at(engine.scrapes[-1].exposition) is None:
        # Multi-process exposition: each API server counts the step in which it got an output.
        source += "; a lower bound where several API servers share an engine"
    return [
        signal(
            "steps_per_s",
            [(step.end, step.observations / (step.end - step.start)) for step in engine_steps],
            f"count of {histogram}; steps without any output are not counted",
        ),
        signal(
            "tokens_per_step",
            [
                (step.end, step.total / step.observations)
                for step in engine_steps
                if step.observations > 0
            ],
            f"sum per count of {histogram}",
        ),
        signal("batch_size_mean", batch, source),
    ]


def _arrivals(engine: EngineScrapes, finished: list[CounterStep]) -> list[Signal | None]:
    """Arrivals: what finished plus what the engine holds more than before. Requests that clients
    gave up make it a lower bound.
    """
    waiting = dict(queue_length(engine))
    held = {
        at: running + waiting[at] for at, running in engine.gauge(names.RUNNING) if at in waiting
    }
    arrived = [
        CounterStep(
            step.start,
            step.end,
            max(0.0, step.gain + held[step.end] - (0.0 if step.restarted else held[step.start])),
        )
        for step in finished
        if step.start in held and step.end in held
    ]
    source = (
        f"{engine.spelled(names.FINISHED)} plus growth of running and waiting; requests aborted "
        f"by clients are missing"
    )
    found = [signal("arrivals_per_s", _rates(arrived), source)]
    total, time_s = (
        sum(step.gain for step in arrived),
        sum(step.end - step.start for step in arrived),
    )
    if len(arrived) >= 2 and total > 0:
        peak = max(step.per_s for step in arrived)
        found.append(
            signal(
                "arrival_burstiness",
                [(arrived[-1].end, peak * time_s / total)],
                f"peak over mean of arrivals, from {source}",
            )
        )
    return found


def _prefix_hits(engine: EngineScrapes) -> Signal | None:
    """Hits over queries within the window; V0 shows only a ratio since its start."""
    queries, hits = (
        _total(_steps(engine, names.PREFIX_QUERIES)),
        _total(_steps(engine, names.PREFIX_HITS)),
    )
    if queries and hits:
        if queries[0][1] <= 0:
            return None
        ratio = min(1.0, hits[0][1] / queries[0][1])
        return signal(
            "prefix_hit_ratio",
            [(hits[0][0], ratio)],
            engine.spelled(names.PREFIX_HITS, names.PREFIX_QUERIES),
        )
    lifetime = [
        (at, value) for at, value in engine.gauge(names.PREFIX_HIT_RATE_V0, max) if value >= 0
    ]  # V0 writes -1 for "none yet"
    return signal(
        "prefix_hit_ratio",
        lifetime,
        f"{engine.spelled(names.PREFIX_HIT_RATE_V0)}: since the engine's start, not of the window",
    )


def _prefix_hit_steps(engine: EngineScrapes) -> Signal | None:
    """Hits over queries between scrapes; nothing if no prompt was looked up."""
    queried = {(step.start, step.end): step.gain for step in _steps(engine, names.PREFIX_QUERIES)}
    points = [
        (step.end, min(1.0, step.gain / queried[step.start, step.end]))
        for step in _steps(engine, names.PREFIX_HITS)
        if queried.get((step.start, step.end), 0.0) > 0
    ]
    return signal(
        "prefix_hit_step_ratio", points, engine.spelled(names.PREFIX_HITS, names.PREFIX_QUERIES)
    )


def _accepted_drafts(engine: EngineScrapes) -> Signal | None:
    """Accepted drafts over the requests' steps that had any; nothing if nobody drafted."""
    drafted = _total(_steps(engine, names.DRAFTED_STEPS))
    accepted = _total(_steps(engine, names.ACCEPTED_DRAFT_TOKENS))
    if not drafted or not accepted or drafted[0][1] <= 0:
        return None
    return signal(
        "accepted_drafts_per_step",
        [(accepted[0][0], accepted[0][1] / drafted[0][1])],
        engine.spelled(names.ACCEPTED_DRAFT_TOKENS, names.DRAFTED_STEPS),
    )


def _stalled(engine: EngineScrapes) -> Points:
    """For how long requests have been running while neither a token, a step nor a gauge moved, at
    each scrape from the second on.

    KV usage and the queue count as movement: a long prompt in chunks produces no token and no
    counted step until its end.
    """
    running = dict(engine.gauge(names.RUNNING))
    tokens = dict(engine.counter(names.GENERATION_TOKENS))
    others = [
        dict(points)
        for points in (
            engine.counter(names.PROMPT_TOKENS),
            engine.histogram_counts(names.STEP_TOKENS),
            usage_ratio(engine),
            queue_length(engine),
        )
    ]
    starts = {scrape.at: started_at(scrape.exposition) for scrape in engine.scrapes}
    stalled_s, points = 0.0, []
    for before, now in pairwise(sorted(running.keys() & tokens.keys())):
        still = all(series[before] == series[now] for series in (running, tokens))
        still = still and all(
            series[before] == series[now] for series in others if before in series and now in series
        )
        stalled_s = (
            stalled_s + now - before
            if still and same_start(starts[before], starts[now]) and running[now] > 0
            else 0.0
        )
        points.append((now, stalled_s))
    return points


def _endpoint(engine: EngineScrapes) -> list[Signal | None]:
    """What the API server counts for all engines behind it together: it is given with each of
    them.
    """
    whole = "of the whole endpoint"
    rejected = engine.steps(engine.counter(names.REJECTIONS, of_endpoint=True), names.REJECTIONS[0])
    cpu = engine.steps(engine.counter(names.PROCESS_CPU, of_endpoint=True), names.PROCESS_CPU[0])
    errors = engine.steps(_server_errors(engine), "http_requests_total")
    source = engine.scrapes[-1].source
    return [
        signal(
            "rejections_in_window",
            _total(rejected),
            f"{names.REJECTIONS[0]}_total {whole} ({source})",
        ),
        signal(
            "errors_in_window",
            _total(errors),
            f"http_requests_total with status 5xx {whole} ({source})",
        ),
        signal(
            "api_server_cpu_cores",
            _rates(cpu),
            f"process_cpu_seconds_total of the API server ({source})",
        ),
    ]


def _server_errors(engine: EngineScrapes) -> Points:
    """5xx answers so far. A status that never occurred has no series: 0, as long as the HTTP
    metrics are there at all.
    """
    points = []
    for scrape in engine.scrapes:
        counted = scrape.exposition.named("http_requests_total")
        if counted or (scrape.exposition.named(names.HTTP_ANSWERED) and not scrape.exposition.cut):
            points.append(
                (
                    scrape.at,
                    sum(
                        sample.value
                        for sample in counted
                        if sample.labels.get("status", "").startswith("5")
                    ),
                )
            )
    return points
