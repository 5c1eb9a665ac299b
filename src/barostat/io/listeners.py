"""Which local process listens on a port: so that `diagnose http://localhost:8000` sees the engine's processes unasked."""

from __future__ import annotations

import re
from pathlib import Path

from barostat.io.processes import tree

_LISTEN = "0A"
_PROGRAM = re.compile(r"^vllm(?:$|[ .])|^api_server\.py")


def engine_behind(port: int, proc: Path = Path("/proc")) -> int | None:
    """The engine process that listens on the port, the topmost where several do.

    None if it cannot be told, or if what listens is no vLLM (a tunnel, a proxy).
    """
    sockets = _listening(port, proc)
    if not sockets:
        return None
    holders = {pid for pid in _pids(proc) if _holds(pid, sockets, proc)}
    tops = [pid for pid in holders if not any(pid in {entry.pid for entry in tree(other, proc)} for other in holders - {pid})]
    if len(tops) != 1:
        return None
    return tops[0] if _is_engine(tops[0], proc) else None


def _listening(port: int, proc: Path) -> set[str]:
    found: set[str] = set()
    for name in ("tcp", "tcp6"):
        try:
            rows = (proc / "net" / name).read_text().splitlines()[1:]
        except OSError:
            continue
        for row in rows:
            fields = row.split()
            if len(fields) > 9 and fields[3] == _LISTEN and int(fields[1].rpartition(":")[2], 16) == port:
                found.add(f"socket:[{fields[9]}]")
    return found


def _pids(proc: Path) -> list[int]:
    return [int(entry.name) for entry in proc.iterdir() if entry.name.isdecimal()]


def _holds(pid: int, sockets: set[str], proc: Path) -> bool:
    try:
        return any(str(entry.readlink()) in sockets for entry in (proc / str(pid) / "fd").iterdir())
    except OSError:
        return False


def _is_engine(pid: int, proc: Path) -> bool:
    """True if the program is vLLM by name; `kubectl port-forward svc/vllm` and `ssh -L` only have it among their arguments."""
    found = tree(pid, proc)
    return any(entry.name.startswith("VLLM::") for entry in found) or bool(found and _PROGRAM.match(found[0].name))
