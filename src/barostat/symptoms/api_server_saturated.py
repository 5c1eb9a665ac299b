"""The API server's process uses a full core while the engine core waits for work.

Meaning: one Python process parses, tokenizes, detokenizes and streams for everybody. It is bound by
one core, and everything behind it starves.

Impact: time to first token and gaps between tokens grow while the card idles; requests wait where
no engine metric sees them.

Evidence: api_server_cpu_cores at 0.9 or more (0.8 where cores are shared) with an engine core that
has slack: less than 0.8 cores, or light steps and an empty queue.

Not evidence: a busy API server with a queue inside the engine: then the engine is the limit. One
process for both (V0, multiprocessing off): its CPU is the engine's too. High CPU of the container
on a CPU engine: that is compute.

Mitigation: --api-server-count of 2 to 4; larger chunks per stream or fewer, longer requests; keep
connections alive; give the pod more CPU if it is throttled.

Source: `process_cpu_seconds_total` of the API server, or the process list; vLLM 0.9 on:
--api-server-count.
"""

from __future__ import annotations

from barostat.core.symptom import Harm, Symptom
from barostat.core.verdict import Absent, Present, Verdict
from barostat.core.window import Window
from barostat.symptoms._holding import recent_mean
from barostat.symptoms._host import engine_has_slack, kept_from_engine, server_confidence
from barostat.symptoms._queue import queue


def judge(window: Window) -> Verdict:
    """Present if the API server is at a full core and the engine is not the limit."""
    api, core, waiting = (
        window["api_server_cpu_cores"],
        window.fresh("engine_core_cpu_cores"),
        queue(window),
    )
    others = [
        signal
        for signal in (
            core,
            waiting,
            window.fresh("running_requests"),
            window.fresh("tokens_per_step"),
        )
        if signal is not None
    ]
    evidence = (
        api.evidence(window.at, recent_mean(api), "mean"),
        *(signal.evidence(window.at) for signal in others),
    )
    slack = engine_has_slack(window)
    confidence = server_confidence(window, api, slack)
    if confidence is None:
        return Absent(f"the API server uses {recent_mean(api):.2f} cores: it has room", evidence)
    if slack is False:
        return Absent(
            f"the API server is busy ({recent_mean(api):.2f} cores), but requests queue in "
            "the engine itself",
            evidence,
        )
    because = f"the API server uses {recent_mean(api):.2f} cores"
    if core is not None:
        because += f", the engine core {recent_mean(core):.2f}"
    if kept := kept_from_engine(window):
        because += (
            f"; about {kept[0]:.0f} requests are in the server, {kept[1]:.0f} of them in the engine"
        )
    elif waiting is not None:
        because += f", and {waiting.last:.0f} wait in the engine"
    return Present(because, evidence, confidence)


SYMPTOM = Symptom(
    name="api-server-saturated",
    title="the API server's process is at its limit",
    judge=judge,
    needs=("api_server_cpu_cores",),
    harm=Harm.OF_THE_ENGINE,
)
