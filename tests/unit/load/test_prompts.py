"""Prompts have the stated number of tokens, and share what the workload says and nothing else."""

from __future__ import annotations

import json

import pytest

from barostat.load.prompts import FIRST_ID, IDS, Prompts, WordCount
from barostat.twin.request import Row


@pytest.mark.parametrize("tokens", [1, 5, 6, 7, 100, 65_536, 200_001])
def test_ids_are_as_many_as_asked_and_in_every_vocabulary(tokens: int) -> None:
    ids = json.loads(Prompts(3).of(Row("a", 0, tokens, 1), 9))
    assert len(ids) == tokens
    assert all(FIRST_ID <= token < FIRST_ID + IDS for token in ids)


def test_no_two_begin_alike_in_this_run_or_another() -> None:
    beginnings = {
        tuple(json.loads(Prompts(salt).of(Row("a", 0, 64, 1), number))[:16])
        for salt in (0, 1, 2**28 - 1)
        for number in (0, 1, 999, 1000, 123_456)
    }
    assert len(beginnings) == 15


def test_what_the_workload_shares_is_shared_and_the_rest_is_not() -> None:
    row = Row("a", 0, 40, 1, hash_ids=(5, 6), id_tokens=16)
    made = Prompts(3)
    one, other = json.loads(made.of(row, 1)), json.loads(made.of(row, 2))
    assert len(one) == len(other) == 40
    assert one[:32] == other[:32]
    assert one[32:] != other[32:]
    branched = json.loads(made.of(row._replace(hash_ids=(5, 7)), 3))
    assert branched[:16] == one[:16]
    assert branched[16:20] != one[16:20]
    assert json.loads(Prompts(4).of(row, 1))[:16] != one[:16]


def test_ids_that_a_row_has_are_sent() -> None:
    assert json.loads(Prompts(1).of(Row("a", 0, 3, 1, prompt_token_ids=(7, 8, 9)), 4)) == [7, 8, 9]


def test_words_are_as_many_as_the_server_makes_tokens_of_them() -> None:
    counted = WordCount(12.0, 2.5)
    text = json.loads(Prompts(1, counted).of(Row("a", 0, 512, 1), 4))
    assert len(text.split()) == 200
    assert counted.words(1) == 1
