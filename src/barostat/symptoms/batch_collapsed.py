"""The effective batch has shrunk to almost nothing while requests wait.

Meaning: only one or two requests make tokens per step, or less than a third of what made them
earlier in the window, and others wait. Batching is what makes the card efficient; without it each
request pays for a whole pass over the weights.

Impact: throughput falls in proportion; the card's compute is mostly unused although its memory is
full.

Evidence: running_requests and the effective batch over the window, with a queue at the same time.

Not evidence: a batch of one with no request waiting (little traffic). A batch that max_num_seqs
keeps at one or two. The end of an offline job.

Mitigation: find what holds the queue: the pool (kv-capacity-waiting, kv-head-of-line-blocked),
hybrid models whose smallest request takes a large share of the pool, or the host. Cap long requests
at the edge first.

Source: `vllm:num_requests_running`; effective batch = generated tokens per engine step
(`vllm:iteration_tokens_total`), vLLM 0.8 to 0.33.
"""

from __future__ import annotations

from barostat.core.symptom import Symptom
from barostat.core.verdict import Absent, Evidence, Present, Unknown, Verdict
from barostat.core.window import Window
from barostat.symptoms._halves import change
from barostat.symptoms._holding import holding, together
from barostat.symptoms._queue import QUEUE, length, queue, running_limit

TINY_BATCH = 2
"""With at most two sequences per step there is no batching."""
COLLAPSE_RATIO = 1 / 3
"""Less than a third of the earlier batch is a collapse rather than a lull."""
WORTH_COLLAPSING = 6
"""An earlier batch smaller than this cannot collapse: two out of five is noise."""


def judge(window: Window) -> Verdict:
    """Present if the batch is tiny, or a fraction of what it was, while requests wait."""
    running, waiting, limit = window["running_requests"], queue(window), running_limit(window)
    if waiting is None:
        return Unknown("the queue was not measured", QUEUE)
    batch, p95 = window.fresh("batch_size_mean"), window.fresh("batch_size_p95")
    evidence: tuple[Evidence, ...] = (running.evidence(window.at), waiting.evidence(window.at))
    evidence += tuple(found.evidence(window.at) for found in (batch, p95) if found is not None)
    if limit is not None and limit <= TINY_BATCH:
        return Absent(f"the limit allows no more than {limit:.0f} at once", evidence)
    moments = together(running, waiting)
    tiny = holding(moments, lambda runs, waits: runs <= TINY_BATCH and waits > 0 and runs > 0)
    if tiny.holds:
        return Present(
            f"only {running.last:.0f} run while {length(waiting):.0f} wait, {tiny.how}",
            evidence,
            tiny.confidence,
        )
    moved = change(running)
    if (
        moved is not None
        and moved.earlier >= WORTH_COLLAPSING
        and moved.ratio <= COLLAPSE_RATIO
        and waiting.last > 0
    ):
        because = (
            f"running requests fell from {moved.earlier:.0f} to {moved.later:.0f} while "
            f"{length(waiting):.0f} wait"
        )
        return Present(because, evidence, moved.confidence)
    if not holding(moments, lambda _runs, waits: waits > 0).holds:
        return Absent(
            f"{running.last:.0f} run and no request waits long: the batch is as large as the "
            f"traffic",
            evidence,
        )
    return Absent(
        f"{running.last:.0f} run while {length(waiting):.0f} wait: the batch size is stable",
        evidence,
    )


SYMPTOM = Symptom(
    name="batch-collapsed",
    title="effective batch collapsed",
    judge=judge,
    needs=("running_requests",),
    needs_any=QUEUE,
)
