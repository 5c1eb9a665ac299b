"""The post-mortem of a range, as it is read."""

from __future__ import annotations

from tests.support.measured_past import NIGHT, night
from tests.support.page_text import unbroken

from barostat.shells.reports.review.past import past_document, past_json
from barostat.shells.reports.sheet.blocks import Document, Verdict
from barostat.shells.reports.sheet.forms import as_html, as_markdown


def verdict_of(document: Document) -> Verdict:
    assert document.verdict is not None
    return document.verdict


def test_the_page_and_the_text_tell_the_same_story() -> None:
    told = past_document(night(*NIGHT))
    for text in (unbroken(as_html(told)), as_markdown(told)):
        for words in (
            "CRITICAL",
            "kv-preemption-thrash",
            "kv-admission-queueing",
            "Began",
            "Ended",
            "Before, during, after",
            "a gap of 40 s",
        ):
            assert words in text
    assert "<svg" in as_html(told)
    assert "| from | to |" in as_markdown(told)


def test_a_quiet_range_says_so_and_gives_no_advice() -> None:
    told = past_document(night("healthy-busy", "healthy-busy"))
    assert verdict_of(told).severity == "none"
    text = as_markdown(told)
    assert "nothing was in trouble" in text
    assert "What would have helped" not in text


def test_what_had_begun_before_is_not_given_an_onset() -> None:
    text = as_markdown(past_document(night("kv-preemption-thrash", "healthy-idle")))
    assert "**Began:** before " in text


def test_the_document_has_each_step() -> None:
    found = past_json(night(*NIGHT))
    assert [step["cause"] for step in found["steps"]] == list(NIGHT)
    assert found["onset"]["from"] < found["ended"]["from"]
