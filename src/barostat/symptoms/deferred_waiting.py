"""Requests wait for something other than capacity: an adapter, a grammar, a KV transfer.

Meaning: the scheduler passes these requests over at every step: their LoRA adapter has no place,
their grammar is still being compiled, their KV blocks have not arrived from another engine, or
their stream is paused. More KV memory or slots would not start them.

Impact: time to first token of these requests only. In a prefill/decode pair, parked requests hold
blocks on the decode side.

Evidence: deferred_waiting_requests above 0 in most readings, and its share of everything that
waits.

Not evidence: waiting_requests alone: it contains them. A grammar that compiles for a step or two.
Fewer than a tenth of those that run: transfers under way.

Mitigation: more adapters at once (max_loras), warm the grammars, look at the KV connector's
transfer times and at the prefill side.

Source: vLLM 0.20 on, `vllm:num_requests_waiting_by_reason{reason="deferred"}`, the statistics
line's `Deferred:`; Scheduler.schedule.
"""

from __future__ import annotations

from barostat.core.symptom import Harm, Symptom
from barostat.core.verdict import Absent, Evidence, Present, Verdict
from barostat.core.window import Window
from barostat.symptoms._holding import holding, recent_mean, together

FEW_RATIO = 0.1
"""So few beside those that run are passed over in the ordinary way: each of them for the time of a
transfer or a grammar.
"""


def judge(window: Window) -> Verdict:
    """Present if requests are passed over in most readings."""
    deferred, capacity = (
        window["deferred_waiting_requests"],
        window.fresh("capacity_waiting_requests"),
    )
    evidence: tuple[Evidence, ...] = (deferred.evidence(window.at),)
    if capacity is not None:
        evidence += (capacity.evidence(window.at),)
    held = holding(together(deferred), lambda count: count > 0)
    if not held.holds:
        return Absent("no request is passed over for long", evidence)
    running = window.fresh("running_requests")
    if running is not None and recent_mean(deferred) < FEW_RATIO * recent_mean(running):
        few = (
            f"{recent_mean(deferred):.0f} passed over on average, few beside "
            f"{recent_mean(running):.0f} that run"
        )
        return Absent(few, (*evidence, running.evidence(window.at)))
    because = f"{deferred.last:.0f} wait for an adapter, a grammar or a transfer, {held.how}"
    if capacity is not None:
        because += f"; {capacity.last:.0f} wait for capacity"
    return Present(because, evidence, held.confidence)


SYMPTOM = Symptom(
    name="deferred-waiting",
    title="requests are passed over (LoRA, grammar, transfer)",
    judge=judge,
    needs=("deferred_waiting_requests",),
    harm=Harm.PLAIN | Harm.UNHEALTHY,
)
