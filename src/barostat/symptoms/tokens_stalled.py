"""Requests are running and not one token has been counted for a while.

Meaning: the scheduler has requests in its running list, and neither a token nor a step nor the
pool's usage has moved since.

Impact: every client of this replica waits, if it is still there; /health keeps answering 200, so no
probe notices.

Evidence: tokens_stalled_s; running_requests above 0; the gauges standing still. GPU utilisation of
0 or of 100 % while it lasts.

Not evidence: no tokens with no request running (engine-idle). A very long prompt: its chunks move
the pool's usage and the steps. An engine that sleeps. A count that stays when all clients give up
at once, until the next step.

Mitigation: take the replica out of rotation, keep its log and stacks (py-spy dump), restart it.
Then core-stopped, collective-hang, gpu-xid. A probe on token progress finds it in seconds.

Source: `vllm:generation_tokens_total` against `vllm:num_requests_running`: gauges keep their last
value while no step is made (vLLM 0.8 to 0.33; vLLM issues 22545 and 29928).
"""

from __future__ import annotations

from barostat.core.symptom import Harm, Symptom
from barostat.core.verdict import Absent, Evidence, Present, Verdict
from barostat.core.window import Window

STALLED_S = 10.0
"""A step takes milliseconds to a second; ten seconds without a token, a step or a change of usage
is no step any more.
"""
SURE_S = 30.0


def judge(window: Window) -> Verdict:
    """Present if nothing has moved for ten seconds although requests run."""
    stalled, sleeping, steps = (
        window["tokens_stalled_s"],
        window.fresh("engine_sleeping"),
        window.fresh("steps_per_s"),
    )
    others = [
        found
        for name in ("running_requests", "health_ok", "gpu_utilization_ratio")
        if (found := window.fresh(name)) is not None
    ]
    evidence: tuple[Evidence, ...] = (
        stalled.evidence(window.at),
        *(found.evidence(window.at) for found in others),
    )
    if sleeping is not None and sleeping.last > 0:
        return Absent("the engine was put to sleep", (*evidence, sleeping.evidence(window.at)))
    if stalled.last < STALLED_S:
        return Absent("tokens flow, or nothing runs", evidence)
    if steps is not None and steps.last > 0:
        return Absent(
            "no token yet, but steps are made: a long prefill",
            (*evidence, steps.evidence(window.at)),
        )
    confidence = 0.75 if stalled.last < SURE_S / 2 else (0.9 if stalled.last < SURE_S else 0.97)
    return Present(
        f"requests run, and no token has come for {stalled.last:.0f} s", evidence, confidence
    )


SYMPTOM = Symptom(
    name="tokens-stalled",
    title="requests run and no token comes",
    judge=judge,
    needs=("tokens_stalled_s",),
    harm=Harm.PLAIN | Harm.UNHEALTHY | Harm.OF_THE_ENGINE,
)
