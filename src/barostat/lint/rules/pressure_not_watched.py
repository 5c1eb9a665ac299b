"""Rules for vLLM that watch no sign of KV pressure.

Meaning: alerts on vLLM are there, and none of them reads requests that wait for capacity or
preemptions.
Impact: the first sign of a collapse is a user's complaint.

Bad:

    groups: [{name: vllm, rules: [{alert: Slow, expr: "histogram_quantile(0.99,
    rate(vllm:e2e_request_latency_seconds_bucket[5m])) > 30"}]}]

Good:

    groups: [{name: vllm, rules: [{alert: Waiting, expr:
    "vllm:num_requests_waiting_by_reason{reason=\\"capacity\\"} > 0"},
      {alert: Preempting, expr: "rate(vllm:num_preemptions_total[5m]) > 0.1"}]}]

Fix: capacity-waiting for some minutes, preemptions per finished request, and queue time.
Source: vLLM 0.20.0 and later, v1/metrics/loggers.py; the guide's page on prevention.
"""

from __future__ import annotations

from collections.abc import Iterator

from barostat.catalog import metric_names as names
from barostat.lint.facts import Query, Scene
from barostat.lint.promql import base_name, metrics_in
from barostat.lint.rule import Found, Rule

_SIGNS = {
    *names.WAITING,
    *names.WAITING_BY_REASON,
    *names.PREEMPTIONS,
    *names.PREEMPTIONS_PER_REQUEST,
    *names.QUEUE_TIME,
}


def judge(scene: Scene) -> Iterator[Found]:
    """Every file of alerts on vLLM that reads none of the signs."""
    by_file: dict[str, list[Query]] = {}
    for query in scene.queries:
        by_file.setdefault(query.place.file, []).append(query)
    for queries in by_file.values():
        alerts = [query for query in queries if query.what == "alert"]
        read = {base_name(name) for query in queries for name in metrics_in(query.expression)}
        if any("vllm:" in query.expression for query in alerts) and not read & _SIGNS:
            yield Found(alerts[0].place, "these alerts watch vLLM and no sign of KV pressure: neither requests that wait nor preemptions",
                        f"{names.WAITING_FOR_CAPACITY}, {names.PREEMPTIONS[0]}_total")  # fmt: skip


RULE = Rule(
    "pressure-not-watched",
    "alerts that watch no sign of KV pressure",
    judge,
    "note",
    "medium",
    "pedant",
)
