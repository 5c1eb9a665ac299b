"""Candidates below each other: the dot where the mean is, the bar as wide as what it may be."""

from __future__ import annotations

import re
from xml.etree import ElementTree

from barostat.shells.reports.sheet.blocks import Candidates, Document
from barostat.shells.reports.sheet.forms import as_html
from barostat.shells.reports.sheet.ranges import Candidate, Ranges, figures
from barostat.shells.reports.sheet.scale import plain


def side_by_side(drawn: list[Ranges]) -> str:
    page = as_html(Document("x", [Candidates(drawn)]))
    (found,) = ElementTree.fromstring(page.removeprefix("<!doctype html>\n")).iter("main")
    return ElementTree.tostring(found, encoding="unicode")


ROWS = (Candidate("today", 4.0, 2.0, 6.0), Candidate("<b>other</b>", 8.0, 8.0, 8.0, chosen=True))


def test_the_dot_lies_where_the_mean_is_within_its_bar() -> None:
    root = ElementTree.fromstring(side_by_side([Ranges("good/s", ROWS, plain)]))
    first, second = (float(dot.attrib["cx"]) for dot in root.iter("circle"))
    assert second - 4 == (first - 4) * 2
    bar = next(path.attrib["d"] for path in root.iter("path") if path.get("class") == "whisker")
    left, right = (float(found) for found in re.findall(r"[MH]([\d.]+)", bar))
    assert left < first < right
    assert [group.get("class") for group in root.iter("g")] == [None, "chosen"]


def test_a_limit_is_drawn_unless_it_would_flatten_the_rows() -> None:
    near = side_by_side([Ranges("TTFT", ROWS, plain, (5.0, "5 s"))])
    far = side_by_side([Ranges("TTFT", ROWS, plain, (500.0, "500 s"))])
    assert 'class="limit"' in near
    assert 'class="limit"' not in far


def test_without_a_row_there_is_no_drawing() -> None:
    assert figures([Ranges("x", (), plain)]) == ()


def test_a_long_name_ends_within_the_drawing_sooner_where_it_is_bold() -> None:
    rows = (Candidate("n" * 99, 1.0, 1.0, 1.0), Candidate("n" * 99, 1.0, 1.0, 1.0, chosen=True))
    names = [
        len(name) for name in re.findall("(n+…)", side_by_side([Ranges("good/s", rows, plain)]))
    ]
    assert names == [54, 46]
