"""Requests are under way at the gateway and not one first byte has come for three minutes.

Meaning: at every look of three minutes some request was sent to an engine, and none of them was
answered with as much as one byte.
Impact: whoever asks waits for nothing, although /health of the engines answers 200.
Evidence: barostat_gateway_replica_active_requests above 0 throughout,
barostat_gateway_first_byte_seconds_count standing still. It is the only sign of an engine whose
core hangs while it is idle: the engine's own metrics then show nothing running and nothing waiting.
Not evidence: long streams: their first byte has come long ago. One answer that is not streamed and
takes longer than four minutes, with nothing else beside it, looks the same from here.
Mitigation: `barostat diagnose --probe` asks each engine for one token; take the silent one out of
rotation.
Source: barostat's gateway, `gateway/metrics.py`, `gateway/gauges.py`; recorded with the engine core
stopped while idle.
"""

from __future__ import annotations

from barostat.alerts.alert import Alert
from barostat.alerts.gateway_names import ACTIVE, FIRST_BYTES, gateway_terms
from barostat.alerts.named.stalled_tokens import WINDOW_S
from barostat.alerts.terms import Terms


def expression(terms: Terms) -> str:
    """Under way throughout, and no first byte."""
    ours = gateway_terms(terms)
    window = f"{ours.matchers()}[{terms.span(WINDOW_S)}]"
    under_way = f"sum without (replica) (min_over_time({ACTIVE}{window}))"
    return f"{under_way} > 0 and increase({FIRST_BYTES}{window}) == 0"


ALERT = Alert(
    "BarostatGatewayNoAnswers", "requests are under way and nothing comes", "critical", "gateway", expression,
    "gateway {{ $labels.instance }}: {{ $value | humanize }} requests are under way and no first byte has come for 3 minutes",
    holds_s=60.0, within_s=420.0, then="barostat diagnose {fleet} --probe",
    hides=("BarostatGatewayRefusals", "BarostatSloFastBurn", "BarostatSloSlowBurn"),
)  # fmt: skip
