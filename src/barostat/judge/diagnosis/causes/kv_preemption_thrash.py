"""Requests need more KV blocks than the pool has, and the scheduler keeps taking them away again.

Meaning: running requests grow by one token a step. When no block is free, the scheduler preempts
the request that came last: all its blocks are freed and its tokens are computed again later. Under
steady pressure the same work is done over and over.

Impact: long pauses within a stream (p99 inter-token latency), recomputed prefill instead of new
tokens, goodput falls while every utilisation figure looks busy. Nothing crashes: KV exhaustion
alone never kills a V1 engine.

Evidence: preemptions at a rate that matters, with the pool at its ceiling. Requests wait for
capacity although slots are free.

Not evidence: GPU memory near 90 % (the pool is allocated at start), usage near 1 with no request
waiting, one preemption an hour, or one for a hundred requests that finish: a tail of latency beside
so few has another reason. The engine's counter lags: a victim is counted when it emits again, not
when it is thrown out.

Mitigation: shrink demand first, live and at the edge (input and output caps, an admission budget),
then fewer active sequences below the number that is *achieved*, or a watermark; then grow supply.
Never less memory utilisation: it shrinks the pool.

Source: vLLM 0.32.0 Scheduler.schedule, Scheduler._preempt_request; facts on preemption counters
from PrometheusStatLogger.
"""

from __future__ import annotations

from barostat.judge.diagnosis.case import Case, Cause, Claim, Cleared, Judgement, Open
from barostat.judge.diagnosis.causes._rare_preemptions import rare_preemptions

PRESSURE = ("kv-usage-pinned", "kv-capacity-waiting")
HARM = ("tail-latency-up", "recompute-churn", "throughput-falling", "batch-collapsed")
"""Harm that preemption causes. If all of it was measured and absent, the severity is a warning."""


def judge(case: Case) -> Judgement:
    """Claim where preemption is heavy, and the pool was seen full or the latency tail shows it."""
    if case.present("swap-space-exhausted"):
        return Claim(
            confidence=case.confidence("swap-space-exhausted") * 0.95,
            severity="critical",
            summary=(
                "The KV pool is too small for what is running, and so is what it swaps to: "
                f"{case.because('swap-space-exhausted')}."
            ),
            rests_on=("swap-space-exhausted", *case.present("preemptions", *PRESSURE)),
            kills=True,
        )
    if rare := rare_preemptions(case):
        return Cleared(rare)
    if case.present("preemption-heavy"):
        full = case.present(*PRESSURE)
        confirmed = case.present(*HARM)
        confidence = case.confidence("preemption-heavy") * (0.95 if full else 0.75)
        return Claim(
            confidence=min(0.99, confidence + 0.02 * len(confirmed)),
            severity="warning" if case.absent(*HARM) else "critical",
            summary=(
                f"The KV pool is too small for what is running: {case.because('preemption-heavy')}."
            ),
            rests_on=("preemption-heavy", *full, *confirmed),
        )
    if case.absent("preemptions"):
        return Cleared(case.because("preemptions"))
    if case.present("preemptions"):
        return Cleared(f"preemptions are too few to matter: {case.because('preemptions')}")
    if case.absent("kv-usage-pinned"):
        return Cleared(case.because("kv-usage-pinned"))
    return Open(
        "preemptions were not measured; two scrapes of /metrics would count them",
        case.missing("preemptions", "kv-usage-pinned"),
    )


CAUSE = Cause(
    "kv-preemption-thrash",
    "KV pool too small for the running set: preempting and recomputing",
    30,
    judge,
)
