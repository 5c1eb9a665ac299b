"""The log stops in the midst of a start, without an error: it is still starting, or it was ended
from outside.

Meaning: a process that gets SIGKILL writes nothing more. The kernel's OOM killer, a startup probe
that gave up, an eviction and a node that went away all look like this from inside the log.

Impact: the replica serves nothing. If it is restarted, it stops at the same place again.

Evidence: a log that has begun a start and holds neither its ready line nor a failure; an exit code
of 137 beside it.

Not evidence: a log that ends with an error, however short. A replica that answers.

Mitigation: the container's last state and exit code (`kubectl describe pod`: 137 with OOMKilled is
host memory, 137 with a failed probe is the probe, 143 is somebody's SIGTERM), the node's kernel log
(`dmesg`), events. If the log still grows: wait.

Source: start-up lines of vLLM 0.6 to 0.33; SIGKILL cannot be caught.
"""

from __future__ import annotations

from barostat.core.symptom import Harm, Symptom
from barostat.core.verdict import Absent, Present, Verdict
from barostat.core.window import Window
from barostat.symptoms._lines import quote

LAST_LINE = 60
"""Enough of the last line to find it."""
CODES = ("pod_last_exit_code", "process_exit_code")


def judge(window: Window) -> Verdict:
    """Present if the log stops in the midst of a start and nothing answers."""
    stopped, scrapes = window["log_start_unfinished"], window.fresh("scrape_ok")
    evidence = tuple(
        signal.evidence(window.at) for signal in (stopped, scrapes) if signal is not None
    )
    if stopped.last <= 0:
        return Absent("the log does not stop in the midst of a start", evidence)
    if scrapes is not None and scrapes.last > 0:
        return Absent(
            "the log stops in the midst of a start, and the engine answers: the log is an "
            "older one",
            evidence,
        )
    code = next((found for name in CODES if (found := window.fresh(name)) is not None), None)
    said = (
        "the log stops in the midst of a start, without an error "
        f"({quote(stopped.detail, LAST_LINE)})"
    )
    if code is not None:
        return Present(
            f"{said}, and the process ended with {code.last:.0f}",
            (*evidence, code.evidence(window.at)),
            0.8,
        )
    return Present(
        f"{said}: it still starts, or was killed; its exit code would tell", evidence, 0.5
    )


SYMPTOM = Symptom(
    name="start-cut-short",
    title="the log stops in the midst of a start",
    judge=judge,
    needs=("log_start_unfinished",),
    harm=Harm.PLAIN,
)
