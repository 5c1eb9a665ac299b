"""Logs as lines, whatever is in them."""

from __future__ import annotations

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barostat.io.input_files.lines import CHUNK_BYTES, MAX_LINE_CHARS, NotText, lines


def _lines(content: bytes) -> list[str]:
    return list(lines(io.BytesIO(content)))


@given(
    st.lists(
        st.text(
            st.characters(
                codec="utf-8", exclude_characters="\r\n\ufeff\0", exclude_categories=["Cc"]
            ),
            max_size=40,
        ),
        max_size=20,
    )
)
def test_the_lines_come_out_as_they_went_in(written: list[str]) -> None:
    content = "".join(f"{line}\n" for line in written).encode()
    assert _lines(content) == written


def test_a_last_line_without_an_end_and_windows_ends_are_lines() -> None:
    assert _lines(b"one\r\ntwo\r\n\r\nthree") == ["one", "two", "", "three"]


def test_nothing_has_no_lines() -> None:
    assert _lines(b"") == []


def test_bytes_that_are_no_utf8_do_not_stop_the_reading() -> None:
    assert _lines(b"before\nbroken \xff\xfe here\nafter\n") == [
        "before",
        "broken \ufffd\ufffd here",
        "after",
    ]


def test_a_character_across_two_chunks_stays_whole() -> None:
    content = b"x" * 8191 + "é".encode() + b"\nnext\n"
    assert _lines(content) == ["x" * 8191 + "é", "next"]


def test_a_powershell_redirection_is_read() -> None:
    assert _lines("\ufeffINFO started\r\nERROR é\r\n".encode("utf-16-le")) == [
        "INFO started",
        "ERROR é",
    ]


def test_an_endless_line_is_cut_once_and_the_next_line_is_whole() -> None:
    found = _lines(b"y" * (2 * CHUNK_BYTES + 5) + b"\nnext\n")
    assert [len(line) for line in found] == [MAX_LINE_CHARS, 4]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"\x1f\x8b\x08\0rest", "gzip"),
        (bytes(range(256)) * 8, "binary"),
        (b"\x7fELF\x02\x01\x01" + b"\0" * 200, "binary"),
    ],
)
def test_what_is_no_text_says_so(content: bytes, said: str) -> None:
    with pytest.raises(NotText, match=said):
        _lines(content)
