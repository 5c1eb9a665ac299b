"""Frames fit their terminal, whatever its size, and say the same without colour."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from barostat.shells.reports.live.frame import Fleet, age, brief, frame, plain, seconds
from barostat.shells.reports.live.rows import Row
from barostat.shells.reports.live.view import View

AT = 1_800_000_000.0
ILL = Row(
    "vllm-7d9f-abcde",
    0.99,
    12,
    30,
    1.5,
    400.0,
    9.0,
    0.3,
    "kv-preemption-thrash",
    "critical",
    AT - 90,
    "The pool is too small. " * 9,
)
WELL = Row(
    "vllm-7d9f-fghij", 0.2, 4, 0, 0.0, 12_345.0, 0.1, 0.02, "healthy-busy", "none", AT - 7200
)
FLEET = Fleet("deploy/vllm -n inference", (ILL, WELL), AT, AT, 5.0)


def text(fleet: Fleet = FLEET, view: View | None = None, width: int = 80, height: int = 24) -> str:
    return "\n".join(line.plain for line in frame(fleet, view or View(), width, height))


@settings(max_examples=60, deadline=None)
@given(
    st.integers(1, 200), st.integers(1, 60), st.integers(0, 40), st.text(max_size=12), st.booleans()
)
def test_a_frame_is_never_larger_than_its_terminal(
    width: int, height: int, count: int, letters: str, helped: bool
) -> None:
    rows = tuple(
        replace(ILL, name=f"{letters.replace(chr(10), ' ')}{number}") for number in range(count)
    )
    lines = frame(
        replace(FLEET, rows=rows), View(help=helped, filter=letters, typing=helped), width, height
    )
    assert len(lines) <= height
    assert all(line.cell_len <= width for line in lines)
    assert all("\n" not in line.plain for line in lines)


def test_at_eighty_columns_every_figure_is_there() -> None:
    lines = text().splitlines()
    assert len(lines) == 24
    for column in (
        "REPLICA",
        "KV",
        "RUN",
        "WAIT",
        "PRE/S",
        "TOK/S",
        "TTFT",
        "ITL",
        "VERDICTv",
        "FOR",
    ):
        assert column in lines[3]
    assert lines[4].split() == [
        "…abcde",
        "99%",
        "12",
        "30",
        "1.5",
        "400",
        "9.0s",
        "300ms",
        "!kv-preemption-thrash",
        "2m",
    ]
    assert lines[5].split() == [
        "…fghij",
        "20%",
        "4",
        "0",
        "0",
        "12.3k",
        "100ms",
        "20ms",
        "healthy-busy",
        "2h",
    ]
    assert "The pool is too small." in lines[-3]
    assert lines[-2].endswith("…")
    assert lines[-1].startswith("q quit")


def test_names_are_whole_where_there_is_room() -> None:
    assert "vllm-7d9f-abcde" in text(width=120)


def test_columns_go_one_after_the_other_where_it_is_narrow() -> None:
    assert "ITL" not in text(width=70)
    narrow = text(width=45)
    assert "TTFT" not in narrow
    assert "KV" in narrow
    assert "kv-preemption" in narrow


def test_what_is_old_paused_or_gone_is_said() -> None:
    assert "30s old" in text(replace(FLEET, now=AT + 30))
    assert "PAUSED" in text(view=View(paused=True))
    assert "no replica yet" in text(replace(FLEET, rows=()))
    assert "nothing with 'x9'" in text(view=View(filter="x9"))
    assert "1 of 2" in text(view=View(filter="thrash"))


@pytest.mark.parametrize(
    ("value", "words"),
    [(None, "-"), (0, "0"), (0.01, "<0.1"), (0.5, "0.5"), (12, "12"), (99.96, "100"), (9999, "9999"), (12_345, "12.3k"), (999_999, "1000k"),
     (1.5e6, "1.5M"), (2e9, "2G")],
)  # fmt: skip
def test_numbers_in_five_characters(value: float | None, words: str) -> None:
    assert brief(value) == words
    assert len(words) <= 5


@pytest.mark.parametrize(
    ("value", "words"),
    [(None, "-"), (0, "0ms"), (0.0004, "<1ms"), (0.3, "300ms"), (9.04, "9.0s"), (120.0, "2m")],
)
def test_latencies_in_five_characters(value: float | None, words: str) -> None:
    assert seconds(value) == words


@pytest.mark.parametrize(
    ("value", "words"),
    [(None, "-"), (-1, "0s"), (89, "89s"), (90, "2m"), (3600, "1h"), (200_000, "2d")],
)
def test_ages_in_four_characters(value: float | None, words: str) -> None:
    assert age(value) == words


def test_plain_lines_have_a_heading_once_and_nothing_cut() -> None:
    lines = plain(FLEET, View(), heading=True)
    assert lines[0].split()[:3] == ["TIME", "REPLICA", "KV"]
    assert len(lines) == 3
    assert "vllm-7d9f-abcde" in lines[1]
    assert len(plain(FLEET, View(), heading=False)) == 2
