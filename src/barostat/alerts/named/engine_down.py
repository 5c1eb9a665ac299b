"""An engine that answered within the last six hours does not answer any more.

Meaning: scraping it has failed for two minutes, and it showed vLLM's metrics within the six hours
before.
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

SEEN_S = 21_600.0
"""An engine that is down for longer no longer fires this alert; a whole fleet that is down fires
BarostatEngineNotSeen.
"""
TARGET = "cluster, job, instance"
"""Labels that identify a target, even if samples were relabelled and `up` was not. A missing label
is equal on both sides.
"""


def expression(terms: Terms) -> str:
    """Not up, and vLLM within the window; the labels are those of the engine, its value what ran
    when it was last seen.

    Joined by `and`: where one Prometheus sees several clusters, two targets may have one address.
    """
    seen = (
        "max without (engine, pid) "
        f"(last_over_time({vllm.RUNNING[0]}{terms.matchers()}[{terms.span(SEEN_S)}]))"
    )
    return f"{seen} and on ({TARGET}) (up == 0)"


ALERT = Alert(
    "BarostatEngineDown", "an engine does not answer any more", "critical", "engine", expression,
    WHERE + ": does not answer the scrape any more",
    holds_s=120.0, within_s=240.0,
    hides=(
        "BarostatGatewayReplicaDown", "BarostatGatewayRefusals", "BarostatCapacityWaiting", "BarostatQueueAge", "BarostatSloFastBurn",
        "BarostatSloSlowBurn", "BarostatEngineRestarted", "BarostatEngineRefusals",
    ),
)  # fmt: skip
