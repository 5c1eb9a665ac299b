"""The local engine's process has ended.

Meaning: the process that was started or watched is gone, with an error status or by a signal.

Impact: nothing is served.

Evidence: its exit status: 1 mostly a Python exception, 2 a refused argument, negative the signal
(-9 SIGKILL: often host memory, -11 a crash in native code).

Not evidence: status 0: it was stopped from outside.

Mitigation: read the end of its log.

Source: wait(2) status as Python's subprocess gives it.
"""

from __future__ import annotations

from barostat.core.symptom import Harm, Symptom
from barostat.core.verdict import Absent, Present, Verdict
from barostat.core.window import Window

REFUSED_ARGUMENT = 2.0


def judge(window: Window) -> Verdict:
    """Present if the process ended with an error or a signal; Absent where it ended cleanly."""
    code = window["process_exit_code"]
    evidence = (code.evidence(window.at),)
    if code.last == 0:
        return Absent("the process ended cleanly", evidence)
    if code.last < 0:
        return Present(f"the process was ended by signal {-code.last:.0f}", evidence)
    hint = ", which mostly means a refused argument" if code.last == REFUSED_ARGUMENT else ""
    return Present(f"the process ended with status {code.last:.0f}{hint}", evidence)


SYMPTOM = Symptom(
    name="process-ended",
    title="the engine's process has ended",
    judge=judge,
    needs=("process_exit_code",),
    harm=Harm.DEATH,
)
