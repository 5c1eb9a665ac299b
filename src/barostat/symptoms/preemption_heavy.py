"""Preemptions are so frequent that they are the harm: the engine spends its time on computing again
what it had.

Meaning: at least one preemption for every ten requests that finish, or one every ten seconds where
few finish, or preemptions together with stalls in the streams. More runs at once than the pool can
carry to its end.

Impact: streams stall for seconds (the gap between tokens has a long tail), time to first token of
the victims doubles, throughput sags although the card is busy. Left alone it feeds itself: the
longer requests stay, the more of them overlap.

Evidence: preemptions per finished request, at the low end of what their number says, and per
second; requests_preempted_twice; the 99th percentile of inter-token latency far above the median.

Not evidence: a few preemptions in a long window. A full pool that queues and does not preempt
(kv-capacity-waiting alone). Queue time: it only knows the first wait, so preempted requests look
fine there.

Mitigation: at once, at the edge: cap max_tokens and concurrency. On the engine: a watermark of 0.02
to 0.05 (0.24 on) or a limit on active sequences below what runs now (0.31 on: max_num_active_seqs;
before: max_num_seqs); keep prefix caching on. Not less gpu_memory_utilization: it shrinks the pool.
Not swap space: it does nothing on V1, and is refused from 0.18 on.

Source: vLLM Scheduler (0.32) driven with 200 requests: 142 preemptions at any max_num_seqs from 64
to 256, 66 at 40, none at 32; watermark 0.05: 20.
"""

from __future__ import annotations

from barostat.core.change import RARE_PER_FINISHED
from barostat.core.symptom import Harm, Symptom
from barostat.core.units import figure
from barostat.core.verdict import Absent, Present, Unknown, Verdict
from barostat.core.window import Window
from barostat.symptoms._holding import RECENT_S, recent
from barostat.symptoms._lines import plural
from barostat.symptoms._preemption import (
    SOURCES,
    Preemptions,
    at_least_expected,
    not_printed,
    preemptions,
)
from barostat.symptoms._sent_back import sent_back

HEAVY_PER_FINISHED = 0.1
"""One preemption per ten finished requests is noticeable to users."""
HEAVY_PER_S = 0.1
"""One every ten seconds, on average."""
FEW = 3
"""So few may be a hiccup whatever they are divided by."""
STALL_RATIO = 5.0
STALL_S = 0.2
"""A stream stalls where the 99th percentile of the gap is this much above the median, and long
enough to see.
"""
HEAVY_WAITING, HEAVY_WAITING_RATIO = 1.0, 0.05
"""This many preempted requests on average, and one in twenty of those running: some request is
always stalled.
"""
SHORT_POOL_RATIO = 0.8
"""With more free space than this nothing is preempted; what looks like preemption is cancelled
requests.
"""


def _running(window: Window) -> float:
    running = window.fresh("running_requests")
    return recent(running).mean if running is not None else 0.0


def _pool_is_short(window: Window) -> bool:
    usage = window.fresh("kv_usage_ratio")
    return usage is None or recent(usage).high >= SHORT_POOL_RATIO


def _streams_stall(window: Window) -> bool:
    p99, p50 = window.fresh("itl_p99_s"), window.fresh("itl_p50_s")
    return (
        p99 is not None
        and p50 is not None
        and p99.last >= STALL_S
        and p99.last >= STALL_RATIO * p50.last
    )


def _surely(seen: Preemptions, per_finished: float) -> bool:
    """True if at least so many of those that finish are preempted, also where this window was a bad
    one.
    """
    return (
        seen.per_finished is not None
        and at_least_expected(seen.count) * seen.per_finished >= per_finished * seen.count
    )


def judge(window: Window) -> Verdict:
    """Present if preemptions are frequent enough to be harm."""
    seen = preemptions(window)
    counted, waiting = _counted(window, seen), _thrown_out(window, seen)
    return counted if isinstance(counted, Present) or waiting is None else waiting


def _thrown_out(window: Window, seen: Preemptions | None) -> Present | None:
    """Present where many that had begun wait again, which the counter tells only later; None
    elsewhere.
    """
    back = sent_back(window)
    if back is None or not _pool_is_short(window):
        return None
    many = back.everything or back.requests >= max(
        HEAVY_WAITING, HEAVY_WAITING_RATIO * _running(window)
    )
    evidence = (*back.evidence, *(seen.evidence if seen is not None else ()))
    return (
        Present(f"{back.because} (the counter lags)", evidence, back.confidence) if many else None
    )


def _counted(window: Window, seen: Preemptions | None) -> Verdict:
    """Return the verdict by the count of preemptions alone."""
    if seen is None or (seen.count <= 0 and not_printed(window)):
        return Unknown("nothing counts preemptions here", SOURCES)
    evidence = list(seen.evidence)
    twice, itl = window.fresh("requests_preempted_twice"), window.fresh("itl_p99_s")
    evidence += [found.evidence(window.at) for found in (twice, itl) if found is not None]
    if seen.count < FEW and (twice is None or twice.last < 1):
        return Absent(
            f"{plural(seen.count, 'preemption')}: too few to be the harm", tuple(evidence)
        )
    rate = window.fresh("preemptions_per_s")
    if rate is not None and rate.span_s > RECENT_S and recent(rate).high <= 0:
        return Absent(
            f"none in the last {RECENT_S / 60:.0f} minutes, {seen.count:.0f} before",
            tuple(evidence),
        )
    if (
        seen.per_finished is not None
        and _surely(seen, RARE_PER_FINISHED)
        and seen.per_finished >= HEAVY_PER_FINISHED
    ):
        because = f"{plural(seen.count, 'preemption')}, {figure(seen.per_finished, 2)} per finished request"
        return Present(because, tuple(evidence), 0.95 if seen.count >= 2 * FEW else 0.8)
    counts = seen.per_finished is None or _surely(seen, RARE_PER_FINISHED)
    if seen.per_s is not None and seen.per_s >= HEAVY_PER_S and counts:
        return Present(
            f"preemptions at {figure(seen.per_s, 2)} per second",
            tuple(evidence),
            0.85 if seen.count >= 2 * FEW else 0.75,
        )
    if _streams_stall(window):
        return Present(
            f"{plural(seen.count, 'preemption')}, and streams stall between tokens",
            tuple(evidence),
            0.75,
        )
    if seen.at_least:
        return Present(
            f"at least {plural(seen.count, 'preemption')} in this log", tuple(evidence), 0.8
        )
    if twice is not None and twice.last >= 1:
        return Present(
            f"{plural(twice.last, 'request')} preempted at least twice", tuple(evidence), 0.75
        )
    return Absent(f"{plural(seen.count, 'preemption')}: too rare to be the harm", tuple(evidence))


SYMPTOM = Symptom(
    name="preemption-heavy",
    title="preemptions are frequent enough to hurt",
    judge=judge,
    needs_any=SOURCES,
    harm=Harm.UNHEALTHY | Harm.OF_THE_ENGINE,
)
