"""The process ended with an error that no known line explains.

Meaning: the last exception of the log is none of those known to mean memory, settings, model,
network or hardware: a fault in the engine or a library, most likely.

Impact: the replica did not start, or died.

Evidence: the last exception, quoted.

Not evidence: of KV pressure or of memory.

Mitigation: search the engine's issues for the exception; try the version that worked before.

Source: Python tracebacks in the engine's log.
"""

from __future__ import annotations

from barostat.core.symptom import Symptom
from barostat.core.verdict import Verdict
from barostat.core.window import Window
from barostat.symptoms._lines import counted

LINES = ("log_unclassified_error",)


def judge(window: Window) -> Verdict:
    """Present if an unexplained last exception is in the log."""
    return counted(
        window,
        LINES,
        seen="ended with an error that is not in the list",
        none="no unexplained error",
        confidence=0.9,
    )


SYMPTOM = Symptom(
    name="unclassified-error", title="ended with an unknown error", judge=judge, needs=LINES
)
