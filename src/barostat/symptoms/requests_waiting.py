"""Requests wait in the engine's queue, and not just for a moment.

Meaning: in most readings the queue is not empty. Which of the pool, the slots, the step budget or
something else holds it is the matter of other symptoms; this one only says that an engine with it
is not simply busy.

Impact: time to first token holds the wait. A queue that grows has no end before a queue limit or
the clients' patience.

Evidence: waiting_requests above 0 in most readings; in a single reading at least three, and a tenth
of what runs.

Not evidence: one or two waiting in one reading: they arrived within the step. Deferred requests (an
adapter, a grammar, a transfer), if the engine counts them separately.

Mitigation: find what holds it: kv-capacity-waiting, kv-head-of-line-blocked, slots-full,
prefill-budget-saturated, deferred-waiting, queue-without-work. Meanwhile shed at the edge with a
deadline: a request whose client has given up is wasted work.

Source: `vllm:num_requests_waiting` (preempted ones included), `vllm:num_requests_waiting_by_reason`
(0.20 on).
"""

from __future__ import annotations

from barostat.core.symptom import Harm, Symptom
from barostat.core.verdict import Absent, Present, Unknown, Verdict
from barostat.core.window import Window
from barostat.symptoms._halves import change
from barostat.symptoms._holding import ENOUGH_READINGS, holding, together
from barostat.symptoms._queue import QUEUE, length, queue

FEW = 3
FEW_RATIO = 0.1
"""In one or two readings, fewer than this may be what arrived within the last step."""


def judge(window: Window) -> Verdict:
    """Present if the queue is not empty in most readings."""
    waiting, running = queue(window), window.fresh("running_requests")
    if waiting is None:
        return Unknown("the queue was not measured", QUEUE)
    evidence = tuple(
        signal.evidence(window.at) for signal in (waiting, running) if signal is not None
    )
    held = holding(together(waiting), lambda waits: waits > 0)
    if not held.holds:
        return Absent(f"no request waits long ({waiting.last:.0f} now)", evidence)
    enough = max(FEW, FEW_RATIO * running.last if running is not None else 0.0)
    if held.readings < ENOUGH_READINGS and waiting.last < enough:
        return Absent(f"{waiting.last:.0f} wait, too few to tell from one reading", evidence)
    moved = change(waiting)
    grows = moved is not None and moved.ratio > 1.2 and moved.later - moved.earlier >= 1
    return Present(
        f"{length(waiting):.0f} wait{' (growing)' if grows else ''}, {held.how}",
        evidence,
        held.confidence,
    )


SYMPTOM = Symptom(
    name="requests-waiting",
    title="requests wait in the queue",
    judge=judge,
    needs_any=QUEUE,
    harm=Harm.PLAIN | Harm.UNHEALTHY,
)
