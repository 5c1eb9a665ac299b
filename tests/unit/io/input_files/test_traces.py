"""Published traces read, whatever their form."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from barostat.core.errors import InputError
from barostat.io.input_files.traces import parse_trace, read_trace

AZURE = (
    "TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:15:46.6805900,374,44\n2023-11-16 "
    "18:15:50.9951690,396,109\n"
)
MOONCAKE = """\
{"timestamp": 0, "input_length": 6755, "output_length": 500, "hash_ids": [0, 1]}
{"timestamp": 3000, "input_length": 10, "output_length": 5, "hash_ids": [0]}
"""
BURST = """\
Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type
5,ChatGPT,472,18,490,Conversation log
45,GPT-4,1087,230,1317,API log
"""
OURS = '{"arrival_s": 0.5, "input_tokens": 10, "output_tokens": 3}\n'


@pytest.mark.parametrize(
    ("text", "first", "last_s"),
    [
        (AZURE, (374, 44), 4.3145790),
        (MOONCAKE, (6755, 500), 3.0),
        (BURST, (472, 18), 40.0),
        (OURS, (10, 3), 0.0),
    ],
)
def test_published_forms(text: str, first: tuple[int, int], last_s: float, tmp_path: Path) -> None:
    for name, raw in (("trace", text.encode()), ("trace.gz", gzip.compress(text.encode()))):
        path = tmp_path / name
        path.write_bytes(raw)
        rows, problems = read_trace(path)
        assert (rows[0].input_tokens, rows[0].output_tokens) == first
        assert rows[-1].arrival_s == pytest.approx(last_s, abs=1e-4)
        assert not problems


def test_bad_rows_are_left_out_and_counted() -> None:
    rows, problems = parse_trace(
        OURS
        + (
            '{"input_tokens": "x", "output_tokens": 1}\nnot json\n{"input_tokens": -5, '
            '"output_tokens": 1}\n'
        )
        + OURS
    )
    assert len(rows) == 2
    assert "3 rows" in problems[0]


def _azure(*times: str) -> str:
    return "TIMESTAMP,ContextTokens,GeneratedTokens\n" + "".join(
        f"{time},374,44\n" for time in times
    )


@pytest.mark.parametrize(
    ("time", "after_s"),
    [
        ("2024-05-10 00:00:01+00:00", 1.0),
        ("2024-05-10 00:00:01.250000+00:00", 1.25),
        ("2024-05-10T02:00:01.5+02:00", 1.5),
        ("2024-05-10T00:00:02.5Z", 2.5),
        ("2024-05-10 00:00:03", 3.0),
        ("2024-05-10 00:00:03.25 UTC", 3.25),
    ],
)
def test_a_date_is_read_with_its_offset(time: str, after_s: float) -> None:
    rows, problems = parse_trace(_azure("2024-05-10 00:00:00.000000+00:00", time))
    assert rows[1].arrival_s - rows[0].arrival_s == pytest.approx(after_s, abs=1e-6)
    assert not problems


@pytest.mark.parametrize(
    "time", ["oops", "", "2024-13-01 00:00:00", "5", "nan", "2024-05-10 00:00:01.5 oops"]
)
def test_what_is_no_time_among_dates_is_named_by_its_line(time: str) -> None:
    """Such a row once arrived at 0 and the others 54 years later."""
    for times in (
        ["2024-05-10 00:00:00", "2024-05-10 00:00:01", time, "oops"],
        ["2024-05-10 00:00:00", "2024-05-10 00:00:01", time],
    ):
        with pytest.raises(InputError, match=rf"^t\.csv:4: TIMESTAMP '{time}' is no time"):
            parse_trace(_azure(*times), "t.csv")


def test_the_first_row_that_has_no_time_is_named() -> None:
    with pytest.raises(InputError, match=r"^t:2: TIMESTAMP 'oops' is no time"):
        parse_trace(_azure("oops", "2024-05-10 00:00:00", "5"), "t")


def test_blank_lines_count_as_lines() -> None:
    with pytest.raises(InputError, match=r"^t:5: TIMESTAMP 'oops' is no time"):
        parse_trace("\n" + _azure("2024-05-10 00:00:00", "\noops").replace("\n,374,44", ""), "t")


def test_a_date_among_numbers_and_a_row_without_its_time() -> None:
    with pytest.raises(
        InputError,
        match=r"^t:3: TIMESTAMP '2024-05-10' is no time like the others: t:2 has a number, this is a date",
    ):
        parse_trace(_azure("5", "2024-05-10"), "t")
    with pytest.raises(InputError, match=r"^t:2: the row has no time"):
        parse_trace(OURS + '{"input_tokens": 10, "output_tokens": 3}\n', "t")


def test_a_file_without_times_is_read_with_a_word() -> None:
    rows, problems = parse_trace(_azure("", "oops"))
    assert [row.arrival_s for row in rows] == [0.0, 0.0]
    assert "no time of arrival in 2 rows" in problems[0]


@pytest.mark.parametrize(
    "text", ["[" * 200_000, '{"a": ' + "[" * 200_000 + "\n", OURS + '{"a": ' * 200_000 + "\n"]
)
def test_json_that_is_nested_too_deeply_is_said(text: str) -> None:
    with pytest.raises(InputError, match=r"^t(:[12])?: no JSON: nested too deeply$"):
        parse_trace(text, "t")


def test_a_file_of_a_line_that_is_cut_off_is_no_json() -> None:
    with pytest.raises(InputError, match=r"^t:1: no JSON"):
        parse_trace(OURS[:20], "t")
    with pytest.raises(InputError, match=r"^t: no JSON"):
        parse_trace("[" + OURS, "t")


@pytest.mark.parametrize(
    "raw", [b"", b"\xff\xfe\x00", b"{", b"[", b"[1, 2]", b"a,b\n1,2\n", b"\x1f\x8b garbage"]
)
def test_what_is_no_trace_is_said(raw: bytes, tmp_path: Path) -> None:
    for name in ("trace", "trace.gz"):
        path = tmp_path / name
        path.write_bytes(raw)
        with pytest.raises(InputError):
            read_trace(path)
