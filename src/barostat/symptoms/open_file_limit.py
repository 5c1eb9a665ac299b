"""The limit on open files could not be raised, or was reached.

Meaning: every connection takes a file descriptor. With a low limit the server stops accepting long
before the engine is busy.

Impact: clients see refused or reset connections while the engine idles.

Evidence: "Too many open files" (errno 24). The start-up warning that the limit could not be raised
counts where the limit is low.

Not evidence: the warning with a limit of thousands: it is enough for any engine.

Mitigation: raise the limit (ulimit -n, the container runtime's LimitNOFILE) to 65,536 or more; keep
connections alive and few at the gateway.

Source: vLLM serve start-up (set_ulimit), EMFILE.
"""

from __future__ import annotations

import re

from barostat.core.symptom import Symptom
from barostat.core.verdict import Absent, Present, Verdict
from barostat.core.window import Window
from barostat.symptoms._lines import quote, times

LOW_LIMIT = 4096
"""A few thousand connections at once are more than one engine can serve."""
_LIMIT = re.compile(r"ulimit of (\d{1,9})\b")


def judge(window: Window) -> Verdict:
    """Present if the limit was reached, or is low and could not be raised."""
    lines = window["log_fd_limit"]
    evidence = (lines.evidence(window.at),)
    if lines.last <= 0:
        return Absent("no complaint about open files", evidence)
    found = _LIMIT.search(lines.detail)
    if found is None:
        return Present(
            f"the limit on open files was reached{times(lines.last)}: {quote(lines.detail)}",
            evidence,
            0.9,
        )
    if int(found[1]) < LOW_LIMIT:
        return Present(
            f"the limit on open files is {found[1]} and could not be raised", evidence, 0.5
        )
    return Absent(
        f"the limit on open files could not be raised, and {found[1]} are enough", evidence
    )


SYMPTOM = Symptom(
    name="open-file-limit", title="out of open files", judge=judge, needs=("log_fd_limit",)
)
