"""Requests run and tokens come, but each stream gets hardly any.

Meaning: decoding is far slower than any deployment wants it: below two tokens a second for each
running request, with no prefill going on that would explain it.

Impact: streams crawl. Nothing else need look wrong: no queue, no full pool.

Evidence: generated tokens per second over running requests, prompt throughput near zero, for most
of the window.

Not evidence: a long prompt beside them, which is counted when it is over: a request runs then that
gets no token from any step. Of KV pressure. Of what makes it slow: a throttled or shared card,
weights offloaded to the host, eager mode, a CPU that cannot keep up.

Mitigation: look at the card (clocks, other processes), at weight offloading (--cpu-offload-gb) and
--enforce-eager; then at the host.

Source: vLLM issue 8847 (0.8 tokens a second on an idle engine).
"""

from __future__ import annotations

from barostat.core.symptom import Harm, Symptom
from barostat.core.verdict import Absent, Present, Verdict
from barostat.core.window import Window

SLOW_TOKENS_PER_S = 2.0
"""Per running request: slower than a person reads, by a factor of several."""
PREFILL_TOKENS_PER_S = 50.0
"""Prompt throughput from which a slow decode may simply be waiting for prefill."""


def judge(window: Window) -> Verdict:
    """Present if running requests get less than two tokens a second each, without prefill to
    explain it.
    """
    running, generated = window["running_requests"], window["generation_tokens_per_s"]
    evidence = (
        generated.evidence(window.at, generated.mean),
        running.evidence(window.at, running.mean),
    )
    if running.mean < 0.5 or generated.mean <= 0:
        return Absent("nothing is being decoded", evidence)
    each = generated.mean / running.mean
    if each >= SLOW_TOKENS_PER_S:
        return Absent(f"each running request gets {each:.0f} tokens/s", evidence)
    prompts = window.fresh("prompt_tokens_per_s")
    if prompts is not None and prompts.mean >= PREFILL_TOKENS_PER_S:
        return Absent(
            f"decoding is slow beside {prompts.mean:.0f} prompt tokens/s of prefill", evidence
        )
    if prompt_not_counted(window):
        return Absent(
            "decoding is slow beside a prompt that is not counted before it is over", evidence
        )
    confidence = 0.6 if len(generated.points) == 1 else 0.85
    return Present(
        f"each running request gets {each:.1f} tokens/s, and no prefill explains it",
        evidence,
        confidence,
    )


def prompt_not_counted(window: Window) -> bool:
    """True if a request runs that gets no token from any step while no prompt is counted: its
    own is, when it is over.

    A step of a pipeline has what runs of one of its stages.
    """
    running, batch, prompts = (
        window.fresh(name)
        for name in ("running_requests", "batch_size_mean", "prompt_tokens_per_s")
    )
    if running is None or batch is None or (prompts is not None and prompts.high > 0):
        return False
    return running.mean - batch.mean * (window.config.number("pipeline_parallel_size") or 1.0) >= 1


SYMPTOM = Symptom(
    "slow-decode",
    "decoding crawls",
    judge,
    needs=("running_requests", "generation_tokens_per_s"),
    harm=Harm.PLAIN | Harm.UNHEALTHY,
)
