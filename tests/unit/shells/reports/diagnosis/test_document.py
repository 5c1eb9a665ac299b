"""The page of a diagnosis: everything the report says, escaped, with the signals over time, and
nothing to fetch.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest

from barostat.core.proposed_change import Advise
from barostat.core.prose import Prose
from barostat.core.shown import ShownReport
from barostat.core.window import Window
from barostat.io.bundles import bundle
from barostat.judge.advice.change_text import as_written
from barostat.judge.diagnosis.diagnose import examine
from barostat.shells.cli.main import main
from barostat.shells.reports.diagnosis.document import report_document
from barostat.shells.reports.sheet.forms import as_html

BUNDLES = Path(__file__).parents[4] / "data" / "bundles"


def judged(name: str) -> tuple[ShownReport, dict[str, Window]]:
    found = examine(bundle.read(BUNDLES / name))
    return found.report, dict(found.shown)


def _page(report: ShownReport, windows: dict[str, Window]) -> str:
    return as_html(report_document(report, windows))


def parsed(text: str) -> ElementTree.Element:
    return ElementTree.fromstring(text.removeprefix("<!doctype html>\n"))


def words(root: ElementTree.Element) -> str:
    return " ".join("".join(root.itertext()).split())


@pytest.mark.parametrize("folder", sorted(BUNDLES.iterdir()), ids=lambda path: path.name)
def test_the_page_is_whole_fetches_nothing_and_says_what_the_report_says(folder: Path) -> None:
    report, windows = judged(folder.name)
    text = _page(report, windows)
    assert not [
        word for word in ("src=", "href=", "<script", "<link", "@import", "url(") if word in text
    ]
    said = words(parsed(text))
    replica = report.replicas[0]
    for sentence in (
        replica.diagnosis.cause,
        replica.diagnosis.summary,
        *(str(as_written(step.change)) for step in replica.next),
        *(str(step.because) for step in replica.next),
        *(str(step.because) for step in replica.not_advised),
        *(item.because for item in replica.ruled_out),
        *replica.missing,
    ):
        assert " ".join(sentence.split()) in said


def test_the_signals_that_carry_it_are_drawn_with_the_pool_as_their_limit() -> None:
    report, windows = judged("kv-preemption-thrash")
    root = parsed(_page(report, windows))
    titles = [words(caption) for caption in root.iter("figcaption")]
    assert [title.split(" mean")[0] for title in titles] == [
        "KV usage", "Requests runningwaiting", "Preemptions per second", "Output tokens per second", "Time to first token",
        "Time between tokens",
    ]  # fmt: skip
    assert "8,192 tokens" in [text.text for text in root.iter("text")]


def test_cpu_is_drawn_where_it_is_what_lacks() -> None:
    root = parsed(_page(*judged("host-bound-text")))
    assert any(words(caption).startswith("CPU") for caption in root.iter("figcaption"))


def test_an_engine_that_never_came_up_has_no_drawings() -> None:
    assert not list(parsed(_page(*judged("bad-config-model"))).iter("svg"))


def test_a_recording_that_tells_no_time_is_not_from_1970() -> None:
    assert "1970" not in _page(*judged("bad-config-argument"))


def test_several_replicas_come_with_a_table_and_a_section_each() -> None:
    report, windows = judged("kv-preemption-thrash")
    other = replace(report.replicas[0], name="b")
    root = parsed(_page(replace(report, replicas=(report.replicas[0], other)), windows))
    assert len(list(root.iter("section"))) == 2
    assert [words(cell) for cell in root.findall(".//table/tr/td[1]")] == ["replica-0", "b"]


def test_what_comes_from_outside_is_escaped() -> None:
    report, windows = judged("kv-preemption-thrash")
    bad = "<img src=x onerror=alert(1)>&"
    replica = report.replicas[0]
    hurt = replace(
        replica,
        name=bad,
        engine_version=bad,
        diagnosis=replace(replica.diagnosis, summary=bad, variant=bad),
        next=(replace(replica.next[0], change=Advise(Prose(bad)), because=Prose(bad)),),
        not_advised=(replace(replica.next[0], lever=bad, because=Prose(bad)),),
        ruled_out=(replace(replica.ruled_out[0], because=bad),),
        contributing=(bad,),
        missing=(bad,),
        problems=(bad,),
    )
    text = _page(replace(report, target=bad, problems=(bad,), replicas=(hurt, hurt)), windows)
    assert "<img" not in text
    parsed(text)


def test_the_command_prints_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert (
        main(
            [
                "diagnose",
                "--bundle",
                str(BUNDLES / "kv-preemption-thrash"),
                "--no-trials",
                "-o",
                "html",
            ]
        )
        == 1
    )
    assert "kv-preemption-thrash" in words(parsed(capsys.readouterr().out))
    assert main(["diagnose", "http://127.0.0.1:9", "-o", "html", "--watch"]) == 2
