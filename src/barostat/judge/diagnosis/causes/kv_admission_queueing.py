"""The KV pool is full and requests queue for it, but what runs is left to run.

Meaning: admission waits for blocks. Requests hold the pool until they finish; the next one is
admitted when a whole known sequence fits. Preemption is rare, so work is not repeated: the engine
is at its capacity, not thrashing.

Impact: time to first token grows with the queue; inter-token latency stays. Without queue limits
the queue has no end.

Evidence: requests wait for capacity, fewer run than the limit allows, usage is at its ceiling (or a
long prompt at the head of the queue does not fit yet), preemptions rare or none.

Not evidence: usage near 1 with no request waiting; waiting while running stands at max_num_seqs
(that is slot-bound); deferred waiting.

Mitigation: bound the queue and the demand (edge caps, admission budget, queue limits since 0.29),
then more KV supply: fp8 KV cache, utilisation up by hundredths, more replicas. Fewer sequences
would help nothing: they are not being preempted.

Source: vLLM 0.32.0 KVCacheManager.allocate_slots (full-sequence admission since 0.19.0, watermark
since 0.24.0).
"""

from __future__ import annotations

from barostat.judge.diagnosis.case import Case, Cause, Claim, Cleared, Judgement, Open
from barostat.judge.diagnosis.causes._rare_preemptions import rare_preemptions


def judge(case: Case) -> Judgement:
    """Claim where capacity-waiting meets a full pool and preemption is not heavy."""
    if case.present("preemption-heavy") and not rare_preemptions(case):
        return Cleared(
            f"requests do not only queue, they are preempted: {case.because('preemption-heavy')}"
        )
    if held := case.present("kv-capacity-waiting", "kv-head-of-line-blocked"):
        # Without a count of preemptions (no log has one) the same picture could be thrash: still
        # pressure, less sure which kind.
        sure = 0.95 if case.absent("preemption-heavy") else 0.85
        return Claim(
            confidence=case.confidence(*held) * sure,
            severity="warning",
            summary=f"The KV pool is full and requests queue for it: {case.because(held[0])}.",
            rests_on=(*held, *case.present("kv-usage-pinned", "tail-latency-up")),
        )
    if case.absent("kv-capacity-waiting"):
        return Cleared(case.because("kv-capacity-waiting"))
    return Open("usage and the queue were not both measured", case.missing("kv-capacity-waiting"))


CAUSE = Cause(
    "kv-admission-queueing", "KV pool full, requests queue for it, hardly any preemption", 31, judge
)
