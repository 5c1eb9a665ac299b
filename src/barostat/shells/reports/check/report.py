"""What a check's report consists of, whatever its form."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from barostat.lint.rule import Finding


@dataclass(frozen=True, slots=True)
class CheckReport:
    """`hidden`: findings that only the pedant sees. `suppressed`: allowed in place, each with its
    reason.

    `unreadable` and `notes`: a sentence each, for people.
    """

    findings: tuple[Finding, ...]
    suppressed: tuple[tuple[Finding, str], ...]
    files: int
    engines: int
    hidden: int
    persona: str
    unreadable: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def summary(self) -> str:
        """The report in one line."""
        counts = Counter(one.severity for one in self.findings)
        said = (
            ", ".join(
                _counted(counts[kind], kind)
                for kind in ("error", "warning", "note")
                if counts[kind]
            )
            or "nothing found"
        )
        parts = [f"{_counted(self.files, 'file')}, {_counted(self.engines, 'engine')}: {said}"]
        if self.unreadable:
            parts.append(f"{len(self.unreadable)} not readable")
        if self.suppressed:
            parts.append(f"{len(self.suppressed)} allowed in place")
        if self.hidden:
            parts.append(f"{self.hidden} more for --persona pedant")
        return "; ".join(parts)


def _counted(number: int, word: str) -> str:
    return f"{number:,} {word}{'' if number == 1 else 's'}"
