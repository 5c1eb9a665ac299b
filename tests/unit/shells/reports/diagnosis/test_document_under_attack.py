"""Every form of a report in which every text is an attack: all is shown, nothing acts."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import get_args

import pytest

from barostat.core.diagnosis import CAUSES, VARIANTS, Report, Scope, Severity, TriggerKind
from barostat.core.redaction.values import every_text
from barostat.core.shown import ShownReport, shown_report
from barostat.io.bundles import bundle
from barostat.judge.diagnosis.diagnose import examine
from barostat.shells.reports.diagnosis.data import report_json
from barostat.shells.reports.diagnosis.document import report_document
from barostat.shells.reports.sheet.forms import as_text, shown

BUNDLE = Path(__file__).parents[4] / "data" / "bundles" / "kv-preemption-thrash"
ATTACK = (
    "\x1b[8m\x1b]8;;http://evil.example/\x07x\x9b2J\u202e\u200b[/nope]<script>a</script><img "
    "src=x> ![p](http://evil.example/p.png)"
    "[l](javascript:a) | cell |\n# heading\n\n- item `code` hf_a1B2c3D4e5F6g7H8i9 @team \ud800"
)
_WORDS = {
    *CAUSES,
    *get_args(Severity),
    *get_args(Scope),
    *get_args(TriggerKind),
    "",
    *(v for some in VARIANTS.values() for v in some),
}
_ACTING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\ud800-\udfff]")


@pytest.fixture(scope="module")
def attacked() -> ShownReport:
    found: Report = examine(bundle.read(BUNDLE)).report
    for_each: Callable[[str], str] = lambda text: text if text in _WORDS else f"{ATTACK}{text}"  # noqa: E731
    one = every_text(found, for_each)
    odd = replace(one.replicas[0], forecast=replace(one.replicas[0].forecast, exhaustion_in_s=5.0))
    return shown_report(replace(one, replicas=(one.replicas[0], odd), problems=(ATTACK,)))


def _rendered(form: str, report: ShownReport, width: int = 80) -> str:
    if form == "json":
        return json.dumps(report_json(report), ensure_ascii=False)
    document = report_document(report, {}, short=form == "table")
    return as_text(document, width) if form in ("table", "wide") else shown(document, form)


@pytest.mark.parametrize("form", ["table", "wide", "md", "html", "json"])
@pytest.mark.parametrize("width", [1, 80])
def test_nothing_acts_in_any_form(form: str, width: int, attacked: ShownReport) -> None:
    told = _rendered(form, attacked, width)
    assert not _ACTING.search(told), _ACTING.search(told)
    assert "hf_a1B2" not in told
    assert "evil.example" in told or width == 1


def test_markdown_has_no_markup_of_theirs(attacked: ShownReport) -> None:
    told = _rendered("md", attacked)
    outside_code = re.sub(r"`[^`\n]*`", "", told)
    assert not re.search(r"(?<!\\)[<\[\]]|\bhttps?://|(?<![\w.])@\w", outside_code)
    assert "\n# heading" not in told
    assert "\n- item" not in told
    assert {
        len(re.findall(r"(?<!\\)\|", row)) for row in told.splitlines() if row.startswith("|")
    } == {6}


def test_a_page_has_no_element_of_theirs(attacked: ShownReport) -> None:
    told = _rendered("html", attacked)
    assert "<script" not in told
    assert "<img" not in told
    assert html.escape("<script>a</script>") in told
