"""Requests wait for a LoRA adapter: every slot for adapters is taken by running requests.

Meaning: one step runs requests of at most max_loras adapters. A request that wants another adapter
is passed over until all requests of a running one have ended, whatever KV blocks and scheduler
slots are free.

Impact: time to first token of the adapters that wait, for as long as the others are busy.

Evidence: deferred requests in most readings, as many adapters running as max_loras
(`vllm:lora_requests_info`). Adapters that wait are listed there only if they have run before.

Not evidence: deferred requests alone: a grammar or a KV transfer defers too. Adapters that wait
while a slot for them is free.

Mitigation: raise max_loras to the number of adapters in use at once (each slot takes memory of the
pool), or put busy adapters on engines of their own.

Source: vLLM 0.32, Scheduler.schedule (the waiting loop stops at max_loras); v1/metrics/loggers.py.
"""

from __future__ import annotations

from barostat.core.symptom import Symptom
from barostat.core.verdict import Absent, Present, Unknown, Verdict
from barostat.core.window import Window
from barostat.symptoms._holding import holding, recent_mean, together

_UNLISTED = 0.85
"""A grammar or a KV transfer may hold the requests up instead."""


def judge(window: Window) -> Verdict:
    """Present if requests are deferred while all adapter slots run. Less sure where the engine lists no
    other adapter: it knows only those that have run.
    """
    deferred = window["deferred_waiting_requests"]
    running, waiting = window["running_adapters"], window["waiting_adapters"]
    evidence = tuple(each.evidence(window.at) for each in (deferred, running, waiting))
    slots = window.config.number("max_loras")
    if slots is None:
        return Unknown("the number of adapter slots (max_loras) is not known", ())
    held = holding(
        together(deferred, running), lambda requests, runs: requests > 0 and runs >= slots
    )
    if not held.holds:
        return Absent("no adapter waits for a slot for long", evidence)
    listed = f"for {waiting.last:.0f} LoRA adapters" if waiting.last else "for other LoRA adapters"
    return Present(
        f"{recent_mean(deferred):.0f} requests wait {listed}: "
        f"{running.last:.0f} of {slots:.0f} adapter slots are in use, {held.how}",
        evidence,
        held.confidence * (1.0 if waiting.last else _UNLISTED),
    )


SYMPTOM = Symptom(
    name="adapter-slots-full",
    title="requests wait for a LoRA adapter slot",
    judge=judge,
    needs=("deferred_waiting_requests", "running_adapters", "waiting_adapters"),
)
