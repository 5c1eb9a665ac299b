"""Nothing is seen of these engines: every other alert is blind.

Meaning: for five minutes no series vllm:num_requests_running with the labels that these rules were
made for. Rules that were made for a Deployment or StatefulSet are silent while kube-state-metrics
says that it is to have no replicas.
Impact: no alert fires. Rules that select what is not there are silent, and silence looks like
health.
Evidence: absent().
Not evidence: zero replicas on purpose, where the rules do not know of what: make them from the
workload (`barostat rules deploy/NAME`).
Mitigation: the ServiceMonitor, the name that the model is served under (--served-model-name),
--disable-log-stats, the labels that these rules were made with: regenerate them from the running
workload.
Source: Prometheus, absent; kube-state-metrics, deployment and statefulset metrics; vLLM 0.32.0:
--disable-log-stats leaves /metrics without engine metrics.
"""

from __future__ import annotations

from barostat.alerts.alert import Alert
from barostat.alerts.terms import Terms
from barostat.catalog import metric_names as vllm

_WANTED = {
    "deploy": ("kube_deployment_spec_replicas", "deployment"),
    "sts": ("kube_statefulset_replicas", "statefulset"),
    "statefulset": ("kube_statefulset_replicas", "statefulset"),
}
"""By how a workload is named: the series of kube-state-metrics, and its label."""


def expression(terms: Terms) -> str:
    """There is none, and there should be."""
    absent = f"absent({vllm.RUNNING[0]}{terms.matchers()})"
    wanted = _replicas(terms)
    return f"{absent} unless on () {wanted} == 0" if wanted else absent


def _replicas(terms: Terms) -> str:
    """Return the desired number of replicas from kube-state-metrics; empty if the terms name no
    workload.
    """
    kind, slash, rest = terms.target.partition("/")
    name, _, namespace = rest.partition(" -n ")
    whose = next((whose for short, whose in _WANTED.items() if kind.startswith(short)), None)
    if not slash or whose is None or not namespace:
        return ""
    return f'{whose[0]}{{namespace="{namespace}",{whose[1]}="{name}"}}'


ALERT = Alert(
    "BarostatEngineNotSeen", "nothing is seen of these engines", "critical", "engine", expression,
    "no metrics of vLLM with the labels that these rules watch: every other alert is blind",
    holds_s=300.0, within_s=660.0, then="barostat diagnose {fleet}",
)  # fmt: skip
