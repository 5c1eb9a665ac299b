"""The report on a terminal: what was tried fits it."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from barostat.core.diagnosis import Diagnosis, Forecast, ReplicaReport, Report
from barostat.core.shown import shown_report
from barostat.shells.reports.diagnosis.text import TrialsTable, print_report

HEADING = ("", "tokens/s", "TTFT", "p99", "ITL", "p99", "preempt/s", "refused")
TODAY = ("today", "354", "50.57 s", "75.58 s", "26.7 ms", "33.4 ms", "0.77", "0.0%")


@pytest.mark.parametrize(("columns", "gap"), [(80, 2), (71, 2), (70, 1), (64, 1)])
def test_columns_move_together_before_a_heading_is_cut(columns: int, gap: int) -> None:
    written = io.StringIO()
    Console(file=written, width=columns, color_system=None).print(TrialsTable([HEADING, TODAY]))
    heading, today = (line.rstrip() for line in written.getvalue().splitlines())
    assert heading.endswith(f"p99{' ' * gap}preempt/s{' ' * gap}refused")
    assert len(today) == len(heading) <= columns


@pytest.mark.parametrize(
    ("sick", "says"), [(2, "1 more replica is not healthy"), (3, "2 more replicas are not healthy")]
)
def test_how_many_more_are_not_healthy(sick: int, says: str) -> None:
    thrash = Diagnosis("kv-preemption-thrash", "critical", 0.9, "the pool is full")
    replicas = tuple(
        ReplicaReport(f"vllm-{number}", "", thrash, Forecast(None), ()) for number in range(sick)
    )
    written = io.StringIO()
    print_report(
        shown_report(Report(0.0, "fleet", replicas, thrash)),
        Console(file=written, width=100, color_system=None),
    )
    assert f"\n{says}: -o wide shows each." in written.getvalue()
