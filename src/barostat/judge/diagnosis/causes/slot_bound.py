"""Every scheduler slot is taken: max_num_seqs (or max_num_active_seqs) is the limit, the KV pool is
not.

Meaning: the scheduler admits no more than that many requests, however much KV is free.

Impact: requests wait while memory and perhaps compute have room: time to first token grows.

Evidence: running stands at the limit for most of the window, requests wait for capacity, KV usage
has room.

Not evidence: waiting alone; running at the limit with an empty queue; usage at its ceiling (that is
the pool, whatever the slots say). Steps that take several times what the card should need for them:
that is then why slots stay taken.

Variant adapters: all slots for LoRA adapters (max_loras) are taken, and requests of other adapters
are passed over. Raise max_loras.

Mitigation: raise max_num_seqs towards what the pool holds (usable tokens over the p90 of prompt
plus output), or add replicas. Check first that compute has room: more sequences slow every stream.

Source: vLLM 0.32.0 Scheduler.schedule (the waiting loop stops at max_num_running_reqs).
"""

from __future__ import annotations

from barostat.judge.diagnosis.case import Case, Cause, Claim, Cleared, Judgement, Open


def judge(case: Case) -> Judgement:
    """Claim where the slots are full and the pool is not."""
    if case.present("slots-full"):
        if case.present("preemption-heavy"):
            return Cleared(
                "slots are full, but the pool preempts what fills them: "
                f"{case.because('preemption-heavy')}"
            )
        if case.present("slower-than-card"):
            return Cleared(
                f"slots are full, and more slots would not help: {case.because('slower-than-card')}"
            )
        return Claim(
            confidence=case.confidence("slots-full") * 0.95,
            severity="warning",
            summary=(
                "All scheduler slots are taken while the KV pool has room: "
                f"{case.because('slots-full')}."
            ),
            rests_on=("slots-full", *case.present("tail-latency-up", "batch-collapsed")),
        )
    if case.present("adapter-slots-full"):
        return Claim(
            confidence=case.confidence("adapter-slots-full") * 0.95,
            severity="warning",
            summary=(
                "All LoRA adapter slots are taken while other adapters' requests wait: "
                f"{case.because('adapter-slots-full')}."
            ),
            rests_on=(
                "adapter-slots-full",
                *case.present("deferred-waiting", "tail-latency-up", "batch-collapsed"),
            ),
            variant="adapters",
        )
    if case.absent("slots-full"):
        return Cleared(case.because("slots-full"))
    return Open("the limit on running requests is not known", case.missing("slots-full"))


CAUSE = Cause("slot-bound", "All scheduler slots taken (max_num_seqs), KV has room", 32, judge)
