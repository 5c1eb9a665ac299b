"""A document as Markdown: every block in a form that a ticket shows, and nothing that acts."""

from __future__ import annotations

import re

import pytest
from tests.support.one_of_each_block import BAD, EACH

from barostat.shells.reports.sheet import blocks
from barostat.shells.reports.sheet.blocks import (
    BREAK,
    Document,
    Facts,
    Heading,
    Item,
    Items,
    Listing,
    Only,
    Paragraph,
    Section,
    Table,
    Text,
    Tiles,
    Verdict,
    bold,
    code,
    named,
    tag,
)
from barostat.shells.reports.sheet.markdown import markdown


def lines(*shown: blocks.Block) -> list[str]:
    return markdown(Document("x", shown)).splitlines()


@pytest.mark.parametrize("block", EACH, ids=lambda block: type(block).__name__)
def test_no_block_lets_markup_through(block: blocks.Block) -> None:
    text = markdown(Document("x", [block]))
    bare = re.sub("`[^`]*`", "", text)
    assert "<script" not in bare
    assert "](b)" not in bare.replace("\\](b)", "")
    assert "\x1b" not in text
    assert not any(line.startswith("next line") for line in text.splitlines())
    assert BAD not in text


def test_the_parts_of_a_report_in_their_order() -> None:
    assert lines(
        Heading("plan", "a_b", "on H100"),
        Verdict("none", "FITS", "It fits", "With room.", "90% sure"),
        Tiles([("KV usage", "90%", "99% at most")]),
        Facts([("Cause", "kv | pool")]),
        Section("Why", [Paragraph("because"), Listing("Notes", ["x"], numbered=True)]),
        Section("Nothing", [Items([])]),
    ) == [
        "# a_b", "", "on H100", "", "**FITS: It fits** (90% sure). With room.", "",
        "- KV usage: 90% (99% at most)", "", "- **Cause:** kv \\| pool", "", "## Why", "", "because",
        "", "### Notes", "", "1. x",
    ]  # fmt: skip


def test_a_table_aligns_numbers_to_the_right_and_keeps_code() -> None:
    rows: list[tuple[str, Text]] = [("limit", "value"), ("spec.a", "1"), ("spec.b", (bold("2"),))]
    assert lines(Table(rows, mono=(0,))) == [
        "| limit | value |", "| --- | ---: |", "| `spec.a` | 1 |", "| `spec.b` | **2** |",
    ]  # fmt: skip


def test_what_stands_out_does_and_a_break_is_a_colon() -> None:
    step = (code("--max-num-seqs 8"), " ", tag("live"), BREAK, "fewer at once")
    assert lines(Items([step, named("thrash", "seen")])) == [
        "- `--max-num-seqs 8` (live): fewer at once", "- **thrash**: seen",
    ]  # fmt: skip


def test_what_stands_below_an_item_is_indented() -> None:
    assert lines(Items([Item("a", [Items(["b", "c"])])])) == ["- a", "  - b", "  - c"]


def test_what_is_for_another_form_is_left_out() -> None:
    assert lines(Only(("html",), [Paragraph("a")]), Only(("markdown",), [Paragraph("b")])) == ["b"]
