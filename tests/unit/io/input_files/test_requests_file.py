"""A workload's rows: our own strictly, published ones as they come."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from barostat.core.errors import InputError
from barostat.io.input_files.requests_file import parse_requests, read_requests

OWN = '{"arrival_s": 2.5, "input_tokens": 40, "output_tokens": 3}\n'


def test_rows_of_our_own_keep_their_times_and_get_their_numbers() -> None:
    named = (
        '{"request_id": "late", "arrival_s": 9, "input_tokens": 1, "output_tokens": 1, '
        '"priority": -2, "prompt_token_ids": [5]}\n'
    )
    rows, problems = parse_requests(OWN + "\n" + named + OWN, "t", 16)
    assert [row.request_id for row in rows] == ["0", "late", "2"]
    assert [row.arrival_s for row in rows] == [2.5, 9.0, 2.5]
    assert (rows[1].priority, rows[1].prompt_token_ids) == (-2, (5,))
    assert problems == []


@pytest.mark.parametrize(
    "row",
    [
        '{"arrival_s": -1, "input_tokens": 4, "output_tokens": 3}',
        '{"arrival_s": 1e300, "input_tokens": 4, "output_tokens": 3}',
        '{"arrival_s": "x", "input_tokens": 4, "output_tokens": 3}',
        '{"arrival_s": 1, "input_tokens": 0, "output_tokens": 3}',
        '{"arrival_s": 1, "input_tokens": 4.5, "output_tokens": 3}',
        '{"arrival_s": 1, "input_tokens": 1e400, "output_tokens": 3}',
        '{"arrival_s": 1, "input_tokens": true, "output_tokens": 3}',
        '{"arrival_s": 1, "input_tokens": 4, "output_tokens": 3, "prompt_token_ids": [1]}',
        (
            '{"arrival_s": 1, "input_tokens": 1, "output_tokens": 3, "prompt_token_ids": [1], '
            '"hash_ids": [1]}'
        ),
        '{"arrival_s": 1, "input_tokens": 4, "output_tokens": 3, "hash_ids": [1.5]}',
        '{"arrival_s": 1, "input_tokens": 4, "output_tokens": 3, "hash_ids": "1-x"}',
        "[1]",
        "{",
    ],
)
def test_a_wrong_row_is_named_by_its_line(row: str) -> None:
    with pytest.raises(InputError, match=r"t:2"):
        parse_requests(OWN + row + "\n", "t", 16)


def test_a_name_twice_and_an_empty_file_are_refused() -> None:
    twice = '{"request_id": "a", "arrival_s": 1, "input_tokens": 1, "output_tokens": 1}\n'
    for text in (twice + twice, "", "\n"):
        with pytest.raises(InputError):
            parse_requests(text, "t", 16)


def test_csv_with_ranges_of_ids_and_their_length_inferred(tmp_path: Path) -> None:
    path = tmp_path / "t.csv.gz"
    with gzip.open(path, "wt") as file:
        file.write(
            "arrival_s,input_tokens,output_tokens,hash_ids\n0,1100,5,0 "
            "4-5\n1,512,0,7\n2,600,2,0 9\n"
        )
    rows, problems = read_requests(path, 16)
    assert [(row.request_id, row.hash_ids, row.id_tokens) for row in rows] == [
        ("0", (0, 4, 5), 512),
        ("2", (0, 9), 512),
    ]
    assert len(problems) == 1
    assert all(row.id_tokens == 256 for row in read_requests(path, 16, 256)[0])


def test_ids_whose_length_is_not_clear_are_asked_for() -> None:
    rows = '{"arrival_s": 0, "input_tokens": 40, "output_tokens": 3, "hash_ids": [1, 2, 3, 4, 5]}\n'
    with pytest.raises(InputError, match="--hash-block-size"):
        parse_requests(rows, "t", 16)
    assert parse_requests(rows, "t", 16, 8)[0][0].id_tokens == 8
    assert parse_requests(rows.replace("[1, 2, 3, 4, 5]", "[1, 2]"), "t", 16)[0][0].id_tokens == 16


def test_mooncake_is_in_milliseconds_and_blocks_of_512() -> None:
    text = (
        '{"timestamp": 27482, "input_length": 6955, "output_length": 52, "hash_ids": [46, '
        '47]}\n{"timestamp": 3}\n'
    )
    rows, problems = parse_requests(text, "m", 16)
    assert [(row.arrival_s, row.id_tokens) for row in rows] == [(27.482, 512)]
    assert "left out 1 row without" in problems[0]


def test_azure_as_it_comes(tmp_path: Path) -> None:
    path = tmp_path / "azure.csv"
    path.write_text(
        "TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 "
        "18:15:46.6805900,374,44\n2023-11-16 18:15:50.9951690,396,109\n"
    )
    rows, _ = read_requests(path, 16)
    assert [(row.input_tokens, row.output_tokens) for row in rows] == [(374, 44), (396, 109)]
    assert rows[1].arrival_s == pytest.approx(4.314579)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"none\.jsonl"):
        read_requests(tmp_path / "none.jsonl", 16)


def test_a_file_of_no_text_is_an_error_of_one_sentence(tmp_path: Path) -> None:
    """Carriage returns outside of quotes end the reader of CSV, wherever they come."""
    for name, data in (
        ("first", b"\xff\r\x00a\rb,\x07\n\x01"),
        ("later", b"arrival_s,input_tokens,output_tokens\n1,2,3\n1,a\rb,3\n"),
    ):
        (tmp_path / name).write_bytes(data)
        with pytest.raises(InputError, match=name):
            read_requests(tmp_path / name, 16)


@pytest.mark.parametrize(("before", "line"), [("", 1), (OWN, 2)])
def test_a_row_that_is_nested_too_deeply_is_named(before: str, line: int, tmp_path: Path) -> None:
    path = tmp_path / "deep.jsonl"
    path.write_text(before + '{"arrival_s": ' + "[" * 200_000 + "\n")
    with pytest.raises(InputError, match=rf"deep\.jsonl:{line}: no JSON: nested too deeply$"):
        read_requests(path, 16)


def test_a_file_of_a_line_that_is_cut_off_is_said_to_be(tmp_path: Path) -> None:
    path = tmp_path / "cut.jsonl"
    path.write_text(OWN[:30])
    with pytest.raises(InputError, match=r"cut\.jsonl:1: no JSON"):
        read_requests(path, 16)


def test_a_row_names_its_adapter() -> None:
    row = '{"arrival_s": 0, "input_tokens": 4, "output_tokens": 3, "adapter": "sql"}\n'
    rows, _ = parse_requests(row + OWN, "t", 16)
    assert [one.adapter for one in rows] == ["sql", None]
    table = "arrival_s,input_tokens,output_tokens,adapter\n0,4,3,sql\n0,4,3,\n"
    rows, _ = parse_requests(table, "t", 16)
    assert [one.adapter for one in rows] == ["sql", None]
