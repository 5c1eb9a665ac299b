"""An engine was restarted under load.

Meaning: within a quarter of an hour its counters began again from 0, or Kubernetes restarted its
container.
Impact: every request that ran there was lost; its prefix cache is cold.
Evidence: resets of vllm:generation_tokens_total; kube_pod_container_status_restarts_total of a pod
that shows vLLM's metrics, or is selected.
Not evidence: a rollout: new pods have new names, and count from 0 once.
Mitigation: `barostat diagnose` reads the previous log: out of memory, a fault of the card, a probe
that was too short.
Source: Prometheus, resets; kube-state-metrics, pod metrics.
"""

from __future__ import annotations

from barostat.alerts.alert import WHERE, Alert
from barostat.alerts.expressions import over_engines
from barostat.alerts.pods import of_engines
from barostat.alerts.terms import Terms
from barostat.catalog import metric_names as vllm

WINDOW_S = 900.0


def expression(terms: Terms) -> str:
    """Counters that began again, or containers that were restarted."""
    window = f"[{terms.span(WINDOW_S)}]"
    resets = over_engines(
        "max", f"resets({vllm.GENERATION_TOKENS[0]}_total{terms.matchers()}{window})"
    )
    restarts = of_engines(
        "increase(kube_pod_container_status_restarts_total{labels}" + window + ") > 0", terms
    )
    return f"{resets} > 0 or ({restarts})"


ALERT = Alert(
    "BarostatEngineRestarted", "an engine was restarted under load", "warning", "engine", expression,
    WHERE + ": restarted {{ $value | humanize }} times within 15 minutes",
    holds_s=0.0, within_s=120.0,
    hides=("BarostatCapacityWaiting", "BarostatSloSlowBurn"),
)  # fmt: skip
