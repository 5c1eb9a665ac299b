"""Rows of the survey: replicas of one workload that are alike share a row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from barostat.core.units import thousands
from barostat.judge.survey.survey import SurveyedEngine
from barostat.shells.reports.diagnosis.headline import cause_words

HEAD = (
    "",
    "engine",
    "verdict",
    "KV used",
    "KV free",
    "rollout",
    "flags",
    "no limit",
    "GPUs",
    "$/h",
)
NUMBERS = (3, 4, 6, 7, 9)
"""Columns that hold numbers."""
_MARKS = {"none": "ok", "info": "ok", "warning": "warning", "critical": "critical"}


@dataclass(frozen=True, slots=True)
class Row:
    """Alike replicas of one workload, the worst first."""

    engines: tuple[SurveyedEngine, ...]

    @property
    def worst(self) -> SurveyedEngine:
        """The replica whose figures are shown."""
        return self.engines[0]

    @property
    def workload_name(self) -> str:
        """`inference/deployment/vllm`; empty if no workload is known."""
        reference = self.worst.workload
        if reference is None:
            return ""
        before = f"{reference.namespace}/" if reference.namespace else ""
        return f"{before}{reference.kind}/{reference.name}"

    @property
    def name(self) -> str:
        """A pod by its name; several by their workload and number."""
        if len(self.engines) == 1 or not self.workload_name:
            return self.worst.report.name
        return f"{self.workload_name} ({len(self.engines)} replicas)"

    def cells(self) -> tuple[str, ...]:
        """The row, one cell for each of HEAD."""
        worst = self.worst
        diagnosis = worst.report.diagnosis
        cost = [one.cost_per_hour for one in self.engines if one.cost_per_hour is not None]
        gpus = sum(one.gpus for one in self.engines)
        free = [one.free_tokens for one in self.engines if one.free_tokens is not None]
        used = [one.used_ratio for one in self.engines if one.used_ratio is not None]
        gpu = " ".join(filter(None, (f"{gpus} {worst.gpu}".strip(), worst.gpu_note)))
        return (
            "?" if diagnosis.cause == "unknown" else _MARKS[diagnosis.severity],
            self.name,
            "no answer" if worst.report.unreachable else cause_words(diagnosis),
            f"{max(used):.0%}" if used else "-",
            thousands(min(free)) if free else "-",
            worst.rollout.outcome,
            str(len(worst.unsafe)) if worst.is_checked else "-",
            str(len(worst.missing_limits)) if worst.is_checked else "-",
            gpu if gpus or worst.gpu else worst.gpu_note or "-",
            f"{sum(cost):,.2f}" if cost else "-",
        )


def rows(engines: Sequence[SurveyedEngine]) -> list[Row]:
    """The rows in the engines' order."""
    alike: dict[object, list[SurveyedEngine]] = {}
    for place, one in enumerate(engines):
        diagnosis = one.report.diagnosis
        own = place if one.workload is None else one.workload
        state = (diagnosis.cause, diagnosis.variant, diagnosis.severity, one.report.unreachable)
        alike.setdefault((own, *state, one.rollout.outcome), []).append(one)
    return [Row(tuple(found)) for found in alike.values()]


def cells(engines: Sequence[SurveyedEngine], *, priced: bool) -> list[tuple[str, ...]]:
    """The whole table, the heading first; without the cost where nothing has a price."""
    table = [HEAD, *(row.cells() for row in rows(engines))]
    return table if priced else [row[:-1] for row in table]
