"""The engine itself turns requests away: its queue limits are reached.

Meaning: for five minutes more than one request in twenty was answered 503 because
--max-num-queued-reqs or --max-num-queued-tokens was reached (0.32 on).
Impact: clients see errors. That is what the limit is for; that it lasts is what is wrong.
Evidence: vllm:admission_rejections_total against requests that finish.
Not evidence: a refusal in a burst: better than a queue in which every client times out.
Mitigation: `barostat diagnose` names what holds the queue; the limit is not the cause.
Source: vLLM 0.32.0 v1/engine/async_llm.py, v1/metrics/loggers.py.
"""

from __future__ import annotations

from barostat.alerts.alert import WHERE, Alert, LeftOut
from barostat.alerts.recorded import FINISHED, REFUSED
from barostat.alerts.terms import Terms

SHARE = 0.05


def expression(terms: Terms) -> str | LeftOut:
    """Refused, of refused and finished."""
    if terms.version is not None and terms.version.before("0.32.0"):
        return LeftOut(f"vLLM {terms.version} has no queue limits")
    refused, finished = REFUSED + terms.matchers(), FINISHED + terms.matchers()
    return f"{refused} / ({refused} + {finished}) > {SHARE}"


ALERT = Alert(
    "BarostatEngineRefusals", "the engine turns requests away", "warning", "engine", expression,
    WHERE + ": {{ $value | humanizePercentage }} of the requests are turned away by the engine's queue limits",
    holds_s=300.0, within_s=660.0,
)  # fmt: skip
