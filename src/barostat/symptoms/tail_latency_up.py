"""The slowest one per cent waits far longer than the rest, or than it did earlier.

Meaning: no service level is known here, so the tail is judged against the median and against the
earlier part of the window. Gap between tokens: 99th percentile five times the median and half a
second, or ten times the median and 0.2 s. First token: 99th percentile above 5 s and ten times the
median, or most of it spent in the queue. Either mean at least doubled within the window.

Impact: users see streams that pause (gap), or a long wait before the first word (first token).

Evidence: ttft_p99_s against ttft_p50_s and queue_p99_s; itl_p99_s against itl_p50_s; the growth of
their means.

Not evidence: a high but even latency (long prompts on a slow card). End-to-end latency, which grows
with the length of answers. A quantile above the histogram's last bucket is only a lower bound.

Mitigation: the tail is a consequence: look for what else is present. Stalls between tokens with
preemptions: preemption-heavy. Stalls without: long prefills in the same steps (a smaller
max_num_batched_tokens) or the host.
First token with a queue: whatever holds the queue.

Source: `vllm:time_to_first_token_seconds`, `vllm:inter_token_latency_seconds` (holds preemption
stalls; before 0.10.2 `time_per_output_token_seconds`), `vllm:request_queue_time_seconds` (the first
wait only).
"""

from __future__ import annotations

from barostat.core.signal import Signal
from barostat.core.symptom import Harm, Symptom
from barostat.core.units import figure
from barostat.core.verdict import Absent, Evidence, Present, Unknown, Verdict
from barostat.core.window import Window
from barostat.symptoms._halves import change

NEEDS_ANY = ("ttft_p99_s", "itl_p99_s", "tpot_p99_s", "ttft_mean_s", "itl_mean_s")
STALL_RATIO, STALL_S = 5.0, 0.5
"""A stall of half a second that the median does not have: every reader notices."""
GAP_RATIO, GAP_S = 10.0, 0.2
"""A shorter one counts only far above the median: a step that takes a prompt along is a few times
as long as one that does not.
"""
FIRST_TOKEN_RATIO = 10.0
FIRST_TOKEN_S = 5.0
"""A wait for the first token that is abnormal unless all requests have it."""
QUEUED_SHARE = 0.5
"""A slow first token whose larger half is queueing is a tail whatever the median says: then
everybody queues.
"""
GROWTH_RATIO = 2.0
GROWN_TTFT_S = 1.0
GROWN_ITL_S = 0.1
"""A mean that doubled, and not from next to nothing."""


def _first_token(window: Window) -> str:
    p99, p50, queued = (
        window.fresh("ttft_p99_s"),
        window.fresh("ttft_p50_s"),
        window.fresh("queue_p99_s"),
    )
    if p99 is None or p99.last < FIRST_TOKEN_S:
        return ""
    if p50 is not None and p99.last >= FIRST_TOKEN_RATIO * p50.last:
        return f"first token: 99th percentile {p99.last:.1f} s, median {figure(p50.last, 2)} s"
    if queued is not None and queued.last >= QUEUED_SHARE * p99.last:
        return (
            f"first token: 99th percentile {p99.last:.1f} s, of which up to {queued.last:.1f} "
            "s in the queue"
        )
    return ""


def _gap(window: Window) -> str:
    for tail, middle in (("itl_p99_s", "itl_p50_s"), ("tpot_p99_s", "tpot_p50_s")):
        p99, p50 = window.fresh(tail), window.fresh(middle)
        if p99 is None or p50 is None:
            continue
        if any(
            p99.last >= floor_s and p99.last >= ratio * p50.last
            for ratio, floor_s in ((STALL_RATIO, STALL_S), (GAP_RATIO, GAP_S))
        ):
            return (
                f"gap between tokens: 99th percentile {figure(p99.last, 2)} s, median "
                f"{figure(p50.last, 2)} s"
            )
    return ""


def _grown(signal: Signal | None, floor_s: float, what: str) -> str:
    moved = change(signal) if signal is not None else None
    if moved is None or moved.later < floor_s or moved.ratio < GROWTH_RATIO:
        return ""
    return (
        f"{what}: mean up from {figure(moved.earlier, 2)} s to {figure(moved.later, 2)} s "
        f"within {moved.span_s:.0f} s"
    )


def judge(window: Window) -> Verdict:
    """Present if the tail is far above the median, or latency has grown within the window."""
    evidence: tuple[Evidence, ...] = tuple(
        found.evidence(window.at)
        for name in (*NEEDS_ANY, "ttft_p50_s", "itl_p50_s", "queue_p99_s")
        if (found := window.fresh(name)) is not None
    )
    tails = [said for said in (_gap(window), _first_token(window)) if said]
    grown = [
        said
        for said in (
            _grown(window.fresh("ttft_mean_s"), GROWN_TTFT_S, "first token"),
            _grown(window.fresh("itl_mean_s"), GROWN_ITL_S, "gap between tokens"),
        )
        if said
    ]
    if tails:
        return Present(tails[0], evidence, 0.9 if len(tails) + len(grown) > 1 else 0.8)
    if grown:
        return Present(grown[0], evidence, 0.75)
    p99 = window.fresh("ttft_p99_s")
    if (
        p99 is not None
        and p99.last >= FIRST_TOKEN_S
        and window.fresh("ttft_p50_s") is None
        and window.fresh("queue_p99_s") is None
    ):
        return Unknown(
            f"99th percentile of the first token is {p99.last:.1f} s; without its median "
            "it may be normal here",
            ("ttft_p50_s",),
        )
    return Absent("the tail is in proportion to the median", evidence)


SYMPTOM = Symptom(
    name="tail-latency-up",
    title="tail latency up",
    judge=judge,
    needs_any=NEEDS_ANY,
    harm=Harm.PLAIN,
)
