"""The limit on open files could not be raised, or was reached.

Meaning: every connection takes a file descriptor. With a low limit the server stops accepting long before the engine
is busy.

Impact: clients see refused or reset connections while the engine idles.

Evidence: "Too many open files" (errno 24), or the start-up warning that the limit could not be raised.

Not evidence: the warning alone, with few connections: it is a risk, not yet a harm.

Mitigation: raise the limit (ulimit -n, the container runtime's LimitNOFILE) to 65,536 or more; keep connections alive
and few at the gateway.

Source: vLLM serve start-up (set_ulimit), EMFILE.
"""

from __future__ import annotations

from barostat.core.symptom import Symptom
from barostat.core.verdict import Verdict
from barostat.core.window import Window
from barostat.symptoms._lines import counted

LINES = ("log_fd_limit",)


def judge(window: Window) -> Verdict:
    """Present if the log tells of the limit on open files."""
    return counted(window, LINES, seen="the limit on open files is too low", none="no complaint about open files", confidence=0.9)


SYMPTOM = Symptom(name="open-file-limit", title="out of open files", judge=judge, needs=LINES)
