"""Every form of a diagnosis shows a remedy that is under way."""

from __future__ import annotations

from dataclasses import replace
from io import StringIO

import pytest
from rich.console import Console
from tests.support.planning_scenes import diagnosed

from barostat.core.diagnosis import HeldLimit, RunningRemedy
from barostat.core.shown import ShownReport
from barostat.shells.reports.diagnosis.data import report_json
from barostat.shells.reports.diagnosis.markdown import report_markdown
from barostat.shells.reports.diagnosis.page import report_html
from barostat.shells.reports.diagnosis.text import print_report

REMEDY = RunningRemedy(
    "vllm-1",
    "deploy/vllm -n chat",
    "Verifying",
    "--max-num-seqs: 64 -> 16",
    "host-1",
    (("s0", "spare"),),
    (HeldLimit("gate", "kvTokenBudget", 4096.0, 20.0),),
)


@pytest.mark.parametrize("form", ["text", "md", "html"])
def test_a_person_reads_it(form: str) -> None:
    _, report = diagnosed("kv-preemption-thrash")
    shown = ShownReport(replace(report, remedies=(REMEDY,)))
    if form == "text":
        console = Console(record=True, width=200, file=StringIO())

        print_report(shown, console)
        said = console.export_text()
    else:
        said = report_markdown(shown) if form == "md" else report_html(shown, {})
    for words in ("incident vllm-1", "is not over: Verifying", "is its spare", "kvTokenBudget"):
        assert words in said


def test_a_program_reads_it() -> None:
    _, report = diagnosed("kv-preemption-thrash")
    found = report_json(ShownReport(replace(report, remedies=(REMEDY,))))
    assert found["remedies"][0]["phase"] == "Verifying"
    assert found["remedies"][0]["limits"][0]["value"] == 4096.0
