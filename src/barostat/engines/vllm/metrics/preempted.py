"""Requests waiting to resume after a preemption at the time of a scrape; the preemption counter
shows them only later.
"""

from __future__ import annotations

from barostat.catalog import metric_names as names
from barostat.catalog.signals import signal
from barostat.core.signal import Signal
from barostat.engines.vllm.metrics.exposition import Exposition
from barostat.engines.vllm.metrics.gauges import Points, queue_length
from barostat.engines.vllm.metrics.scrapes import EngineScrapes, engines_of

GENERATING = ("completions", "responses", "messages", "generate")
"""Ends of the paths whose answers are generated: one answer is one request, unless a request asks
for several completions.
"""


BATCH = "/completions/batch"


def preempted_signal(engine: EngineScrapes) -> Signal | None:
    """Return a lower bound for the requests that have started, are not finished and do not run;
    None if an input is missing.

    first tokens = finished + running with a token + preempted + cancelled by clients
    preempted >= first tokens - finished - running - cancelled, and at most the waiting requests

    Cancelled requests are responses of the HTTP server beyond the finished requests. If more
    requests finished than responses could have been sent, one response answers several requests (n
    above 1, lists of prompts, batches), and cancellations cannot be counted.

    Source: vLLM 0.8 to 0.33, IterationStats (a resumed request has no second first token),
    OutputProcessor.abort_requests (not counted).
    """
    begun, finished = (
        dict(engine.histogram_counts(names.TTFT)),
        dict(engine.counter(names.FINISHED)),
    )
    running, waiting = dict(engine.gauge(names.RUNNING)), dict(queue_length(engine))
    points: Points = []
    for scrape in engine.scrapes:
        at = scrape.at
        answered = _answered(scrape.exposition)
        if answered is None or len(engines_of(scrape.exposition)) > 1:
            continue
        if at in begun and at in finished and at in running and at in waiting:
            if finished[at] - answered > running[at] + waiting[at]:
                continue
            given_up = max(0.0, answered - finished[at])
            points.append(
                (at, min(waiting[at], max(0.0, begun[at] - finished[at] - running[at] - given_up)))
            )
    return signal(
        "preempted_waiting_requests",
        points,
        f"first tokens less finished, running and given up ({engine.scrapes[-1].source})",
    )


def _answered(exposition: Exposition) -> float | None:
    """Answers of the generating paths since the start of the server; None if HTTP answers are
    not counted, or one stands for an unknown number of requests.
    """
    answers = [
        (sample.labels.get("handler", ""), sample.value)
        for sample in exposition.named("http_requests_total")
        if sample.labels.get("status", "").startswith("2")
    ]
    if any(handler.endswith(BATCH) and count for handler, count in answers):
        return None
    counted = [count for handler, count in answers if handler.endswith(GENERATING)]
    if counted:
        return sum(counted)
    # A path that has not answered yet has no series; where the server counts answers at all, that
    # is none so far.
    counts = bool(exposition.named(names.HTTP_ANSWERED)) or bool(
        exposition.named("http_requests_total")
    )
    return 0.0 if counts and not exposition.cut else None
