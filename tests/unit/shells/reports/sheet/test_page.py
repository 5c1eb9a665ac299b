"""The parts of a page: whole, escaped, and allowed to do nothing."""

from __future__ import annotations

import hashlib
from base64 import b64encode
from xml.etree import ElementTree

from barostat.shells.reports.sheet.page import (
    beside,
    facts,
    figures,
    folded,
    footer,
    heading,
    listing,
    page,
    table,
    verdict,
)

BAD = "<script>x</script>\"'&\x1b"


def parsed(text: str) -> ElementTree.Element:
    return ElementTree.fromstring(text.removeprefix("<!doctype html>\n"))


def test_its_policy_allows_its_own_style_and_nothing_else() -> None:
    root = parsed(page("x", "<p>y</p>"))
    policy = next(
        meta.attrib["content"]
        for meta in root.iter("meta")
        if meta.get("http-equiv") == "Content-Security-Policy"
    )
    style = root.findtext(".//style") or ""
    assert policy.split("; ")[0] == "default-src 'none'"
    assert (
        f"style-src 'sha256-{b64encode(hashlib.sha256(style.encode()).digest()).decode()}'"
        in policy
    )
    assert "unsafe" not in policy
    assert "script-src" not in policy


def test_every_part_escapes_what_it_is_given() -> None:
    parts = (
        heading(BAD, BAD, BAD), verdict("none", BAD, BAD, BAD, BAD), figures([(BAD, BAD, BAD)]), facts([(BAD, BAD)]),
        table([(BAD, "n"), (BAD, BAD)], mono=(0,)), listing(BAD, ["fine"]), folded(BAD, ""), footer(BAD),
    )  # fmt: skip
    text = page(BAD, beside("".join(parts), ""))
    assert "<script" not in text
    parsed(text)


def test_what_is_empty_takes_no_room() -> None:
    assert listing("Why", []) == ""
    assert figures([]) == ""


def test_a_chosen_row_stands_out_and_words_stand_left() -> None:
    root = ElementTree.fromstring(table([("name", "n"), ("a", "1"), ("b", "2")], chosen=(1,)))
    assert [row.get("class") for row in root.iter("tr")] == [None, None, "chosen"]
    assert [cell.get("class") for cell in root.iter("td")] == ["words", None] * 2
