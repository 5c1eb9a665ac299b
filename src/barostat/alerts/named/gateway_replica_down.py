"""The gateway has taken an engine out, and it has not come back for two minutes.

Meaning: barostat_gateway_replica_up of that engine has been 0 for two minutes.
Impact: the others carry its share; where there is none, every request is refused.
Evidence: the gateway's own looks at /health and /metrics, and answers that broke off.
Not evidence: a rollout: a replica that drains is gone from the gateway's list, or back within two
minutes.
Mitigation: `barostat diagnose` of that engine.
Source: barostat's gateway, `gateway/watching/health.py`.
"""

from __future__ import annotations

from barostat.alerts.alert import Alert
from barostat.alerts.gateway_names import UP, gateway_terms
from barostat.alerts.terms import Terms


def expression(terms: Terms) -> str:
    """An engine that is not up."""
    return f"{UP}{gateway_terms(terms).matchers()} == 0"


ALERT = Alert(
    "BarostatGatewayReplicaDown", "the gateway has taken an engine out", "warning", "gateway", expression,
    "gateway {{ $labels.instance }}: engine {{ $labels.replica }} is out of rotation",
    holds_s=120.0, within_s=240.0, then="barostat diagnose http://{{{{ $labels.replica }}}}",
    hides=("BarostatGatewayRefusals",),
)  # fmt: skip
