"""The token budget of a step is the limit: prompts wait to be computed.

Meaning: a step computes at most max_num_batched_tokens. Decoding requests take theirs first; what
is left goes to prefill, in order. When prompts arrive faster than that, they wait although slots
and KV are free.

Impact: time to first token grows, inter-token latency stretches (each step is as long as a full
budget takes).

Evidence: steps carry close to the budget, requests wait, KV usage and slots have room; or, from the
log alone, a growing queue with low usage and flat, high prompt throughput.

Not evidence: a high KV usage with the same picture (the pool decides then); a few long prompts with
an empty queue. Steps that take several times what the card should need for them: that is then why
prompts wait.

Mitigation: more compute for prefill: a larger budget where the card has room, more replicas,
prefix-aware routing, shorter prompts at the edge; prefill and decode apart as a planned change. KV
percentages say nothing here, and autoscaling on them would not react.

Source: vLLM 0.32.0 Scheduler.schedule (token_budget); llm-d-autoscaling issue 662 for the field's
picture of it.
"""

from __future__ import annotations

from barostat.judge.diagnosis.case import Case, Cause, Claim, Cleared, Judgement, Open


def judge(case: Case) -> Judgement:
    """Claim where the step budget is full, requests wait, and neither pool nor slots explain it."""
    if case.present("prefill-budget-saturated"):
        if stronger := case.present("preemption-heavy", "kv-capacity-waiting", "slots-full"):
            return Cleared(
                "steps are full, but something else limits admission first: "
                f"{case.because(stronger[0])}"
            )
        if case.present("slower-than-card"):
            return Cleared(
                "prompts wait, and a larger budget would not help: "
                f"{case.because('slower-than-card')}"
            )
        return Claim(
            confidence=case.confidence("prefill-budget-saturated") * 0.92,
            severity="warning",
            summary=(
                "Prompts wait for the step's token budget: "
                f"{case.because('prefill-budget-saturated')}."
            ),
            rests_on=(
                "prefill-budget-saturated",
                *case.present("tail-latency-up", "compute-saturated"),
            ),
        )
    if case.absent("prefill-budget-saturated"):
        return Cleared(case.because("prefill-budget-saturated"))
    return Open(
        "tokens per step against the budget were not measured",
        case.missing("prefill-budget-saturated"),
    )


CAUSE = Cause("prefill-bound", "Prompts wait for the token budget of a step", 33, judge)
