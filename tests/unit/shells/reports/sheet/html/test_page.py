"""A page: whole, escaped, and allowed to do nothing."""

from __future__ import annotations

import hashlib
from base64 import b64encode
from typing import get_args
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.one_of_each_block import BAD, EACH

from barostat.shells.reports.sheet import blocks
from barostat.shells.reports.sheet.blocks import (
    Badge,
    Beside,
    Document,
    Heading,
    Item,
    Items,
    Listing,
    Paragraph,
    Section,
    Table,
    Tiles,
    bold,
    code,
    soft,
    tag,
)
from barostat.shells.reports.sheet.html.page import page


def parsed(text: str) -> ElementTree.Element:
    return ElementTree.fromstring(text.removeprefix("<!doctype html>\n"))


def main(*shown: blocks.Block) -> ElementTree.Element:
    (found,) = parsed(page(Document("x", shown))).iter("main")
    return found


def test_its_policy_allows_its_own_style_and_nothing_else() -> None:
    root = parsed(page(Document("x", [Paragraph("y")])))
    policy = next(
        meta.attrib["content"]
        for meta in root.iter("meta")
        if meta.get("http-equiv") == "Content-Security-Policy"
    )
    style = root.findtext(".//style") or ""
    assert policy.split("; ")[0] == "default-src 'none'"
    digest = b64encode(hashlib.sha256(style.encode()).digest()).decode()
    assert f"style-src 'sha256-{digest}'" in policy
    assert "unsafe" not in policy
    assert "script-src" not in policy


@pytest.mark.parametrize("block", EACH, ids=lambda block: type(block).__name__)
def test_every_block_escapes_what_it_is_given(block: blocks.Block) -> None:
    text = page(Document(BAD, [block]))
    assert "<script" not in text
    assert "\x1b" not in text
    assert "&lt;script" in text.partition("<main>")[2]
    parsed(text)


def test_there_is_an_example_of_each_block() -> None:
    assert {type(block) for block in EACH} == set(get_args(blocks.Block))


def test_control_and_direction_characters_are_written_out() -> None:
    shown = main(Paragraph("\x1b[31m\x00\u202e\u2066 a\tb\nc\r"))
    assert "".join(shown.itertext()) == "\\x1b[31m\\x00\\u202e\\u2066 a\tb\nc "


@given(st.text(st.characters(codec=None, categories=None)))
def test_whatever_it_is_it_stands_in_a_page_as_text(text: str) -> None:
    (heading, *parts) = main(Heading(text, text, text), Paragraph((bold(text), code(text), text)))
    assert [one.tag for one in parts] == ["p"]
    assert {one.tag for one in heading.iter()} <= {"header", "p", "h1", "wbr", "span"}


def test_what_is_empty_takes_no_room() -> None:
    empty = (Listing("Why", []), Items([]), Tiles([]))
    assert not list(main(*empty, Section("Why", empty)))


def test_a_chosen_row_stands_out_and_words_stand_left() -> None:
    root = main(Table([("name", "n"), ("a", "1"), ("b", "2")], chosen=(1,)))
    assert [row.get("class") for row in root.iter("tr")] == [None, None, "chosen"]
    assert [cell.get("class") for cell in root.iter("td")] == ["words", None] * 2


def test_parts_of_a_text_stand_out_each_in_its_way() -> None:
    words = ("a ", bold("b"), " ", code("c"), blocks.BREAK, soft("d"), tag("e"))
    (paragraph,) = main(Paragraph((*words, Badge("BAD", "critical"))))
    tags = [(one.tag, one.get("class")) for one in paragraph]
    assert tags == [
        ("b", None), ("code", None), ("br", None), ("span", "soft"), ("span", "tag"),
        ("span", "badge critical"),
    ]  # fmt: skip


def test_an_item_carries_blocks_and_columns_stand_beside_each_other() -> None:
    item = Item("a", [Paragraph("b")])
    root = main(Beside([Items([item], numbered=True)], [Paragraph("c")]))
    assert root.findtext(".//ol/li/p") == "b"
    assert [child.get("class") for child in root] == ["two"]
