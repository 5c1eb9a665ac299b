"""Texts by their characters: never far above the estimate, however they are written."""

from __future__ import annotations

import random

import pytest

from barostat.gateway.messages.token_density import dense_tokens

PROSE = b"The engine admits a prompt, and preempts when the answers no longer fit. "


def below(limit: int) -> int:
    return random.Random(limit).randrange(limit)


def test_prose_is_about_as_long_as_tokenizers_make_it() -> None:
    assert 14 <= dense_tokens(PROSE, below) <= 24  # 16 for common tokenizers


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        (b"7 x " * 1000, 2000),
        (b"0123456789" * 100, 1000),
        (b"!?" * 500, 1000),
        (b"QzXjVkBw" * 100, 600),
        (b"qzxjvkbw" * 100, 500),
        (b"qz xj vk " * 100, 600),
        ("\u4e00\ua500".encode() * 300, 900),
    ],
)
def test_text_that_is_made_to_have_many_tokens_has_at_most_twice_the_estimate(
    text: bytes, tokens: int
) -> None:
    assert 2 * dense_tokens(text, below) >= tokens


def test_a_long_text_is_judged_by_windows_that_cannot_be_known_before() -> None:
    draw = random.Random(7).randrange
    half = PROSE * 2000 + b"7" * len(PROSE) * 2000
    found = [dense_tokens(half, draw) for _ in range(20)]
    truth = (dense_tokens(PROSE, draw) + len(PROSE)) * 2000
    assert len(set(found)) > 10
    assert all(0.6 * truth < one < 1.5 * truth for one in found)
