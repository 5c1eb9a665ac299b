"""A document for a terminal: within its width, nothing lost, nothing that drives it."""

from __future__ import annotations

import pytest
from rich.cells import cell_len
from tests.support.one_of_each_block import EACH

from barostat.shells.reports.sheet import blocks
from barostat.shells.reports.sheet.blocks import (
    BREAK,
    Document,
    Facts,
    Heading,
    Items,
    Listing,
    Only,
    Paragraph,
    Section,
    Table,
    Tiles,
    Verdict,
    code,
    tag,
)
from barostat.shells.reports.sheet.terminal import text

WIDE = (("engine", "verdict", "KV used", "note"), ("vllm-0", "kv-thrash", "97%", "preempts"))


def lines(*shown: blocks.Block, width: int = 60) -> list[str]:
    return text(Document("x", shown), width).splitlines()


@pytest.mark.parametrize("block", EACH, ids=lambda block: type(block).__name__)
def test_no_block_drives_the_terminal(block: blocks.Block) -> None:
    shown = text(Document("x", [block]), 5000)
    assert "\x1b" not in shown
    assert not any(line.startswith("next line") for line in shown.splitlines())


def test_the_parts_of_a_report_stand_apart_and_nothing_empty_is_named() -> None:
    assert lines(
        Heading("plan", "Qwen", "on H100"),
        Verdict("none", "FITS", "It fits", "With room.", "90% sure"),
        Tiles([("KV usage", "90%", "99% at most")]),
        Facts([("Cause", "kv")]),
        Section("Why", [Paragraph("one"), Paragraph("two"), Items([])]),
        Listing("Notes", []),
        Section("Nothing", [Items([])]),
    ) == [
        "Qwen", "on H100", "", " FITS  It fits   90% sure", "With room.", "",
        "KV usage  90%  (99% at most)", "", "Cause  kv", "", "Why:", "  one", "  two",
    ]  # fmt: skip


def test_items_are_wrapped_under_themselves() -> None:
    step = (code("--max-num-seqs 8"), tag("live"), BREAK, "fewer requests at once")
    assert lines(Listing("Next steps", [step], numbered=True), width=26) == [
        "Next steps:", "  1. --max-num-seqs 8 live", "     fewer requests at", "     once",
    ]  # fmt: skip


def test_a_word_that_is_longer_than_the_line_loses_nothing() -> None:
    word = "0123456789" * 5
    for block in (Facts([("digest", word)]), Items([word]), Paragraph(word)):
        shown = "".join("".join(line.split()) for line in lines(block, width=30))
        assert word in shown


def test_a_table_is_whole_where_there_is_room() -> None:
    assert lines(Table(WIDE, words=(0, 1, 3))) == [
        "engine  verdict    KV used  note", "vllm-0  kv-thrash      97%  preempts",
    ]  # fmt: skip


def test_a_narrow_terminal_leaves_out_what_the_table_names_first() -> None:
    table = Table(WIDE, words=(0, 1, 3), first_to_go=(3, 2))
    assert lines(table, width=26) == ["engine  verdict    KV used", "vllm-0  kv-thrash      97%"]
    assert lines(table, width=18) == ["engine  verdict", "vllm-0  kv-thrash"]


def test_cells_are_shorter_where_there_is_no_room_for_all_of_them() -> None:
    long = [("", "TTFT"), ("H100", "330 (280-390) ms")]
    table = Table(long, shorter=[("", "TTFT"), ("H100", "330 ms")])
    assert lines(table, width=22) == ["                  TTFT", "H100  330 (280-390) ms"]
    assert lines(table, width=21) == ["        TTFT", "H100  330 ms"]


def test_numbers_stand_below_their_name_where_that_is_too_long() -> None:
    table = Table([("", "TTFT", "ITL"), ("a long name of a card", "1.2 s", "9 ms")])
    assert lines(table, width=25) == ["   TTFT   ITL", "a long name of a card", "  1.2 s  9 ms"]


def test_sentences_in_the_last_column_are_wrapped_in_it() -> None:
    table = Table([("name", "meaning"), ("watermark", "keeps blocks free at admission")], (0, 1))
    assert lines(table, width=41) == [
        "name       meaning", "watermark  keeps blocks free at admission",
    ]  # fmt: skip
    assert lines(table, width=40)[2] == "           admission"


def test_sentences_of_a_table_become_paragraphs_without_their_empty_cells() -> None:
    rows = [("regression", "", "what was seen", "instead"), ("slow-start", "", "seen " * 6, "-")]
    shown = lines(Table(rows, words=(0, 1, 2, 3)), width=30)
    assert shown[0] == "- slow-start: what was seen:"
    assert all(cell_len(line) <= 30 for line in shown)
    assert "instead" not in " ".join(shown)


def test_what_is_for_another_form_is_left_out() -> None:
    assert lines(Only(("html",), [Paragraph("a")]), Only(("terminal",), [Paragraph("b")])) == ["b"]
