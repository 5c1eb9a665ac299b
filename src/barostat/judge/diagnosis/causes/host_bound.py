"""The host's CPU is the limit: the API server, the tokenizer or the scheduler cannot feed the card.

Meaning: one Python process tokenizes, validates, detokenizes and streams for all requests. When it
is at one full core (or the container is throttled by its CPU limit), the engine core waits for
work.

Impact: GPU utilisation low, latency high, the engine's own queue short: requests wait where no
engine metric sees them.

Evidence: the API server's process at a full core while the engine core idles or steps with few
tokens; a throttled cgroup; CPU use at the container's limit; a core at a full CPU beside a card
with slack, whose steps take several times what they should.

Not evidence: low GPU utilisation alone (idle looks the same); a throttled or busy container while
no request waits and no stream stalls: a remark; high CPU of the engine core on a CPU-only engine
(that is its compute).

Mitigation: more CPU, or a higher limit; more API server processes; shorter text at the edge; for
torch threads OMP_NUM_THREADS equal to the container's cores.

Source: vLLM issues 11320, 9113, 432; vLLM 0.32.0 `--api-server-count`.
"""

from __future__ import annotations

from barostat.judge.diagnosis.case import Case, Cause, Claim, Cleared, Judgement, Open
from barostat.symptoms.slower_than_card import host_is_short

# Which kind of host trouble each symptom means, strongest first.
KINDS = (
    ("tokenizer-bound", "tokenizer"),
    ("api-server-saturated", "api-server"),
    ("cpu-throttled", "cpu"),
    ("host-cpu-saturated", "cpu"),
)
SLOW = (
    "requests-waiting",
    "slow-decode",
    "slower-than-card",
    "throughput-falling",
    "batch-collapsed",
)


def judge(case: Case) -> Judgement:
    """Claim where a host process or limit is saturated and the engine itself is not what is
    full.
    """
    names = tuple(name for name, _ in KINDS)
    for name, variant in KINDS:
        if case.present(name):
            if stronger := case.present("preemption-heavy", "kv-capacity-waiting"):
                return Cleared(
                    f"the host is busy, but the KV pool limits: {case.because(stronger[0])}"
                )
            backing = case.present(
                "queue-without-work",
                "latency-outside-engine",
                "tail-latency-up",
                "timeouts-and-5xx",
            )
            remark = (
                variant == "cpu"
                and case.absent("tail-latency-up")
                and not (backing or case.present(*SLOW))
            )
            sure = 0.9 if backing or variant in ("tokenizer", "api-server") else 0.7
            return Claim(
                confidence=case.confidence(name) * sure,
                severity="warning",
                summary=(
                    f"{'The host is busy and nobody is harmed' if remark else 'The host limits the engine'}: "
                    f"{case.because(name)}."
                ),
                rests_on=(
                    name,
                    *(other for other in case.present(*names) if other != name),
                    *backing,
                ),
                variant=variant,
                only_contributes=remark,
            )
    pool = case.present("preemption-heavy", "kv-capacity-waiting")
    if case.present("slower-than-card") and not pool and (short := host_is_short(case.window)):
        return Claim(
            confidence=case.confidence("slower-than-card") * 0.9,
            severity="warning",
            summary=(
                f"The host limits the engine: {short}; "
                f"{case.because('slower-than-card').partition(';')[0]}."
            ),
            rests_on=("slower-than-card",),
            variant="cpu",
        )
    if clear := next((name for name in names if case.absent(name)), ""):
        return Cleared(case.because(clear))
    return Open("CPU use per process was not measured", case.missing(*names))


CAUSE = Cause("host-bound", "CPU, tokenizer or API server saturated", 34, judge)
