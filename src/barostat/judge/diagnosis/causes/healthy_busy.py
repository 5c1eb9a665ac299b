"""The engine works without harm, however full its cache is.

Meaning: requests run and finish, none waits for capacity, preemptions are none or rare. High KV
usage is what the cache is for.

Impact: none.

Evidence: running requests and flowing tokens with an empty queue over the window.

Not evidence: GPU memory or KV usage by themselves, in either direction. A server that answers
/health with an error, however its figures look.

Mitigation: nothing to do. If a forecast stands beside it, there is time to cap demand before harm.

Source: vLLM 0.32.0 BlockPool.get_usage; inference-sim issue 963.
"""

from __future__ import annotations

from barostat.core.symptom import Harm
from barostat.judge.diagnosis.case import Case, Cause, Claim, Cleared, Judgement, Open
from barostat.symptoms._server_errors import own_error_ratio

FULL_RATIO, TOO_FEW_READINGS = 0.95, 3


def _queue_begins(case: Case) -> bool:
    """True if the last of very few readings shows a full pool and a waiting request: the next one
    may show harm.
    """
    usage, waiting = case.window.fresh("kv_usage_ratio"), case.window.fresh("waiting_requests")
    if usage is None or waiting is None or len(usage.points) >= TOO_FEW_READINGS:
        return False
    return usage.last >= FULL_RATIO and waiting.last > 0


def _of_another(case: Case) -> bool:
    """True if what clients get is seen at the gateway alone, and another replica behind it explains
    that.
    """
    return bool(case.elsewhere) and own_error_ratio(case.window) <= 0


def judge(case: Case) -> Judgement:
    """Claim where work flows and no harm is Present."""
    if case.present("engine-busy"):
        if harm := [
            name
            for name in case.harmed(Harm.UNHEALTHY)
            if not (name == "timeouts-and-5xx" and _of_another(case))
        ]:
            return Cleared(case.because(harm[0]))
        if case.window.fresh("waiting_requests") is None:
            return Open("requests run, but the queue was not measured", ("waiting_requests",))
        if (
            case.window.fresh("generation_tokens_per_s") is None
            and case.window.fresh("prompt_tokens_per_s") is None
        ):
            return Open(
                "requests run, but whether tokens flow was not measured",
                ("generation_tokens_per_s",),
            )
        if _queue_begins(case):
            return Open(
                "the pool is full and somebody waits in the last reading: too few readings "
                "to call it healthy",
                ("waiting_requests",),
            )
        return Claim(
            confidence=case.confidence("engine-busy") * 0.9,
            severity="none",
            summary=f"Busy and healthy: {case.because('engine-busy')}.",
            rests_on=("engine-busy",),
        )
    if case.absent("engine-busy"):
        return Cleared(case.because("engine-busy"))
    return Open("running requests and tokens were not measured", case.missing("engine-busy"))


CAUSE = Cause("healthy-busy", "Works, nobody harmed", 90, judge)
