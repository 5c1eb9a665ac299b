"""The kernel's own words about GPUs and memory: Xid lines, GSP time-outs, amdgpu resets, the OOM killer."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from barostat.core.signal import Signal


@dataclass(frozen=True, slots=True)
class KernelEvent:
    """All lines of one kind. `kind` is the catalogue's signal name; `codes` the Xid numbers among them; `quote` the last line, cut."""

    kind: str
    count: int
    first_at: float | None
    last_at: float | None
    quote: str
    codes: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class KernelDigest:
    """A kernel log in a nutshell."""

    source: str
    lines: int = 0
    events: tuple[KernelEvent, ...] = ()
    problems: tuple[str, ...] = ()

    def signals(self, at: float) -> dict[str, Signal]:
        """The kernel_* signals as seen at `at` (unix seconds), 0 where the log holds no line of the kind."""
        return {}


def digest(lines: Iterable[str], *, source: str) -> KernelDigest:
    """The digest of a kernel log. `source` names it for a person."""
    return KernelDigest(source, lines=sum(1 for _ in lines))
