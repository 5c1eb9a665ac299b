"""The gateway refuses more than one request in twenty for lack of capacity.

Meaning: for five minutes more than 5 % of the requests were refused because the engines' budgets
were taken, the queue was full or a deadline had passed.
Impact: clients get 429 and 503 with Retry-After; admitted requests keep their latency, which is the
gateway's purpose.
Evidence: barostat_gateway_refusals_total by reason, against barostat_gateway_requests_total.
Not evidence: refusals that the client can mend (input too long, no output limit, more than a
tenant's share): they are no want of room.
Mitigation: more replicas, or smaller limits for the largest tenants: `barostat diagnose` and the
gateway's dashboard show who.
Source: barostat's gateway, `gateway/metrics.py`.
"""

from __future__ import annotations

from barostat.alerts.alert import Alert
from barostat.alerts.expressions import rate
from barostat.alerts.gateway_names import REFUSALS, REQUESTS, WANT_OF_ROOM, gateway_terms
from barostat.alerts.terms import Terms

SHARE = 0.05


def expression(terms: Terms) -> str:
    """Return the share of requests rejected for lack of capacity."""
    ours = gateway_terms(terms)
    refused = rate(REFUSALS, ours, reason="~" + "|".join(WANT_OF_ROOM))
    return (
        f"sum without (reason, route) ({refused}) / sum without (route, code) "
        f"({rate(REQUESTS, ours)}) > {SHARE}"
    )


ALERT = Alert(
    "BarostatGatewayRefusals", "the gateway refuses requests for lack of capacity", "warning", "gateway", expression,
    "gateway {{ $labels.instance }}: {{ $value | humanizePercentage }} of the requests are "
    "refused for lack of capacity",
    holds_s=300.0, within_s=660.0, then="barostat diagnose {fleet}",
)  # fmt: skip
