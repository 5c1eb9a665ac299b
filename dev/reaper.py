"""What we started ends with us: a process group, and the folder that it worked in.

A small shell holds the other end of a pipe. It sees the pipe close at the latest when this process
dies, by whatever: then it ends the group and removes the folder.
"""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import IO

# In the order of its arguments: group, folder. SIGTERM to the leader first, so that an engine
# unlinks its shared memory.
_SHELL = (
    "cat >/dev/null; kill -CONT -- -$0; kill -TERM $0; "
    "for i in 1 2 3 4 5 6 7 8 9 10; do kill -0 -- -$0 2>/dev/null || break; sleep 0.5; "
    "done; kill -KILL -- -$0; "
    '[ -z "$1" ] || rm -rf -- "$1"'
)


class Reaper:
    """Waits for our death until it is dismissed. `group`: its leader's process id. `folder`: what
    is to go with it.
    """

    def __init__(self, group: int, folder: Path | None = None) -> None:
        """It waits."""
        self._shell = subprocess.Popen(
            ["/bin/sh", "-c", _SHELL, str(group), str(folder or "")],
            stdin=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )

    def dismiss(self) -> None:
        """It is gone, and has ended nothing."""
        self._shell.kill()
        self._shell.communicate()


def run_to_end(
    command: Sequence[str],
    within_s: float,
    out: IO[str] | int | None = subprocess.PIPE,
    err: int | None = subprocess.PIPE,
) -> subprocess.CompletedProcess[str]:
    """The command has ended, by itself or with us; what it said is kept where `out` and `err` do
    not say otherwise (None: they are ours).

    Errors: subprocess.TimeoutExpired where it took longer; it is killed then, as it is by whatever
    else comes while it is waited for.
    """
    process = subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=out, stderr=err, text=True, start_new_session=True
    )
    reaper = Reaper(process.pid)
    try:
        said, complained = process.communicate(timeout=within_s)
    except BaseException:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        raise
    finally:
        reaper.dismiss()
    return subprocess.CompletedProcess(command, process.returncode, said, complained)
