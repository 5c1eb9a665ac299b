"""The log stops during start-up without an error: the engine is still starting, or it was killed.

Meaning: a process that receives SIGKILL writes nothing more. The kernel's OOM killer, a failed
startup probe, an eviction and a lost node all look like this in the log.

Impact: the replica serves nothing. If it is restarted, it stops at the same place again.

Evidence: a log with the beginning of a start and neither the ready line nor a failure; exit code
137.

Not evidence: a log that ends with an error, however short. A replica that answers.

Mitigation: the container's last state and exit code (`kubectl describe pod`: 137 with OOMKilled is
host memory, 137 with a failed probe is the probe, 143 is SIGTERM), the node's kernel log (`dmesg`),
events. If the log still grows: wait.

Source: start-up lines of vLLM 0.6 to 0.33; SIGKILL cannot be caught.
"""

from __future__ import annotations

from barostat.core.symptom import Harm, Symptom
from barostat.core.verdict import Absent, Present, Verdict
from barostat.core.window import Window
from barostat.symptoms._lines import quote

LAST_LINE = 60
"""Characters of the last line that are quoted."""
CODES = ("pod_last_exit_code", "process_exit_code")


def judge(window: Window) -> Verdict:
    """Present if the log stops during start-up and the engine does not answer."""
    stopped, scrapes = window["log_start_unfinished"], window.fresh("scrape_ok")
    evidence = tuple(
        signal.evidence(window.at) for signal in (stopped, scrapes) if signal is not None
    )
    if stopped.last <= 0:
        return Absent("the log does not stop during start-up", evidence)
    if scrapes is not None and scrapes.last > 0:
        return Absent(
            "the log stops during start-up, but the engine answers: the log is outdated",
            evidence,
        )
    code = next((found for name in CODES if (found := window.fresh(name)) is not None), None)
    said = f"the log stops during start-up, without an error ({quote(stopped.detail, LAST_LINE)})"
    if code is not None:
        return Present(
            f"{said}, and the process ended with {code.last:.0f}",
            (*evidence, code.evidence(window.at)),
            0.8,
        )
    return Present(
        f"{said}: it is still starting or was killed; its exit code would show which", evidence, 0.5
    )


SYMPTOM = Symptom(
    name="start-cut-short",
    title="the log stops during start-up",
    judge=judge,
    needs=("log_start_unfinished",),
    harm=Harm.PLAIN,
)
