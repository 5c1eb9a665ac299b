"""A diagnosis after another for a person who watches: in full when it changes, else a line for each
replica with what one watches.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

from rich.console import Console
from rich.text import Text

from barostat.core.diagnosis import ReplicaReport
from barostat.core.units import figure, thousands
from barostat.core.window import Window
from barostat.judge.diagnosis.diagnose import Examination
from barostat.shells.reports.diagnosis.document import report_document
from barostat.shells.reports.diagnosis.headline import WORDS, cause_words
from barostat.shells.reports.sheet.forms import print_document
from barostat.shells.reports.sheet.terminal import STYLES

_WATCHED = (
    ("kv_usage_ratio", "KV", lambda value: f"{value:.0%}"),
    ("running_requests", "run", thousands),
    ("waiting_requests", "wait", thousands),
    ("preemptions_per_s", "pre/s", lambda value: figure(value, 2)),
    ("generation_tokens_per_s", "tok/s", thousands),
)
"""Signal, its short name, and how it is written."""
_MISSING = "-"


@dataclass(slots=True)
class Watched:
    """Prints one look after another. Mutable: what was said last, and since when each replica has
    its verdict.
    """

    console: Console
    wide: bool = False
    _said: object = None
    _since: dict[str, tuple[str, float]] = field(default_factory=dict)

    def show(self, found: Examination) -> None:
        """The report in full where what it says has changed, else a line for each replica."""
        report = found.report
        for replica in report.replicas:
            verdict = f"{WORDS[replica.diagnosis.severity]} {cause_words(replica.diagnosis)}"
            if self._since.get(replica.name, ("", 0.0))[0] != verdict:
                self._since[replica.name] = (verdict, report.at)
        saying = [
            (
                r.name,
                cause_words(r.diagnosis),
                r.diagnosis.severity,
                r.forecast.exhaustion_in_s is not None,
            )
            for r in report.replicas
        ]
        if saying != self._said:
            self._said = saying
            print_document(report_document(report, short=not self.wide), self.console)
        for replica in report.replicas:
            line = self._line(
                replica, found.shown.get(replica.name), report.at, several=len(report.replicas) > 1
            )
            piped = not self.console.is_terminal
            self.console.print(
                line,
                no_wrap=True,
                overflow="ignore" if piped else "ellipsis",
                crop=not piped,
                soft_wrap=piped,
            )

    def _line(
        self, replica: ReplicaReport, window: Window | None, at: float, *, several: bool
    ) -> Text:
        """Time, replica (of several), how bad and since when, what one watches, the cause."""
        diagnosis = replica.diagnosis
        line = Text.assemble(
            (f"{_clock(at)} ", "dim"), (f"{replica.name} " if several else "", "dim")
        )
        line.append(WORDS[diagnosis.severity], style=STYLES[diagnosis.severity])
        line.append(f" {_stretch(at - self._since[replica.name][1]):<5}", style="dim")
        for signal, name, written in _WATCHED:
            seen = window.fresh(signal) if window is not None else None
            line.append(f" {name} ", style="dim")
            line.append(f"{_MISSING if seen is None else written(seen.last):<4}")
        line.append(f" {cause_words(diagnosis)}", style="bold")
        return line


def _stretch(length_s: float) -> str:
    """How long in at most five characters: 45s, 12m, 3h20m."""
    minutes = int(length_s // 60)
    if minutes < 1:
        return f"{length_s:.0f}s"
    return f"{minutes}m" if minutes < 60 else f"{minutes // 60}h{minutes % 60:02d}m"


def _clock(at: float) -> str:
    return datetime.fromtimestamp(at).astimezone().strftime("%H:%M:%S")
