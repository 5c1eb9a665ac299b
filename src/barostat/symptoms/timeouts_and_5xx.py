"""Clients get 5xx answers, or give up waiting.

Meaning: harm that users see, from whatever cause.

Impact: failed requests, and retries that add load.

Evidence: 5xx and time-outs (408, 499, 504) at the gateway; 5xx of the engine's own server.

Not evidence: 4xx of other kinds: a client's mistakes. Zero errors in the engine's metrics: requests
that clients gave up are counted nowhere.

Mitigation: shed early instead of late (a queue limit, a deadline at the gateway); retries with
backoff and a budget; then the cause.

Source: `http_requests_total{status}`; gateway access logs; vLLM counts no client disconnects.
"""

from __future__ import annotations

from barostat.core.symptom import Harm, Symptom
from barostat.core.verdict import Absent, Present, Verdict
from barostat.core.window import Window
from barostat.symptoms._server_errors import HARM_RATIO, own_error_ratio

NEEDS_ANY = ("gateway_5xx_ratio", "gateway_timeout_ratio", "errors_in_window")


def judge(window: Window) -> Verdict:
    """Present if one request in a hundred fails or is given up."""
    failed, timed_out, errors = (window.fresh(name) for name in NEEDS_ANY)
    evidence = tuple(
        signal.evidence(window.at) for signal in (failed, timed_out, errors) if signal is not None
    )
    said: list[str] = []
    if failed is not None and failed.last >= HARM_RATIO:
        said.append(f"{failed.last:.1%} of the answers are 5xx")
    if timed_out is not None and timed_out.last >= HARM_RATIO:
        said.append(f"{timed_out.last:.1%} time out or are given up")
    if said:
        return Present(" and ".join(said) + ", at the gateway", evidence, 0.95)
    if errors is not None and own_error_ratio(window) > 0:
        return Present(
            f"the engine answered 5xx {errors.last:.0f} times in this window", evidence, 0.85
        )
    return Absent("hardly any request fails", evidence)


SYMPTOM = Symptom(
    name="timeouts-and-5xx",
    title="clients get errors or give up",
    judge=judge,
    needs_any=NEEDS_ANY,
    harm=Harm.PLAIN | Harm.UNHEALTHY,
)
