"""The engine has nothing to do: no request runs, waits or arrives in the whole window.

Meaning: running and waiting are 0 in every reading and nothing was counted between them.

Impact: none on the engine. If users complain at the same time, their requests do not get here: look
at the gateway, the service and its endpoints.

Evidence: running_requests and waiting_requests at 0 in every reading; no tokens and no arrivals
between readings.

Not evidence: GPU memory near 90 %: an idle engine holds its pool. KV usage near 0 with requests in
the queue (queue-without-work).

Mitigation: none. After a deploy or a scale-in, make sure that traffic is routed here at all.

Source: `vllm:num_requests_running`, `vllm:num_requests_waiting`; the statistics line falls silent
(debug) after two idle intervals.
"""

from __future__ import annotations

from barostat.core.symptom import Symptom
from barostat.core.verdict import Absent, Present, Verdict
from barostat.core.window import Window
from barostat.symptoms._holding import recent

ACTIVITY = ("generation_tokens_per_s", "prompt_tokens_per_s", "arrivals_per_s")


def judge(window: Window) -> Verdict:
    """Present if nothing ran, waited or arrived."""
    running, waiting = recent(window["running_requests"]), recent(window["waiting_requests"])
    activity = [recent(found) for name in ACTIVITY if (found := window.fresh(name)) is not None]
    evidence = (
        running.evidence(window.at, running.high),
        waiting.evidence(window.at, waiting.high),
    )
    if running.high > 0 or waiting.high > 0:
        return Absent(
            f"up to {running.high:.0f} running and {waiting.high:.0f} waiting in this window",
            evidence,
        )
    busy = [found for found in activity if found.high > 0]
    if busy:
        return Absent(
            "work was done between the readings",
            tuple(found.evidence(window.at, found.high) for found in busy),
        )
    if len(running.points) < 2:
        return Present("nothing runs and nothing waits, in the one reading there is", evidence, 0.7)
    return Present(f"nothing ran, waited or arrived for {running.span_s:.0f} s", evidence, 0.95)


SYMPTOM = Symptom(
    name="engine-idle",
    title="nothing to do",
    judge=judge,
    needs=("running_requests", "waiting_requests"),
)
