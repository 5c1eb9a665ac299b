"""One row for each replica of an examination: what it holds, does and waits for, and its verdict
with the instant it began at.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from barostat.core.diagnosis import Severity
from barostat.core.window import Window
from barostat.judge.diagnosis.diagnose import Examination
from barostat.shells.reports.diagnosis.headline import cause_words

SILENT = "no answer"
LOOKING = "looking"


@dataclass(frozen=True, slots=True)
class Row:
    """One replica's row. None: not measured. Units: `since` is unix seconds; latencies are the
    window's 99th percentiles.
    """

    name: str
    kv_ratio: float | None = None
    running: float | None = None
    waiting: float | None = None
    preemptions_per_s: float | None = None
    tokens_per_s: float | None = None
    ttft_s: float | None = None
    itl_s: float | None = None
    verdict: str = LOOKING
    severity: Severity = "info"
    since: float | None = None
    said: str = ""


@dataclass(slots=True)
class Since:
    """Since when each replica has had its verdict. A replica that is not there any more is
    forgotten.
    """

    _known: dict[str, tuple[str, float]]

    def __init__(self) -> None:
        self._known = {}

    def taken(self, found: Examination, *, first: bool) -> tuple[Row, ...]:
        """The rows of a look. `first`: servers were asked once, so that no verdict is possible
        yet.
        """
        rows, known = [], dict[str, tuple[str, float]]()
        for report in found.report.replicas:
            by_engine = found.windows.get(report.name, {})
            verdict = (
                SILENT
                if report.unreachable
                else LOOKING
                if first
                else cause_words(report.diagnosis)
            )
            before = self._known.get(report.name)
            since = before[1] if before is not None and before[0] == verdict else found.report.at
            known[report.name] = verdict, since
            rows.append(
                Row(
                    report.name,
                    _over(by_engine, "kv_usage_ratio", max),
                    _over(by_engine, "running_requests", sum),
                    _over(by_engine, "waiting_requests", sum),
                    _over(by_engine, "preemptions_per_s", sum),
                    _over(by_engine, "generation_tokens_per_s", sum),
                    _over(by_engine, "ttft_p99_s", max),
                    _over(by_engine, "itl_p99_s", max),
                    verdict,
                    "info" if first else report.diagnosis.severity,
                    since,
                    "" if first else report.diagnosis.summary,
                )
            )
        self._known = known
        return tuple(rows)


def _over(
    by_engine: Mapping[str, Window], name: str, together: Callable[[Iterable[float]], float]
) -> float | None:
    """The last fresh value over all engines of the replica; None if none has it."""
    found = [
        signal.last for window in by_engine.values() if (signal := window.fresh(name)) is not None
    ]
    return together(found) if found else None
