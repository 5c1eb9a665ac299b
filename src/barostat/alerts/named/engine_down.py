"""An engine that answered within the last hour does not answer any more.

Meaning: scraping it has failed for two minutes, and it showed vLLM's metrics within the hour before.
Impact: its requests are lost, and the others carry its share.
Evidence: up is 0 for a target that had vllm:num_requests_running.
Not evidence: a pod that was removed: its target is gone, too, and nothing is 0.
Mitigation: `barostat diagnose` reads the log of the last start and says what ended it.
Source: Prometheus, the `up` series.
"""

from __future__ import annotations

from barostat.alerts.alert import WHERE, Alert
from barostat.alerts.terms import Terms
from barostat.catalog import metric_names as vllm


def expression(terms: Terms) -> str:
    """Not up, and vLLM within the hour; the labels are those of the engine."""
    seen = f"max without (engine, pid) (last_over_time({vllm.RUNNING[0]}{terms.matchers()}[{terms.span(3600.0)}]))"
    return f"{seen} * on (job, instance) group_left () (up == 0)"


ALERT = Alert(
    "BarostatEngineDown", "an engine does not answer any more", "critical", "engine", expression,
    WHERE + ": does not answer the scrape any more",
    holds_s=120.0, within_s=240.0,
    hides=(
        "BarostatGatewayReplicaDown", "BarostatGatewayRefusals", "BarostatCapacityWaiting", "BarostatQueueAge", "BarostatSloFastBurn",
        "BarostatSloSlowBurn", "BarostatEngineRestarted", "BarostatEngineRefusals",
    ),
)  # fmt: skip
