"""Which local process listens on a port: so that `diagnose http://localhost:8000` sees the engine's
processes unasked.

Source: proc(5): net/tcp and net/tcp6 (local address and port in hex, state, inode), PID/fd.
"""

from __future__ import annotations

import re
from pathlib import Path

from barostat.io.local_host.processes import tree

_PROGRAM = re.compile(r"^vllm(?:$|[ .])|^api_server\.py")
_LISTENS = "0A"


def engine_behind(port: int, proc: Path = Path("/proc")) -> int | None:
    """Return the engine process that listens on the port, the topmost if there are several.

    None if it is unknown (also for lack of rights), or if the listener is not vLLM (a tunnel, a
    proxy).
    """
    holders = _holders(_listening(port, proc), proc)
    tops = [
        pid
        for pid in holders
        if not any(pid in {entry.pid for entry in tree(other)} for other in holders - {pid})
    ]
    return tops[0] if len(tops) == 1 and _is_engine(tops[0]) else None


def _listening(port: int, proc: Path) -> set[str]:
    """The sockets that listen on the port, as a process's descriptors name them."""
    sockets = set()
    for table in ("tcp", "tcp6"):
        try:
            lines = (proc / "net" / table).read_text().splitlines()[1:]
        except OSError:
            continue
        for fields in map(str.split, lines):
            if len(fields) > 9 and fields[3] == _LISTENS and fields[1].endswith(f":{port:04X}"):
                sockets.add(f"socket:[{fields[9]}]")
    return sockets


def _holders(sockets: set[str], proc: Path) -> set[int]:
    """The processes that have one of the sockets open, as far as they may be looked at."""
    holders = set()
    for folder in proc.glob("[0-9]*/fd") if sockets else ():
        try:
            if any(str(entry.readlink()) in sockets for entry in folder.iterdir()):
                holders.add(int(folder.parent.name))
        except OSError:  # not ours, or it has ended
            continue
    return holders


def _is_engine(pid: int) -> bool:
    """True if the program is vLLM by name; `kubectl port-forward svc/vllm` and `ssh -L` only have
    it among their arguments.
    """
    found = tree(pid)
    return any(entry.name.startswith("VLLM::") for entry in found) or bool(
        found and _PROGRAM.match(found[0].name)
    )
