"""Drawings: whole, escaped, with their limits and marks where they belong."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest

from barostat.shells.reports.sheet.blocks import Charts, Document
from barostat.shells.reports.sheet.charts import Chart, Line, Span, figure, figures
from barostat.shells.reports.sheet.forms import as_html
from barostat.shells.reports.sheet.scale import duration, percent, plain

SPAN = Span(100.0, 160.0, zero_s=100.0)


def drawn(chart: Chart, span: Span = SPAN) -> ElementTree.Element:
    page = as_html(Document("x", [Charts([chart], span)]))
    (found,) = ElementTree.fromstring(page.removeprefix("<!doctype html>\n")).iter("figure")
    return found


def texts(root: ElementTree.Element) -> list[str]:
    return [element.text or "" for element in root.iter("text")]


def heights(root: ElementTree.Element) -> list[float]:
    points = root.findall(".//polyline")[0].attrib["points"]
    return [float(pair.split(",")[1]) for pair in points.split()]


def test_higher_values_are_drawn_higher_and_the_axis_ends_at_a_round_number() -> None:
    root = drawn(Chart("Waiting", (Line([(100, 0), (130, 35), (160, 17.5)]),), plain))
    low, high, middle = heights(root)
    assert high < middle < low
    assert {"0", "25", "50"} <= set(texts(root))


def test_a_limit_is_drawn_where_its_value_is_and_not_where_it_would_flatten_the_line() -> None:
    near = drawn(
        Chart("Running", (Line([(100, 40), (160, 60)]),), plain, limits=((64.0, "64 slots"),))
    )
    far = drawn(
        Chart("Running", (Line([(100, 4), (160, 6)]),), plain, limits=((256.0, "256 slots"),))
    )
    limit = next(path for path in near.iter("path") if path.attrib["class"] == "limit")
    y = float(re.findall(r"M\d+ ([\d.]+)H", limit.attrib["d"])[0])
    assert y < min(heights(near))
    assert "64 slots" in texts(near)
    assert "256 slots" not in texts(far)


def test_marks_within_the_span_are_named_and_others_left_out() -> None:
    root = drawn(
        Chart("x", (Line([(100, 1), (160, 2)]),), plain),
        Span(100, 160, ((130, "burst"), (300, "later")), 100),
    )
    assert "burst" in texts(root)
    assert "later" not in texts(root)


def test_names_of_marks_that_are_near_to_each_other_stand_apart() -> None:
    marks = ((110.0, "burst"), (130.0, "diagnosed"), (133.0, "changed"), (159.0, "ended"))
    root = drawn(Chart("x", (Line([(100, 1), (160, 2)]),), plain), Span(100, 160, marks))
    anchors = {
        text.text: text.attrib["text-anchor"]
        for text in root.iter("text")
        if text.attrib.get("class") == "mark-name"
    }
    assert anchors == {"burst": "start", "diagnosed": "end", "changed": "start", "ended": "end"}


def test_the_axis_counts_from_its_zero() -> None:
    shown = texts(
        drawn(Chart("x", (Line([(100, 1), (160, 2)]),), plain), Span(100, 160, zero_s=120))
    )
    assert {"-20 s", "0", "20 s", "40 s"} <= set(shown)


@pytest.mark.parametrize(
    ("length_s", "shown"),
    [
        (12.0, {"0", "2.5 s", "10 s"}),
        (95.0, {"0", "20 s", "80 s"}),
        (290.0, {"0", "1 min", "4 min"}),
        (1140.0, {"0", "5 min", "15 min"}),
        (6 * 3600.0, {"0", "2 h", "6 h"}),
        (7 * 86400.0, {"0", "2 d", "6 d"}),
    ],
)
def test_the_axis_is_divided_as_a_clock_is(length_s: float, shown: set[str]) -> None:
    assert shown <= set(
        texts(drawn(Chart("x", (Line([(0, 1), (length_s, 2)]),), plain), Span(0.0, length_s)))
    )


def test_a_single_point_is_a_dot_and_no_point_is_no_drawing() -> None:
    assert drawn(Chart("x", (Line([(130, 1)]),), plain)).findall(".//circle")
    assert figure(Chart("x", (Line([]),), plain), SPAN) is None
    assert figures([Chart("x", (), plain)], SPAN) == ()


def test_what_is_no_number_is_left_out() -> None:
    assert (
        len(
            heights(
                drawn(
                    Chart("x", (Line([(100, 1), (130, float("nan")), (160, 2)]),), plain, top=2.0)
                )
            )
        )
        == 2
    )


def test_everything_that_comes_from_outside_is_escaped() -> None:
    bad = '<script>"&'
    chart = Chart(
        bad,
        (Line([(100, 1), (160, 2)], bad), Line([(100, 1)], bad, "second")),
        plain,
        limits=((2.0, bad),),
        note=bad,
    )
    text = as_html(Document(bad, [Charts([chart], Span(100, 160, ((120, bad),)))]))
    assert "<script>" not in text
    ElementTree.fromstring(text.removeprefix("<!doctype html>\n"))


def test_numbers_are_short() -> None:
    assert [percent(value) for value in (0, 0.012, 0.5, 1)] == ["0%", "1.2%", "50%", "100%"]
    assert [plain(value) for value in (0, 1.5, 12, 12345.6)] == ["0", "1.5", "12", "12,346"]
    assert [duration(value) for value in (0, 0.012, 5, 1200)] == ["0", "12 ms", "5 s", "20 min"]


def test_what_is_zero_everywhere_has_an_axis_to_one_and_a_count_no_halves() -> None:
    flat = (Line([(100, 0), (160, 0)]),)
    assert {"0", "0.5", "1"} <= set(texts(drawn(Chart("Preemptions per second", flat, plain))))
    counted = set(texts(drawn(Chart("Waiting", flat, plain, counts=True))))
    assert {"0", "1", "2"} <= counted
    assert not any("." in text or "e-" in text for text in counted)


def test_every_instant_tells_its_values_to_who_points_at_it() -> None:
    root = drawn(
        Chart(
            "Requests",
            (
                Line([(100, 3), (130, 5), (160, 4)], "running"),
                Line([(130, 7), (160, 9)], "waiting", "second"),
            ),
            plain,
        )
    )
    told = [
        [part.text for part in text.iter("tspan")]
        for text in root.iter("text")
        if text.get("class") == "reading"
    ]
    assert told == [
        ["0 s", "running 3"],
        ["30 s", "running 5", "waiting 7"],
        ["60 s", "running 4", "waiting 9"],
    ]


def test_a_long_recording_has_no_more_readings_than_a_pointer_can_tell_apart() -> None:
    root = drawn(Chart("x", (Line([(at, 1.0) for at in range(5000)]),), plain), Span(0, 5000))
    assert len([text for text in root.iter("text") if text.get("class") == "reading"]) <= 48


def test_names_of_limits_and_marks_do_not_stand_on_each_other() -> None:
    limits = ((50.0, "limit before: 50"), (48.0, "limit after: 48"), (46.0, "third"))
    named = [
        text
        for text in drawn(Chart("x", (Line([(100, 40), (160, 60)]),), plain, limits=limits)).iter(
            "text"
        )
        if text.get("class")
    ]
    places = [
        (text.attrib["text-anchor"], float(text.attrib["y"]))
        for text in named
        if text.get("class") == "limit-name"
    ]
    for index, (side, y) in enumerate(places):
        assert all(side != other or abs(y - at) >= 11 for other, at in places[:index])
    marks = ((130.0, "diagnosed"), (131.0, "changed"), (132.0, "recovered"))
    rows = [
        text.attrib["y"]
        for text in drawn(
            Chart("x", (Line([(100, 1), (160, 2)]),), plain), Span(100, 160, marks)
        ).iter("text")
        if text.get("class") == "mark-name"
    ]
    assert len(set(rows)) >= 2


def test_the_name_of_a_limit_does_not_stand_on_the_peaks_above_it() -> None:
    """They are what the limit is drawn for."""
    late = [(100 + second, 20.0 if second < 30 else 60.0) for second in range(61)]
    early = [(at, 80.0 - value) for at, value in late]
    for points, side in ((late, "start"), (early, "end")):
        root = drawn(Chart("Demand", (Line(points),), plain, 100.0, limits=((50.0, "3 replicas"),)))
        (name,) = (text for text in root.iter("text") if text.get("class") == "limit-name")
        assert name.attrib["text-anchor"] == side


def test_a_dashed_line_lies_above_one_that_is_the_same_and_a_pale_one_below() -> None:
    same = [(100.0, 1.0), (160.0, 2.0)]
    root = drawn(
        Chart(
            "Waiting",
            (
                Line(same, "today", "dashed"),
                Line(same, "then", "second"),
                Line(same, "highest", "pale"),
            ),
            plain,
        )
    )
    assert [line.attrib["class"] for line in root.iter("polyline")] == [
        "line pale",
        "line second",
        "line dashed",
    ]
