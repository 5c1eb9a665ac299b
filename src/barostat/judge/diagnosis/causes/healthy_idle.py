"""The engine has nothing to do.

Meaning: nothing runs, waits or arrives over the window. GPU memory is near its setting all the
same: the pool is allocated at start.

Impact: none.

Evidence: running and waiting at zero over the window.

Not evidence: low GPU utilisation (a starved or hung engine shows the same). A server that answers
/health with an error.

Mitigation: nothing to do. If clients say otherwise, the requests do not reach this engine: look at
the gateway, or probe it.

Source: vLLM 0.32.0 PrometheusStatLogger.
"""

from __future__ import annotations

from barostat.judge.diagnosis.case import Case, Cause, Claim, Cleared, Judgement, Open


def judge(case: Case) -> Judgement:
    """Claim where the whole window shows no work."""
    if case.present("health-failing") and case.present("engine-idle"):
        return Cleared(case.because("health-failing"))
    if case.present("engine-idle"):
        return Claim(
            confidence=case.confidence("engine-idle") * 0.9,
            severity="none",
            summary=f"Idle: {case.because('engine-idle', *case.present('engine-asleep'))}.",
            rests_on=("engine-idle", *case.present("engine-asleep")),
        )
    if case.absent("engine-idle"):
        return Cleared(case.because("engine-idle"))
    return Open("running and waiting requests were not measured", case.missing("engine-idle"))


CAUSE = Cause("healthy-idle", "Nothing to do", 91, judge)
