"""A good part of the engine's work is prefill that it had done before.

Meaning: preempted requests have to compute their prompt and what they had generated again.
Estimated: each preemption costs at most a mean prompt and half a mean output; against the tokens of
the window that is the share of work done twice. A falling prefix-cache hit rate at the same time
says that what could have been reused was evicted as well.

Impact: the card is busy and goodput falls. Published measurements put the tax at 10 to 23 % online,
and far more for long prompts.

Evidence: preemptions times mean lengths, against prompt and generated tokens of the window; the hit
rate's fall.

Not evidence: prompt tokens as vLLM counts them: a prompt is counted once, and its recomputation
never, so that counter cannot show churn. A low hit rate by itself: unrelated prompts have nothing
to share.

Mitigation: stop the preemptions (preemption-heavy). Keep prefix caching on: it is what makes a
resumption cheap. A KV offload tier (kv_offloading_size, 0.11.1 on) makes it cheaper still, and
needs host memory.

Source: vLLM 0.8 to 0.33, Scheduler._preempt_request, IterationStats; driven Scheduler 0.32: 52 k
tokens recomputed with prefix caching, 79 k without.
"""

from __future__ import annotations

from barostat.core.signal import Signal
from barostat.core.symptom import Symptom
from barostat.core.verdict import Absent, Present, Unknown, Verdict
from barostat.core.window import Window
from barostat.symptoms._halves import change
from barostat.symptoms._preemption import SOURCES, preemptions

HARM_RATIO = 0.1
"""Upper bound of repeated work that is worth an alert: the low end of published figures for live
traffic.
"""
HITS_LOST_RATIO = 0.7
"""A hit rate below this share of its former value supports the estimate."""


def _first(window: Window, *names: str) -> Signal | None:
    return next((found for name in names if (found := window.fresh(name)) is not None), None)


def judge(window: Window) -> Verdict:
    """Present if the preemptions of the window cost a tenth of its work or more."""
    seen = preemptions(window)
    if seen is None:
        return Unknown("nothing counts preemptions here", SOURCES)
    if seen.count <= 0:
        return Absent("no preemptions, so nothing is recomputed", seen.evidence)
    prompt, output = (
        _first(window, "prompt_tokens_mean", "prompt_tokens_p50"),
        _first(window, "output_tokens_mean", "output_tokens_p50"),
    )
    prompt_rate, generated_rate = (
        window.fresh("prompt_tokens_per_s"),
        window.fresh("generation_tokens_per_s"),
    )
    if prompt is None or output is None or prompt_rate is None or generated_rate is None:
        absent = (
            "prompt_tokens_mean",
            "output_tokens_mean",
            "prompt_tokens_per_s",
            "generation_tokens_per_s",
        )
        return Unknown(
            "requests are preempted, but their lengths or the throughput were not measured", absent
        )
    span_s = max(prompt_rate.span_s, generated_rate.span_s)
    per_s = seen.per_s if seen.per_s is not None else (seen.count / span_s if span_s > 0 else None)
    useful = prompt_rate.mean + generated_rate.mean
    if per_s is None or useful <= 0:
        return Unknown(
            "one reading: work per second cannot be set against preemptions per second",
            ("preemptions_per_s",),
        )
    again = per_s * (prompt.mean + output.mean / 2.0)
    share = again / (again + useful)
    evidence = (
        *seen.evidence,
        prompt.evidence(window.at, prompt.mean),
        output.evidence(window.at, output.mean),
    )
    hits = _first(window, "prefix_hit_step_ratio", "prefix_hit_ratio")
    moved = change(hits) if hits is not None else None
    lost = moved is not None and moved.ratio <= HITS_LOST_RATIO
    if hits is not None:
        evidence += (hits.evidence(window.at),)
    if share < HARM_RATIO:
        return Absent(f"at most {share:.0%} of the work is done twice", evidence)
    because = f"up to {share:.0%} of the work is recomputation after preemptions"
    return Present(
        because + (", and prefix hits are falling" if lost else ""), evidence, 0.8 if lost else 0.65
    )


SYMPTOM = Symptom(
    name="recompute-churn",
    title="work is done twice after preemptions",
    judge=judge,
    needs_any=SOURCES,
)
