"""Hostile inputs for every parser and every front: `make fuzz`, five minutes; `make fuzz
NIGHTLY=1`, three hours.

python -m tests.fuzz.fuzz [--seconds S] [--inputs N] [--seed N] [--jobs N] [--busy] [FRONT ...]
what came of it; 1: something broke
python -m tests.fuzz.fuzz --replay FILE FRONT                                                     one input again, as it was saved

Each front has a process of its own (`worker.py`). An input that takes over 2 s of CPU time, needs
over 512 MB, or makes anything but the front's own refusal, is saved with its seed under build/fuzz,
shrunk. It becomes a test beside the parser's other tests when it is mended.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

import psutil
from tests.fuzz.fronts.table import FRONTS
from tests.fuzz.judged import Crash, judged, limited

ROOT = Path(__file__).resolve().parents[2]
OUT = ROOT / "build" / "fuzz"
SECONDS, NIGHTLY_S = 300.0, 3 * 3600.0
_GRACE_S = 90.0
"""CPU time for loading, for the seeds and for shrinking, which no time is given for."""
_SILENT_S = 120.0
"""A process that has not taken a new input for so long, and has not worked either, hangs. One that
is starved of a CPU works a little.
"""
_WORKED_S = 0.05
_LOOK_EVERY_S = 1.0


@dataclass(slots=True)
class Outcome:
    """What came of one front. `crashes`: the saved input by what it shows."""

    front: str
    inputs: int = 0
    refused: int = 0
    seconds: float = 0.0
    lines: int = 0
    kept: int = 0
    crashes: dict[str, str] = field(default_factory=dict)


def fed(
    fronts: Sequence[str],
    out: Path,
    *,
    seed: int,
    seconds: float | None = None,
    inputs: int | None = None,
    busy: bool = False,
) -> list[Outcome]:
    """The fronts, one after another in one process, each for so many seconds or inputs, whichever
    is less.

    A process that dies or hangs is a crash of the front that it was at. It hangs where it works for
    longer than it was given, or where it neither works nor goes on: a busy machine makes every wait
    longer, and is no failure.
    """
    out.mkdir(parents=True, exist_ok=True)
    limit = [
        *(["--seconds", str(seconds)] if seconds is not None else []),
        *(["--inputs", str(inputs)] if inputs is not None else []),
    ]
    limit += ["--busy"] if busy else []
    words = [
        sys.executable,
        "-m",
        "tests.fuzz.worker",
        "--seed",
        str(seed),
        "--out",
        str(out),
        *limit,
        *fronts,
    ]
    paths = os.pathsep.join((str(ROOT / "src"), str(ROOT)))
    environment = {
        **os.environ,
        "PYTHONHASHSEED": "0",
        "PYTHONPATH": paths,
        "OPENBLAS_NUM_THREADS": "1",
        "HOME": str(out / "nobody"),
    }
    with tempfile.TemporaryFile("w+") as errors, tempfile.TemporaryFile("w+") as answers:
        process = subprocess.Popen(
            words, cwd=ROOT, env=environment, stdout=answers, stderr=errors, text=True
        )
        hung = _hangs(process, answers, (seconds or 60.0) * len(fronts) + _GRACE_S)
        if hung:
            process.kill()
        process.wait()
        ended = hung or f"ended with {process.returncode}"
        answers.seek(0)
        told = answers.read()
        errors.seek(0)
        trace = errors.read()[-4000:]
    lines = told.splitlines()
    found = [Outcome(**json.loads(line)) for line in lines if line.startswith("{")]
    if len(found) < len(fronts):
        front = fronts[len(found)]
        scratch = next((Path(line) for line in reversed(lines) if not line.startswith("{")), out)
        path = out / f"{front}-process.bin"
        path.write_bytes((scratch / "input").read_bytes() if (scratch / "input").is_file() else b"")
        path.with_suffix(".txt").write_text(f"the process {ended}\nseed {seed}\n\n{trace}")
        found.append(Outcome(front, crashes={f"the process {ended}": str(path)}))
    return found


def _hangs(process: subprocess.Popen[str], answers: IO[str], most_s: float) -> str:
    """ "" once the process has ended; else how it hangs. `most_s`: of CPU time."""
    watched = psutil.Process(process.pid)
    before, since_s = (-1.0, 0), time.monotonic()
    while process.poll() is None:
        time.sleep(_LOOK_EVERY_S)
        with contextlib.suppress(psutil.Error):
            times = watched.cpu_times()
            worked_s = times.user + times.system
            if worked_s > most_s:
                return f"hung: it worked for {worked_s:.0f} s"
            state = (worked_s, _mark(answers))
            if state[1] != before[1] or worked_s - before[0] > _WORKED_S:
                before, since_s = state, time.monotonic()
            elif time.monotonic() - since_s > _SILENT_S:
                return f"hung: it neither worked nor went on for {_SILENT_S:.0f} s"
    return ""


def _mark(answers: IO[str]) -> int:
    """Another number for each input: when the file of the last one was written, in the folder that
    the process told last.
    """
    with contextlib.suppress(OSError, StopIteration):
        told = os.pread(answers.fileno(), 1 << 20, 0).decode().splitlines()
        folder = next(line for line in reversed(told) if not line.startswith("{"))
        return (Path(folder) / "input").stat().st_mtime_ns
    return 0


def table(outcomes: Sequence[Outcome]) -> str:
    """The outcomes as a table, with the sum."""
    rows = [
        f"{'front':24}{'inputs':>10}{'inputs/s':>10}{'refused':>9}{'lines':>8}{'kept':>6}{'crashes':>9}"
    ]
    for one in outcomes:
        share = f"{one.refused / one.inputs:.0%}" if one.inputs else ""
        rate = one.inputs / one.seconds if one.seconds else 0.0
        rows.append(
            f"{one.front:24}{one.inputs:10,}{rate:10,.0f}{share:>9}{one.lines:8,}{one.kept:6}{len(one.crashes):9}"
        )
    inputs, seconds = sum(one.inputs for one in outcomes), sum(one.seconds for one in outcomes)
    crashes = sum(len(one.crashes) for one in outcomes)
    rows.append(
        f"{'all':24}{inputs:10,}{inputs / max(seconds, 1e-9):10,.0f}{'':9}{'':8}{'':6}{crashes:9}"
    )
    return "\n".join(rows)


def _replayed(front: str, path: Path) -> int:
    with tempfile.TemporaryDirectory() as folder:
        judged(FRONTS[front], FRONTS[front].seeds()[0], Path(folder), slowest_s=60)
        began = time.process_time()
        with limited():
            found = judged(FRONTS[front], path.read_bytes(), Path(folder))
    print(
        f"{found.trace}\n{found.what}"
        if isinstance(found, Crash)
        else f"clean: {found.answer or 'accepted'}"
    )
    print(f"{time.process_time() - began:.2f} s of CPU time")
    return int(isinstance(found, Crash))


def main() -> int:
    """The fronts that are asked for, or all; 1 where one broke."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.fuzz.fuzz",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("fronts", nargs="*", metavar="FRONT")
    parser.add_argument(
        "--seconds", type=float, default=SECONDS, help="for all fronts together (default 300)"
    )
    parser.add_argument(
        "--inputs",
        type=int,
        help="of each front at most, beside its seeds: the same on any machine",
    )
    parser.add_argument(
        "--busy",
        action="store_true",
        help="the machine does other things too: half as much CPU time again for each input",
    )
    parser.add_argument("--nightly", action="store_true", help="three hours, and a seed of the day")
    parser.add_argument(
        "--seed",
        type=int,
        help="default 1, so that two runs try the same; nightly the number of the day",
    )
    parser.add_argument(
        "--jobs", type=int, default=min(4, os.cpu_count() or 1), help="processes at once"
    )
    parser.add_argument("--replay", type=Path, metavar="FILE")
    asked = parser.parse_args()
    if unknown := [name for name in asked.fronts if name not in FRONTS]:
        parser.error(f"no front is called {unknown[0]!r}; there are {', '.join(FRONTS)}")
    if asked.replay is not None:
        return (
            _replayed(asked.fronts[0], asked.replay)
            if asked.fronts
            else parser.error("--replay FILE needs its front")
        )
    names = asked.fronts or list(FRONTS)
    seed = (
        asked.seed if asked.seed is not None else int(time.time() // 86_400) if asked.nightly else 1
    )
    each_s = (NIGHTLY_S if asked.nightly else asked.seconds) * asked.jobs / len(names)

    def each(name: str) -> list[Outcome]:
        return fed([name], OUT, seed=seed, seconds=each_s, inputs=asked.inputs, busy=asked.busy)

    with ThreadPoolExecutor(asked.jobs) as pool:
        outcomes = [one for found in pool.map(each, names) for one in found]
    print(table(outcomes))
    print(f"seed {seed}; {each_s:.1f} s each")
    for one in outcomes:
        for what, path in one.crashes.items():
            print(f"{one.front}: {what}\n    python -m tests.fuzz.fuzz --replay {path} {one.front}")
    return int(any(one.crashes for one in outcomes))


if __name__ == "__main__":
    sys.exit(main())
