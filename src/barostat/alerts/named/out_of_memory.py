"""The engine's container was killed for lack of host memory.

Meaning: kube-state-metrics reports OOMKilled as the container's last termination reason, and it was
restarted within the last quarter of an hour.
Impact: every request that ran there was lost; it will happen again at the next load.
Evidence: kube_pod_container_status_last_terminated_reason, and restarts that are new.
Not evidence: GPU memory: an engine that runs out of that ends by itself, with another reason. An
OOM of last week: the restart is old.
Mitigation: `barostat diagnose` says what took the memory (loading, the tokenizer's processes, an
offload that is too large).
Source: kube-state-metrics, pod metrics; Kubernetes, container states.
"""

from __future__ import annotations

from barostat.alerts.alert import WHERE, Alert
from barostat.alerts.named.engine_restarted import WINDOW_S
from barostat.alerts.pods import of_engines
from barostat.alerts.terms import Terms


def expression(terms: Terms) -> str:
    """Ended for memory, and restarted lately."""
    ended = of_engines(
        'kube_pod_container_status_last_terminated_reason{labels_and_reason="OOMKilled"} == 1',
        terms,
    )
    lately = f"increase(kube_pod_container_status_restarts_total[{terms.span(WINDOW_S)}]) > 0"
    return f"({ended}) and on (cluster, namespace, pod, container) {lately}"


ALERT = Alert(
    "BarostatOutOfMemory", "a container was killed for lack of host memory", "critical", "pod", expression,
    WHERE + ": container {{ $labels.container }} was killed for lack of host memory (OOMKilled)",
    holds_s=0.0, within_s=120.0,
    hides=("BarostatEngineRestarted", "BarostatEngineDown", "BarostatCapacityWaiting", "BarostatSloFastBurn", "BarostatSloSlowBurn"),
)  # fmt: skip
