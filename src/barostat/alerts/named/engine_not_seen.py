"""Nothing is seen of these engines: every other alert is blind.

Meaning: for five minutes no series vllm:num_requests_running with the labels that these rules were made for.
Impact: nobody is told of anything. Rules that select what is not there are silent, and silence looks like health.
Evidence: absent().
Not evidence: zero replicas on purpose; silence this alert for as long.
Mitigation: the ServiceMonitor, the name that the model is served under (--served-model-name), --disable-log-stats, the labels that these
rules were made with: make them anew from the running workload.
Source: Prometheus, absent; vLLM 0.32.0: --disable-log-stats leaves /metrics without engine metrics.
"""

from __future__ import annotations

from barostat.alerts.alert import Alert
from barostat.alerts.terms import Terms
from barostat.catalog import metric_names as vllm


def expression(terms: Terms) -> str:
    """There is none."""
    return f"absent({vllm.RUNNING[0]}{terms.matchers()})"


ALERT = Alert(
    "BarostatEngineNotSeen", "nothing is seen of these engines", "critical", "engine", expression,
    "no metrics of vLLM with the labels that these rules watch: every other alert is blind",
    holds_s=300.0, within_s=660.0, then="barostat diagnose {fleet}",
)  # fmt: skip
