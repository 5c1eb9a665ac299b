"""The engine was put to sleep on purpose and serves no requests.

Meaning: sleep mode: weights and pool have been released or offloaded until /wake_up.

Impact: requests wait until the engine is woken.

Evidence: the engine_sleep_state metric (0.11.1 on).

Not evidence: of a hang: nothing is broken.

Mitigation: POST /wake_up (development mode), or restart.

Source: `vllm:engine_sleep_state{sleep_state}`.
"""

from __future__ import annotations

from barostat.core.symptom import Symptom
from barostat.core.verdict import Absent, Present, Verdict
from barostat.core.window import Window


def judge(window: Window) -> Verdict:
    """Present if the engine sleeps."""
    sleeping = window["engine_sleeping"]
    evidence = (sleeping.evidence(window.at),)
    if sleeping.last <= 0:
        return Absent("the engine is awake", evidence)
    return Present("the engine was put to sleep", evidence, 0.95)


SYMPTOM = Symptom(
    name="engine-asleep",
    title="the engine was put to sleep",
    judge=judge,
    needs=("engine_sleeping",),
)
