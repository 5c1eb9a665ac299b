"""Requests run and not one token comes.

Meaning: for three minutes there were requests running at every look, and neither a token generated
nor a prompt finished.
Impact: every client of this replica waits for nothing; /health answers 200, so nothing restarts it.
Evidence: vllm:num_requests_running above 0 throughout, vllm:generation_tokens_total and
vllm:prompt_tokens_total standing still.
Not evidence: no tokens with nothing running: that is an idle engine. Prefill of a long prompt takes
seconds, not minutes.
Mitigation: take the replica out of rotation, keep its stacks (`barostat collect`), restart it.
Source: vLLM 0.32.0 v1/engine/core_client.py; recorded with the engine core stopped.
"""

from __future__ import annotations

from barostat.alerts.alert import WHERE, Alert
from barostat.alerts.named._stand_still import without_tokens
from barostat.alerts.recorded import RUNNING
from barostat.alerts.terms import Terms

WINDOW_S = 180.0


def expression(terms: Terms) -> str:
    """Running throughout, and nothing produced."""
    return (
        f"min_over_time({RUNNING}{terms.matchers()}[{terms.span(WINDOW_S)}]) > 0 and "
        f"{without_tokens(terms, WINDOW_S)}"
    )


ALERT = Alert(
    "BarostatStalledTokens", "requests run and no token comes", "critical", "engine", expression,
    WHERE + ": {{ $value | humanize }} requests run and not one token has come for 3 minutes",
    holds_s=60.0, within_s=420.0,
    hides=(
        "BarostatCapacityWaiting", "BarostatQueueAge", "BarostatPreempting", "BarostatExhaustionForecast", "BarostatSloFastBurn",
        "BarostatSloSlowBurn", "BarostatGatewayRefusals", "BarostatGatewayNoAnswers", "BarostatEngineRefusals",
    ),
)  # fmt: skip
