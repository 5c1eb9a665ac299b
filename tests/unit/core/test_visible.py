"""Every character that acts is written out; letters, signs and line ends stay."""

from __future__ import annotations

import json
import sys
import unicodedata

import pytest

from barostat.core.visible import one_line, visible


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("\x1b[31mred", "\\x1b[31mred"),
        ("\x1b]0;title\x07", "\\x1b]0;title\\x07"),
        ("\x9b2J", "\\u009b2J"),
        ("a\u202eb", "a\\u202eb"),
        ("a\u200bb", "a\\u200bb"),
        ("\ud800", "\\ud800"),
        ("\U000e0041", "\\udb40\\udc41"),
        ("a\rb", "a\\x0db"),
        ("tab\there\r\nnext\n", "tab\there\r\nnext\n"),
        ("Zürich 東京 🚀", "Zürich 東京 🚀"),
    ],
)
def test_what_acts_is_written_out(text: str, seen: str) -> None:
    assert visible(text) == seen


@pytest.mark.sweep
def test_no_control_format_or_unpaired_character_of_unicode_is_left_but_tab_and_line_ends() -> None:
    kinds = {"Cc", "Cf", "Cs", "Zl", "Zp"}
    acting = "".join(
        char for char in map(chr, range(sys.maxunicode + 1)) if unicodedata.category(char) in kinds
    )
    left = {char for char in visible(acting) if unicodedata.category(char) in kinds}
    seen_but_format = {char for char in left if unicodedata.category(char) == "Cf"}
    assert left - seen_but_format <= {"\t", "\n"}
    assert all(
        unicodedata.name(char).split()[0] in ("ARABIC", "SYRIAC", "KAITHI", "EGYPTIAN", "SHORTHAND")
        for char in seen_but_format
    )


def test_what_is_written_out_within_json_is_json() -> None:
    assert (
        json.loads(visible(json.dumps("\x9b\u202e\U000e0041", ensure_ascii=False)))
        == "\x9b\u202e\U000e0041"
    )


def test_one_line_is_one_line() -> None:
    assert one_line("a\n  # b\r\nc\x0b") == "a # b c\\x0b"
