"""Every renderer of a report, found by its signature, with a report in which every text is an
attack: all is shown, nothing acts.
"""

from __future__ import annotations

import html
import importlib
import inspect
import io
import json
import pkgutil
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import pytest
from rich.console import Console

from barostat.core.diagnosis import CAUSES, VARIANTS, Report, Scope, Severity, TriggerKind
from barostat.core.redaction.values import every_text
from barostat.core.shown import ShownReport, shown_report
from barostat.io.bundles import bundle
from barostat.judge.diagnosis.diagnose import examine
from barostat.shells.reports import diagnosis as room

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


def _renderers() -> Iterator[tuple[str, Any]]:
    for module in pkgutil.iter_modules(room.__path__, f"{room.__name__}."):
        for name, found in vars(importlib.import_module(module.name)).items():
            if (
                inspect.isfunction(found)
                and found.__module__ == module.name
                and not name.startswith("_")
            ):
                parameters = inspect.signature(found).parameters.values()
                if any(
                    "Report" in str(one.annotation) and "Replica" not in str(one.annotation)
                    for one in parameters
                ):
                    yield f"{module.name.rpartition('.')[2]}.{name}", found


def _rendered(renderer: Any, report: ShownReport, width: int) -> str:
    parameters = inspect.signature(renderer).parameters
    assert parameters["report"].annotation == "ShownReport", (
        "a renderer takes what has been through the gate"
    )
    if "console" in parameters:
        out = io.StringIO()
        renderer(
            report,
            Console(file=out, width=width, markup=False, emoji=False, color_system=None),
            wide=True,
        )
        return out.getvalue()
    made = renderer(report, {}) if "windows" in parameters else renderer(report)
    return made if isinstance(made, str) else json.dumps(made, ensure_ascii=False)


def test_the_renderers_that_there_are_are_found() -> None:
    assert {name for name, _ in _renderers()} >= {
        "data.report_json",
        "markdown.report_markdown",
        "page.report_html",
        "text.print_report",
    }


@pytest.mark.parametrize("renderer", [pytest.param(found, id=name) for name, found in _renderers()])
@pytest.mark.parametrize("width", [1, 80])
def test_nothing_acts_in_any_form(renderer: Any, width: int, attacked: ShownReport) -> None:
    told = _rendered(renderer, attacked, width)
    assert not _ACTING.search(told), _ACTING.search(told)
    assert "hf_a1B2" not in told
    assert "evil.example" in told or width == 1


def test_markdown_has_no_markup_of_theirs(attacked: ShownReport) -> None:
    told = dict(_renderers())["markdown.report_markdown"](attacked)
    outside_code = re.sub(r"`[^`\n]*`", "", told)
    assert not re.search(r"(?<!\\)[<\[\]]|\bhttps?://|(?<![\w.])@\w", outside_code)
    assert "\n# heading" not in told
    assert "\n- item" not in told
    assert {
        len(re.findall(r"(?<!\\)\|", row)) for row in told.splitlines() if row.startswith("|")
    } == {5}


def test_a_page_has_no_element_of_theirs(attacked: ShownReport) -> None:
    told = dict(_renderers())["page.report_html"](attacked, {})
    assert "<script" not in told
    assert "<img" not in told
    assert html.escape("<script>a</script>") in told
