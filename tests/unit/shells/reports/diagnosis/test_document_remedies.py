"""Every form of a diagnosis shows a remedy that is under way."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.support.planning_scenes import diagnosed

from barostat.core.diagnosis import HeldLimit, RunningRemedy
from barostat.core.shown import ShownReport
from barostat.shells.reports.diagnosis.data import report_json
from barostat.shells.reports.diagnosis.document import report_document
from barostat.shells.reports.sheet import forms

REMEDY = RunningRemedy(
    "vllm-1",
    "deploy/vllm -n chat",
    "Verifying",
    "--max-num-seqs: 64 -> 16",
    "host-1",
    (("s0", "spare"),),
    (HeldLimit("gate", "kvTokenBudget", 4096.0, 20.0),),
)


@pytest.mark.parametrize("form", ["table", "wide", "md", "html"])
def test_a_person_reads_it(form: str) -> None:
    _, report = diagnosed("kv-preemption-thrash")
    shown = ShownReport(replace(report, remedies=(REMEDY,)))
    said = forms.shown(report_document(shown, short=form == "table"), form)
    for words in ("incident vllm-1", "is not over: Verifying", "is its spare", "kvTokenBudget"):
        assert words in said


def test_a_program_reads_it() -> None:
    _, report = diagnosed("kv-preemption-thrash")
    found = report_json(ShownReport(replace(report, remedies=(REMEDY,))))
    assert found["remedies"][0]["phase"] == "Verifying"
    assert found["remedies"][0]["limits"][0]["value"] == 4096.0
