"""The latency or the errors are made outside the engine: in the network, the ingress or the
gateway.

Meaning: clients wait or fail, and the engine's own figures show no reason for it.

Impact: timeouts, 502, 503 and 504 at the edge, connection resets, retries that multiply the load.

Evidence: the gateway's latency is far above the engine's end-to-end latency; 5xx at the edge with
an engine that answers quickly or sees no traffic.

Not evidence: 5xx that the engine's own server counts (503 of its queue limits too), timeouts while
the engine's queue is long. Errors and a tail that another replica behind the same gateway explains:
the gateway's figures are of all of them.

Mitigation: look at the gateway's upstream time-outs, connection limits and routing; do not touch
the engine.

Source: the diagnostics page of the playbook; vLLM 0.32.0 e2e_request_latency_seconds is measured
inside the server.
"""

from __future__ import annotations

from barostat.core.symptom import Harm
from barostat.judge.diagnosis.case import Case, Cause, Claim, Cleared, Judgement, Open
from barostat.symptoms._server_errors import made_at_the_gateway
from barostat.symptoms.latency_outside_engine import UPSTREAM_SHARE_RATIO


def judge(case: Case) -> Judgement:
    """Claim where the edge is slow or failing and the engine is neither."""
    failing = case.present("timeouts-and-5xx")
    outside = (
        *case.present("latency-outside-engine"),
        *(failing if made_at_the_gateway(case.window) else ()),
    )
    if failing and not outside:
        return Cleared(f"the errors are the engine's own: {case.because(*failing)}")
    if outside and (reasons := case.harmed(Harm.OF_THE_ENGINE)):
        return Cleared(
            f"errors at the edge have a reason in the engine: {case.because(reasons[0])}"
        )
    if outside and case.elsewhere and not _waits_before_the_engines(case):
        return Cleared(
            f"the gateway's figures are of all replicas, and {case.elsewhere} explains them"
        )
    if outside and not case.present("engine-busy", "engine-idle"):
        return Open(
            "the edge is slow or failing, and whether the engine works was not seen",
            case.missing("engine-busy", "engine-idle"),
        )
    if outside:
        sure = 0.9 if "latency-outside-engine" in outside else 0.6
        return Claim(
            confidence=case.confidence(*outside) * sure,
            severity="warning",
            summary=f"The engine is not what is slow: {case.because(outside[0])}.",
            rests_on=outside,
        )
    if case.absent("latency-outside-engine"):
        return Cleared(case.because("latency-outside-engine"))
    return Open("no access log of a gateway was given", case.missing("latency-outside-engine"))


def _waits_before_the_engines(case: Case) -> bool:
    """True if most of the latency is no engine's: that no sick replica explains."""
    share = case.window.fresh("gateway_upstream_share_ratio")
    return (
        bool(case.present("latency-outside-engine"))
        and share is not None
        and share.last < UPSTREAM_SHARE_RATIO
    )


CAUSE = Cause("network-or-gateway", "Latency or errors made outside the engine", 40, judge)
