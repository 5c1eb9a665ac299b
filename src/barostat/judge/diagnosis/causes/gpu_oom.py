"""The GPU ran out of memory outside the KV pool: while loading, capturing graphs, or serving.

Meaning: weights, activations, graphs, communication buffers or another process asked for memory
that the card no longer had. The pool itself is allocated once and never grows, so KV pressure does
not end here.

Impact: the engine dies, or never starts; with a restart policy it loops.

Evidence: `out of memory` from CUDA or HIP in the log, and what the engine was doing at that moment;
at start, less free memory on the card than the utilisation setting asks for.

Not evidence: memory at 90 % (the pool is pre-allocated); OOMKilled or exit 137 (that is the host's
memory).

Mitigation: at start: free the card of other processes, less utilisation by hundredths, fewer graphs
or sequences, a smaller model or more cards. In the sampler's warm-up: fewer sequences
(max_num_seqs sizes it), not fewer graphs. While serving: a little less utilisation, fewer batched
tokens, bounded images. Here, and only here, less utilisation is right.

Source: PyTorch's message; vLLM 0.32.0 GPUWorker.init_device, GPUModelRunner.capture_model and
_dummy_sampler_run.
"""

from __future__ import annotations

from barostat.judge.diagnosis.case import Case, Cause, Claim, Cleared, Judgement, Open

KINDS = (
    ("gpu-oom-graph-capture", "graph-capture"),
    ("gpu-oom-startup", "startup"),
    ("gpu-oom-serving", "serving"),
    ("gpu-oom-anytime", ""),
)

SAMPLER = "warming up sampler"
"""vLLM's own words where memory ran out behind graph capture, as the sampler ran over max_num_seqs
rows.
"""


def judge(case: Case) -> Judgement:
    """Claim where the log says so."""
    for name, variant in KINDS:
        if case.present(name):
            if variant == "graph-capture" and SAMPLER in case.because(name):
                variant = "sampler"
            return Claim(
                confidence=case.confidence(name) * 0.97,
                severity="critical",
                summary=f"GPU out of memory: {case.because(name)}.",
                rests_on=(
                    name,
                    *case.present(
                        "foreign-gpu-memory", "engine-died", "restarts", "allocation-failures"
                    ),
                ),
                variant=variant,
            )
    if case.absent("gpu-oom-serving"):
        return Cleared("no GPU out-of-memory line in the log")
    return Open("no log was given", case.missing("gpu-oom-serving"))


CAUSE = Cause("gpu-oom", "GPU out of memory outside the KV pool", 4, judge)
