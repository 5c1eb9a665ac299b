"""The rule by which texts are cut, and the words of the tokens that nobody wrote."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barostat.twin.workload.words import (
    _STRETCH,
    SPOKEN_IDS,
    Answer,
    Tokenizer,
    digest_of,
    spelled,
    word,
)


def test_the_rule_can_be_applied_by_hand() -> None:
    tokenizer = Tokenizer(32_000)
    assert [tokenizer.piece(token) for token in tokenizer.encode("Hello  wonderful\n\tworld!")] == [
        "Hello", "  ", "wonde", "rful", "\n\t", "world", "!",
    ]  # fmt: skip


def test_about_four_characters_of_english_are_a_token() -> None:
    text = (
        "The quick brown fox jumps over the lazy dog, and nobody in the whole village "
        "remembers why it did so on that particular day."
    )
    assert 3.5 < len(text) / len(Tokenizer(128_000).encode(text)) < 5


@given(st.text(max_size=200))
def test_cutting_loses_nothing_and_ids_are_in_the_vocabulary(text: str) -> None:
    tokenizer = Tokenizer(2048)
    tokens = tokenizer.encode(text)
    assert all(2 <= token < 2048 for token in tokens)
    assert tokens == tokenizer.encode(text) == Tokenizer(2048).encode(text)


@given(st.lists(st.integers(2, SPOKEN_IDS - 1), max_size=50))
def test_what_the_twin_says_is_read_back_token_for_token(tokens: list[int]) -> None:
    tokenizer = Tokenizer(SPOKEN_IDS)
    assert tokenizer.encode(tokenizer.decode(tokens)) == tokens


def test_words_are_all_different() -> None:
    assert len({word(token) for token in range(SPOKEN_IDS)}) == SPOKEN_IDS


def test_an_answer_depends_on_seed_prompt_and_choice_alone() -> None:
    prompt = digest_of("1,2,3")
    one, same = Answer(0, prompt, 0, 32_000), Answer(0, prompt, 0, 32_000)
    assert [same.token(index) for index in (9, 3, 0)] == [one.token(index) for index in (9, 3, 0)]
    said = [one.token(index) for index in range(50)]
    for other in (
        Answer(1, prompt, 0, 32_000),
        Answer(0, prompt, 1, 32_000),
        Answer(0, digest_of("1,2,4"), 0, 32_000),
    ):
        assert [other.token(index) for index in range(50)] != said
    assert all(2 <= token < 32_000 for token in said)


@pytest.mark.parametrize("unit", ["ab cdefghi  ", "x", " ", "   x", "abcdef", " \n\u2003é"])
def test_a_long_text_is_cut_as_if_in_one_go(unit: str) -> None:
    text = unit * (3 * _STRETCH // len(unit)) + "end"
    whole, tokenizer = re.compile(r" ?[^\s]{1,5}|\s{1,16}").findall(text), Tokenizer(SPOKEN_IDS)
    assert tokenizer.encode(text) == [tokenizer.encode(piece)[0] for piece in whole]


def test_ids_are_spelled_with_commas_however_many_there_are() -> None:
    for count in (0, 1, 2, _STRETCH, _STRETCH + 1, 2 * _STRETCH):
        assert spelled(range(count)) == ",".join(map(str, range(count)))
