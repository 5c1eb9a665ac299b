"""The engine core process is stopped: the kernel does not let it run.

Meaning: the process got SIGSTOP or hit a debugger's breakpoint, or its container is paused or
frozen. It exists, holds its memory and does nothing.

Impact: no token for anybody, while /health and /metrics still answer from the API server's process.

Evidence: the process state T or t; a frozen cgroup.

Not evidence: a process that sleeps (state S): that is how it waits for work.

Mitigation: kill -CONT the process, unpause the container; if the reason is unknown, restart the
replica.

Source: /proc/<pid>/stat, SIGSTOP.
"""

from __future__ import annotations

from barostat.core.symptom import Harm
from barostat.symptoms._lines import symptom_of_counts

SYMPTOM = symptom_of_counts(
    "core-stopped",
    "the core process is stopped",
    ("engine_core_stopped",),
    seen="the engine core process is stopped (state T)",
    none="the engine core process is not stopped",
    harm=Harm.UNHEALTHY,
)
