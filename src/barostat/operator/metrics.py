"""The operator's own metrics in Prometheus text format."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields

_PREFIX = "barostat_operator_"


def _gauge(meaning: str) -> float:
    found: float = field(default=0.0, metadata={"kind": "gauge", "meaning": meaning})
    return found


def _counter(meaning: str) -> float:
    found: float = field(default=0.0, metadata={"kind": "counter", "meaning": meaning})
    return found


@dataclass(frozen=True, slots=True)
class Metrics:
    """One reading of all metrics. A field's name is the metric's name without its prefix."""

    leading: float = _gauge("Leases that this operator holds: 1 or 0, or the number of its shards.")
    engines: float = _gauge("Engines that are watched.")
    workloads: float = _gauge("Workloads that are watched.")
    remedies_running: float = _gauge("Remedies under way.")
    turn_seconds: float = _gauge("Time of the last round of the loop.")
    turns_total: float = _counter("Rounds of the loop.")
    scrapes_total: float = _counter("Scrapes of engines.")
    scrapes_failed_total: float = _counter("Scrapes that failed.")
    prometheus_pages_total: float = _counter("Engines read from Prometheus instead of a scrape.")
    verdicts_total: float = _counter("Workloads judged.")
    verdict_seconds_total: float = _counter("Time spent judging.")
    writes_total: float = _counter("Writes of the operator's own objects.")
    writes_failed_total: float = _counter("Writes that failed.")
    notifications_sent_total: float = _counter("Messages delivered.")
    notifications_lost_total: float = _counter("Messages dropped after the last retry.")


def together(each: Iterable[Metrics]) -> Metrics:
    """Combine the metrics of all shards of a process: sums, and the longest round."""
    found = list(each)
    sums = {one.name: sum(getattr(part, one.name) for part in found) for one in fields(Metrics)}
    return Metrics(**{**sums, "turn_seconds": max(one.turn_seconds for one in found)})


def page(metrics: Metrics, open_by_cause: Mapping[str, int]) -> str:
    """Render the metrics in Prometheus text format. `open_by_cause`: open incidents by cause."""
    lines: list[str] = []
    for one in fields(metrics):
        name = f"{_PREFIX}{one.name}"
        lines += [
            f"# HELP {name} {one.metadata['meaning']}",
            f"# TYPE {name} {one.metadata['kind']}",
            f"{name} {getattr(metrics, one.name):g}",
        ]
    name = f"{_PREFIX}incidents_open"
    lines += [f"# HELP {name} Incidents that are open, by cause.", f"# TYPE {name} gauge"]
    lines += [f'{name}{{cause="{cause}"}} {n}' for cause, n in sorted(open_by_cause.items())]
    return "\n".join(lines) + "\n"
