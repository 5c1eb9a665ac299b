"""One front, fed for a while: inputs that reach new lines or new refusals are kept and changed
further; crashes are shrunk and saved.
"""

from __future__ import annotations

import hashlib
import os
import random
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from tests.fuzz.front import Front
from tests.fuzz.judged import SLOWEST_S, Clean, Crash, Line, judged, limited
from tests.fuzz.mutate import mutated

_TRACED_OF = 8
_MOST_KEPT = 400
_KEPT_BYTES = 1 << 17
_MOST_CRASHES = 12
_PER_LIMIT = 500
_SHRINKING_S = 6.0


@dataclass(slots=True)
class Hunt:
    """What came of it. `lines`: of the package, walked by the inputs that were traced. `crashes`:
    the file of each kind.
    """

    front: Front
    out: Path
    scratch: Path
    seed: int
    slowest_s: float = SLOWEST_S
    inputs: int = 0
    refused: int = 0
    took_s: float = 0.0
    lines: set[Line] = field(default_factory=set)
    answers: set[str] = field(default_factory=set)
    kept: list[bytes] = field(default_factory=list)
    crashes: dict[str, Path] = field(default_factory=dict)

    def run(self, goes_on: Callable[[int], bool]) -> None:
        """Inputs are fed as long as it goes on; it is asked with how many were, beyond the seeds.

        The seeds come first, twice: the first time loads what is loaded late, without limits.
        """
        seeds = self.front.seeds()
        assert seeds, self.front.name
        for seed in seeds:
            judged(self.front, seed, self.scratch, slowest_s=60)
        began = time.monotonic()
        dice = random.Random(f"{self.seed} {self.front.name}")
        self.kept = list(seeds)
        for one in seeds:
            with limited():
                self._fed(one, traced=True)
        of_seeds = self.inputs
        while goes_on(self.inputs - of_seeds) and len(self.crashes) < _MOST_CRASHES:
            with limited():
                for _ in range(_PER_LIMIT):
                    if not goes_on(self.inputs - of_seeds):
                        break
                    parent = self.kept[int(len(self.kept) * dice.random() ** 0.7)]
                    self._fed(
                        mutated(parent, self.front.shape, dice, self.kept, self.front.words),
                        traced=dice.random() * _TRACED_OF < 1,
                    )
        self.took_s = time.monotonic() - began

    def _fed(self, data: bytes, *, traced: bool) -> None:
        self.inputs += 1
        _noted(self.scratch / "input", data)
        walked: set[Line] | None = set() if traced else None
        found = judged(
            self.front,
            data,
            self.scratch,
            slowest_s=self.slowest_s * (20 if traced else 1),
            lines=walked,
        )
        if (
            isinstance(found, Crash) and traced
        ):  # the tracer's own time and depth are nobody's fault
            found = judged(self.front, data, self.scratch, slowest_s=self.slowest_s)
        if isinstance(found, Crash):
            self._crashed(data, found)
            return
        self.refused += bool(found.answer)
        new = found.answer not in self.answers or bool(walked and not walked <= self.lines)
        self.answers.add(found.answer)
        self.lines |= walked or set()
        if new and len(data) <= _KEPT_BYTES and len(self.kept) < _MOST_KEPT:
            self.kept.append(data)

    def _crashed(self, data: bytes, crash: Crash) -> None:
        if crash.what in self.crashes:
            return
        small = data if crash.what.startswith("TooSlow") else self._shrunk(data, crash.what)
        found = judged(self.front, small, self.scratch, slowest_s=self.slowest_s)
        told = found if isinstance(found, Crash) else crash
        path = (
            self.out
            / f"{self.front.name}-{hashlib.sha256(crash.what.encode()).hexdigest()[:10]}.bin"
        )
        path.write_bytes(small)
        path.with_suffix(".txt").write_text(
            f"{crash.what}\nseed {self.seed}, input {self.inputs}, {len(data)} bytes, "
            f"shrunk to {len(small)}\n\n{told.trace}",
            errors="backslashreplace",
        )
        self.crashes[crash.what] = path

    def _shrunk(self, data: bytes, what: str) -> bytes:
        """The input without the stretches that do not matter: halves first, then less and less."""
        until = time.monotonic() + _SHRINKING_S
        size = len(data) // 2
        while size >= 1 and time.monotonic() < until:
            at = 0
            while at < len(data) and time.monotonic() < until:
                less = data[:at] + data[at + size :]
                found: Clean | Crash = judged(
                    self.front, less, self.scratch, slowest_s=self.slowest_s
                )
                if isinstance(found, Crash) and found.what == what:
                    data = less
                else:
                    at += size
            size //= 2
        return data


def _noted(path: Path, data: bytes) -> None:
    """The input lies there while it is fed: whoever finds the process dead finds it."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        os.write(descriptor, data)
    finally:
        os.close(descriptor)
