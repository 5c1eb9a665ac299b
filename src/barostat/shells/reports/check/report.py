"""What a check's report consists of, whatever its format."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from barostat.lint.rule import NOTHING_CHECKED, Finding


@dataclass(frozen=True, slots=True)
class CheckReport:
    """`unchecked`: what could not be read, each with its reason; errors among them fail the check.
    `suppressed`: allowed in place, each with its reason. `hidden`: findings that only the strict
    profile shows. `notes`: sentences about the check as a whole. `assumed`: the
    version of vLLM assumed for so many engines whose image does not name one.
    """

    findings: tuple[Finding, ...]
    unchecked: tuple[Finding, ...]
    suppressed: tuple[tuple[Finding, str], ...]
    files: int
    engines: int
    hidden: int
    persona: str
    notes: tuple[str, ...] = ()
    assumed: tuple[str, int] | None = None

    @property
    def results(self) -> tuple[Finding, ...]:
        """What every format shows: what was not checked, then the findings."""
        return (*self.unchecked, *self.findings)

    @property
    def is_incomplete(self) -> bool:
        """True if something that should have been checked was not."""
        return any(one.severity == "error" for one in self.unchecked)

    def summary(self) -> str:
        """Return the report in one line."""
        counts = Counter(one.severity for one in self.findings)
        total = ", ".join(
            _counted(counts[kind], kind) for kind in ("error", "warning", "note") if counts[kind]
        )
        checked = f"{_counted(self.files, 'file')}, {_counted(self.engines, 'engine')}"
        if any(one.rule == NOTHING_CHECKED for one in self.unchecked):
            parts = [f"{checked}: nothing was checked"]
        else:
            parts = [f"{checked}: {total or 'nothing found'}"]
            if self.unchecked:
                parts.append(f"{len(self.unchecked)} not checked")
        if self.assumed is not None:
            version, engines = self.assumed
            parts.append(f"vLLM {version} assumed for {_counted(engines, 'engine')}")
        if self.suppressed:
            parts.append(f"{len(self.suppressed)} allowed in place")
        if self.hidden:
            parts.append(f"{self.hidden} more for --profile strict")
        return "; ".join(parts)


def _counted(number: int, word: str) -> str:
    return f"{number:,} {word}{'' if number == 1 else 's'}"
