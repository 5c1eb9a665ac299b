"""Requests are there and the engine does nothing for them.

Meaning: requests wait and none runs, no step and no token is counted, in most readings; or the
gateway sends requests while the engine sees none.

Impact: users wait for nothing. Either the scheduler cannot start its first request at all, or the
core process is stopped, or the requests are stuck before the engine (tokeniser, API server,
gateway).

Evidence: waiting above 0 with running at 0 and no tokens or steps between readings;
gateway_requests_per_s above 0 with no arrivals in the engine.

Not evidence: a queue in one reading with running at 0: it may be the instant between two steps.
Deferred requests: see deferred-waiting.

Mitigation: check that the core process runs (core-stopped, tokens-stalled); a single request larger
than the whole pool waits for ever on old engines (cap max_model_len); a paused or sleeping engine
must be woken; then the host (api-server-saturated).

Source: vLLM 0.6 to 0.33: `vllm:num_requests_waiting`, `vllm:num_requests_running`,
`vllm:iteration_tokens_total_count`; old engines had no start-up check that one request fits.
"""

from __future__ import annotations

from barostat.core.symptom import Symptom
from barostat.core.units import figure
from barostat.core.verdict import Absent, Present, Unknown, Verdict
from barostat.core.window import Window
from barostat.symptoms._holding import RECENT_S, holding, recent_mean, together
from barostat.symptoms._queue import QUEUE, length, queue

FLOWS = ("steps_per_s", "generation_tokens_per_s", "prompt_tokens_per_s")
NO_FLOW = 1e-9


def judge(window: Window) -> Verdict:
    """Present if requests wait and nothing is done."""
    running, waiting = window["running_requests"], queue(window)
    if waiting is None:
        return Unknown("the queue was not measured", QUEUE)
    flows = [found for name in FLOWS if (found := window.fresh(name)) is not None]
    evidence = (
        waiting.evidence(window.at),
        running.evidence(window.at),
        *(flow.evidence(window.at, recent_mean(flow)) for flow in flows),
    )
    arriving, arrivals = window.fresh("gateway_requests_per_s"), window.fresh("arrivals_per_s")
    moments = together(running, waiting)
    held = holding(moments, lambda runs, waits: runs <= 0 and waits > 0)
    since = (
        moments[-1].at - held.for_s if moments and held.for_s is not None else window.at - RECENT_S
    )
    still = not any(
        point.value > NO_FLOW for flow in flows for point in flow.points if point.at > since
    )
    if held.holds and held.for_s is not None and still:
        confidence = held.confidence if flows else min(held.confidence, 0.6)
        return Present(
            f"{length(waiting):.0f} wait, nothing runs, {held.how}", evidence, confidence
        )
    if held.holds:
        return Absent(
            "requests wait and none runs at the readings, but tokens are made between them",
            evidence,
        )
    if (
        arriving is not None
        and arrivals is not None
        and recent_mean(arriving) > 0
        and arrivals.high <= 0
        and running.high <= 0
        and still
    ):
        evidence += (arriving.evidence(window.at), arrivals.evidence(window.at))
        return Present(
            f"{figure(recent_mean(arriving), 2)} requests per second at the gateway, none "
            "in the engine",
            evidence,
            0.75,
        )
    return Absent("what is queued is being worked on", evidence)


SYMPTOM = Symptom(
    name="queue-without-work",
    title="requests queue and the engine does nothing",
    judge=judge,
    needs=("running_requests",),
    needs_any=QUEUE,
)
