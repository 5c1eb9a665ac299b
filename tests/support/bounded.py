"""One command in a process of its own, with so much memory and CPU more than it had once it was
loaded.

The process runs the verb on something small first, so that all it imports is there; what it then
holds of address space (VmSize) is its baseline, and RLIMIT_AS is that and `memory_mib` more.
RLIMIT_CPU is a net under `Ran.cpu_s`, which is measured.
"""

from __future__ import annotations

import contextlib
import io
import json
import resource
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
NET_S = 20


@dataclass(frozen=True, slots=True)
class Ran:
    """How a command ended. `peak_mib`: the most address space above the baseline."""

    code: int
    cpu_s: float
    wall_s: float
    peak_mib: float
    out: str
    told: str


def bounded(
    commands: Sequence[Sequence[str]], small: Sequence[str], memory_mib: int = 512
) -> list[Ran]:
    """What came of each, one after another in one process. Errors: AssertionError where the process
    was ended.
    """
    asked = json.dumps(
        {
            "commands": [list(words) for words in commands],
            "small": list(small),
            "memory_mib": memory_mib,
        }
    )
    done = subprocess.run(
        [sys.executable, "-m", "tests.support.bounded"],
        input=asked,
        capture_output=True,
        text=True,
        cwd=ROOT,
        timeout=4 * NET_S,
    )
    assert done.returncode == 0, (
        f"{commands[-1][0]} ended with {done.returncode}: {done.stderr[-800:]}"
    )
    return [Ran(**one) for one in json.loads(done.stdout)]


def _ran(words: list[str]) -> tuple[int, str, str]:
    from barostat.shells.cli.main import main

    out, told = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(told):
        try:
            code = main(words)
        except SystemExit as ended:
            code = int(ended.code or 0)
    return code, out.getvalue()[:4000], told.getvalue()[:4000]


def _size_mib(line: str) -> float:
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return next(
        int(text.split()[1]) / 1024 for text in status.splitlines() if text.startswith(line)
    )


def main() -> None:
    """The child's side: what is asked comes on stdin, what came of it goes to stdout, both as
    JSON.
    """
    asked = json.load(sys.stdin)
    _ran(asked["small"])
    base = _size_mib("VmSize:")
    most = round((base + asked["memory_mib"]) * 1024 * 1024)
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
    found = []
    for words in asked["commands"]:
        cpu_s, began = time.process_time(), time.monotonic()
        resource.setrlimit(resource.RLIMIT_CPU, (round(cpu_s) + NET_S, resource.RLIM_INFINITY))
        code, out, told = _ran(words)
        spent = {
            "code": code,
            "out": out,
            "told": told,
            "cpu_s": time.process_time() - cpu_s,
            "wall_s": time.monotonic() - began,
        }
        found.append({**spent, "peak_mib": _size_mib("VmPeak:") - base})
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    main()
