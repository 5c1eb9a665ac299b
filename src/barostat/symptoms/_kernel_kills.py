"""What the lines of the kernel's OOM killer tell beyond that it was at work: whom it killed, and
for whose shortage.
"""

from __future__ import annotations

import re

from barostat.catalog.engine_processes import ENGINE_PROCESS

_VICTIM = re.compile(
    r"[Kk]illed process \d+ \(([^)]*)\)|task=([^,]*),pid=|victim process: ([^,]+), pid"
)
_NODE_WIDE = re.compile(
    r"(?<!cgroup )\b[Oo]ut of memory: Kill|CONSTRAINT_(?:NONE|CPUSET|MEMORY_POLICY)|System OOM encountered|earlyoom|systemd-oomd"
)
_UNIT = re.compile(r"^/|\.(?:service|scope|slice)$")


def other_victims(detail: str) -> tuple[str, ...]:
    """The processes that the kernel killed, where all are named and none is an engine's; nothing
    elsewhere.

    `detail`: of kernel_oom_kill: the names, then the last line, each after `; `.
    """
    last = [
        next(group for group in found.groups() if group)
        for found in _VICTIM.finditer(detail)
        if any(found.groups())
    ]
    if not last:
        return ()
    names = tuple(dict.fromkeys((*(name for name in detail.split("; ")[:-1] if name), *last)))
    return () if any(ENGINE_PROCESS.search(name) or _UNIT.search(name) for name in names) else names


def node_ran_short(detail: str) -> bool:
    """True if the line says that the node's memory was short, and not a container's."""
    return bool(_NODE_WIDE.search(detail))
