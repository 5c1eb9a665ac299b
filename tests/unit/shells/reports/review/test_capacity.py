"""The capacity review, as it is read."""

from __future__ import annotations

from dataclasses import replace

from tests.support.measured_past import grown, month

from barostat.core.signal import Point
from barostat.judge.history.review import Kept, review
from barostat.shells.reports.review.capacity import Fleet, capacity_document, capacity_json
from barostat.shells.reports.sheet.blocks import Document, Verdict
from barostat.shells.reports.sheet.forms import as_html, as_markdown


def verdict_of(document: Document) -> Verdict:
    assert document.verdict is not None
    return document.verdict


def test_a_fleet_that_is_too_small_is_told_what_it_takes() -> None:
    found, fleet = grown()
    told = capacity_document(found, fleet, "inference")
    assert verdict_of(told).word == "DOES NOT FIT"
    text = as_markdown(told)
    assert "3 replicas for a peak that needs 4" in text
    assert "| for the peak seen, 10% kept free | 4 | 8 | +1 |" in text
    assert "It does not fit now" in text
    assert "edge-admission-budget" in text
    assert "<code>" in as_html(told)


def test_a_fleet_that_was_scaled_down_since_its_peak_is_told_so() -> None:
    kept = month()
    now = (*kept.line("replicas")[:-1], Point(kept.line("replicas")[-1].at, 1.0))
    told = capacity_document(
        review(replace(kept, lines={**kept.lines, "replicas": now})), Fleet(), "t"
    )
    assert verdict_of(told).word == "FITS"
    assert verdict_of(told).headline == "3 replicas, the peak needs 2"
    assert "; 1 to 3 replicas in that time, judged by 3, 1 at the end)" in verdict_of(told).sentence
    assert "| there at the peak | 3 |" in as_markdown(told)


def test_cards_that_nobody_tells_are_asked_for() -> None:
    text = as_markdown(capacity_document(review(month()), Fleet(), "t"))
    assert "--cards-per-replica" in text
    assert "FITS" in text
    assert "no change is called for" in text


def test_growth_that_ends_the_room_is_a_warning_with_its_interval() -> None:
    told = capacity_document(review(month(base=0.6, per_day=0.006)), Fleet(), "t")
    assert verdict_of(told).word == "WILL NOT FIT"
    assert "at the soonest" in verdict_of(told).headline


def test_a_short_history_says_what_it_cannot_tell() -> None:
    text = as_markdown(capacity_document(review(month(days=5)), Fleet(), "t"))
    assert "Cannot tell: 5 whole days were measured" in text


def test_nothing_kept_is_no_verdict() -> None:
    told = capacity_document(review(Kept(0.0, 86_400.0, 3600.0, {})), Fleet(), "t")
    assert verdict_of(told).word == "CANNOT TELL"
    assert as_html(told)
    assert capacity_json(review(Kept(0.0, 86_400.0, 3600.0, {})), Fleet(), "t")["need"] is None


def test_ranks_that_are_counted_as_replicas_are_said_to_be() -> None:
    assert "8 to a pod" in as_markdown(capacity_document(review(month()), Fleet(ranks=8), "t"))
    assert "Ranks" not in as_markdown(capacity_document(review(month()), Fleet(), "t"))
