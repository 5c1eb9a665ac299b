"""The report on a terminal: what was tried fits it."""

from __future__ import annotations

import pytest

from barostat.core.diagnosis import Diagnosis, Forecast, ReplicaReport, Report
from barostat.core.shown import shown_report
from barostat.shells.reports.diagnosis.document import report_document
from barostat.shells.reports.sheet.forms import as_text


@pytest.mark.parametrize(
    ("sick", "says"), [(2, "1 more replica is not healthy"), (3, "2 more replicas are not healthy")]
)
def test_how_many_more_are_not_healthy(sick: int, says: str) -> None:
    thrash = Diagnosis("kv-preemption-thrash", "critical", 0.9, "the pool is full")
    replicas = tuple(
        ReplicaReport(f"vllm-{number}", "", thrash, Forecast(None), ()) for number in range(sick)
    )
    shown = shown_report(Report(0.0, "fleet", replicas, thrash))
    text = as_text(report_document(shown, short=True), 100)
    assert f"\n{says}: -o wide shows each." in text
