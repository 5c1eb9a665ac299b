"""The GPU's compute is the limit: batching works, steps take as long as they take.

Meaning: the card is busy with useful work; neither KV, slots nor the step budget holds requests
back.

Impact: latency grows with load in an orderly way; throughput stays at its plateau.

Evidence: GPU utilisation (or power at its cap) consistently high, the batch stays large, KV usage
has room.

Not evidence: utilisation that is high because prefill is being recomputed (look at preemptions), or
at 100 % with no tokens coming out (a collective that spins is a hang). Steps that take several
times what the card should need: it waits, or its clocks are cut.

Mitigation: scale out; a faster or quantised model; fewer amplified requests (n, best-of, logprobs).
KV levers do nothing.

Source: the diagnostics page of the playbook; vLLM 0.32.0 has no metric for it, so it is read from
the vendor's tools.
"""

from __future__ import annotations

from barostat.judge.diagnosis.case import Case, Cause, Claim, Cleared, Judgement, Open

KV = ("preemption-heavy", "kv-capacity-waiting")


def judge(case: Case) -> Judgement:
    """Claim where the card is saturated with work and nothing else limits."""
    if case.present("compute-saturated"):
        if stronger := case.present(*KV):
            return Cleared(f"the card is busy, but the KV pool limits: {case.because(stronger[0])}")
        if case.present("slower-than-card"):
            return Cleared(
                f"the card looks busy, and not with this load: {case.because('slower-than-card')}"
            )
        if not case.present("tail-latency-up", "throughput-falling", "timeouts-and-5xx"):
            return Cleared(
                f"the card is well used and nobody is harmed: {case.because('compute-saturated')}"
            )
        harm = case.present("tail-latency-up", "throughput-falling", "timeouts-and-5xx")
        return Claim(
            confidence=case.confidence("compute-saturated") * 0.85,
            severity="warning",
            summary=f"The GPU's compute is the limit: {case.because('compute-saturated')}.",
            rests_on=("compute-saturated", *harm),
        )
    if case.absent("compute-saturated"):
        return Cleared(case.because("compute-saturated"))
    return Open("GPU utilisation was not measured", case.missing("compute-saturated"))


CAUSE = Cause("compute-bound", "GPU compute saturated", 35, judge)
