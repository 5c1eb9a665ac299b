"""Which local process listens on a port: so that `diagnose http://localhost:8000` sees the engine's
processes unasked.
"""

from __future__ import annotations

import re
from typing import Any

from barostat.io.local_host.processes import tree

_PROGRAM = re.compile(r"^vllm(?:$|[ .])|^api_server\.py")


def engine_behind(port: int) -> int | None:
    """Return the engine process that listens on the port, the topmost if there are several.

    None if it is unknown (also for lack of rights), or if the listener is not vLLM (a tunnel, a
    proxy).
    """
    holders = {
        found.pid
        for found in _sockets()
        if found.status == "LISTEN" and found.laddr.port == port and found.pid
    }
    tops = [
        pid
        for pid in holders
        if not any(pid in {entry.pid for entry in tree(other)} for other in holders - {pid})
    ]
    return tops[0] if len(tops) == 1 and _is_engine(tops[0]) else None


def _sockets() -> list[Any]:
    import psutil  # only an engine on this machine asks for it

    try:
        return list(psutil.net_connections("tcp"))
    except (psutil.Error, OSError):
        return []


def _is_engine(pid: int) -> bool:
    """True if the program is vLLM by name; `kubectl port-forward svc/vllm` and `ssh -L` only have
    it among their arguments.
    """
    found = tree(pid)
    return any(entry.name.startswith("VLLM::") for entry in found) or bool(
        found and _PROGRAM.match(found[0].name)
    )
