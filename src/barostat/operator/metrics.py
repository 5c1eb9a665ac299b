"""The operator's own metrics, as Prometheus reads them."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from barostat.operator.loop import Operator

_PREFIX = "barostat_operator_"


def metrics_page(operator: Operator) -> str:
    """The page."""
    engines, kept = operator.engines, operator.objects
    open_ones = [
        one.incident for one in operator.state.targets.values() if one.incident is not None
    ]
    causes = Counter(one.spec.cause for one in open_ones)
    healing = sum(one.healing for one in operator.state.targets.values())
    lines: list[str] = []

    def metric(name: str, kind: str, meaning: str, *samples: tuple[str, float]) -> None:
        lines.append(f"# HELP {_PREFIX}{name} {meaning}")
        lines.append(f"# TYPE {_PREFIX}{name} {kind}")
        lines.extend(f"{_PREFIX}{name}{labels} {value:g}" for labels, value in samples)

    metric("leading", "gauge", "1 while this operator holds the lease.", ("", operator.lease.leads))
    metric("engines", "gauge", "Engines that are watched.", ("", len(engines.engines)))
    metric("workloads", "gauge", "Workloads that are watched.", ("", len(engines.workloads())))
    metric(
        "incidents_open", "gauge", "Incidents that are open, by cause.",
        *((f'{{cause="{cause}"}}', count) for cause, count in sorted(causes.items())),
    )  # fmt: skip
    metric("remedies_running", "gauge", "Remedies under way.", ("", healing))
    metric("scrapes_total", "counter", "Scrapes of engines.", ("", engines.scrapes))
    metric("scrapes_failed_total", "counter", "Scrapes that failed.", ("", engines.failed_scrapes))
    metric("verdicts_total", "counter", "Workloads judged.", ("", operator.judged))
    metric("verdict_seconds_total", "counter", "Time spent judging.", ("", operator.judged_s))
    metric("writes_total", "counter", "Writes of the operator's own objects.", ("", kept.writes))
    metric("writes_failed_total", "counter", "Writes that failed.", ("", kept.failures))
    metric(
        "notifications_sent_total",
        "counter",
        "Messages delivered.",
        ("", operator.notifications.sent),
    )
    metric(
        "notifications_lost_total",
        "counter",
        "Messages given up.",
        ("", operator.notifications.lost),
    )
    metric("turns_total", "counter", "Rounds of the loop.", ("", operator.turns))
    metric("turn_seconds", "gauge", "Time of the last round.", ("", operator.turn_s))
    return "\n".join(lines) + "\n"
