"""Survival by class: bins, what is learned, what is taken where nothing is known."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barostat.admit.lengths import HORIZONS, Lengths, bin_of


@given(st.integers(0, 1 << 21), st.integers(0, 1 << 21))
def test_bins_keep_the_order(one: int, other: int) -> None:
    low, high = sorted((one, other))
    assert bin_of(low) <= bin_of(high)


@given(st.integers(8, 1 << 19))
def test_a_bin_is_an_eighth_of_an_octave(tokens: int) -> None:
    assert bin_of(2 * tokens) == bin_of(tokens) + 8


def test_with_nothing_known_an_answer_runs_to_its_limit() -> None:
    one = Lengths().of("", "chat", "", 100, 1000)
    assert (
        one.remaining(0, 1000) == (1.0,) * 18
    )  # the horizons up to 1,024, the first that it does not reach
    assert one.mean_tokens(1000) == pytest.approx(1000)


def test_short_answers_alone_do_not_say_that_there_are_no_long_ones() -> None:
    lengths = Lengths()
    one = lengths.of("", "chat", "", 100, 4096)
    for tokens in range(1, 21):
        one.learn(tokens, True)
    lengths.note_live([(one, 20)] * 80)  # four in five still run, at 20 tokens
    assert one.mean_tokens(4096) > 2500


def test_the_chance_to_go_on_is_that_of_the_traffic() -> None:
    dice = random.Random(7)
    lengths = Lengths()
    one = lengths.of("a", "chat", "", 100, 2048)
    seen = [min(2048, 1 + int(dice.expovariate(1 / 300))) for _ in range(2000)]
    for tokens in seen:
        one.learn(tokens, tokens < 2048)
    row = dict(zip(HORIZONS, one.remaining(0, 2048), strict=False))
    for horizon in (48, 192, 384, 768):
        assert row[horizon] == pytest.approx(
            sum(tokens > horizon for tokens in seen) / len(seen), abs=0.05
        )
    # Without memory: what has come to 400 tokens goes on as what has just begun.
    assert dict(zip(HORIZONS, one.remaining(400, 1648), strict=False))[192] == pytest.approx(
        row[192], abs=0.07
    )
    assert one.mean_tokens(2048) == pytest.approx(sum(seen) / len(seen), rel=0.08)


def test_what_was_cut_counts_as_having_lived_that_long() -> None:
    lengths = Lengths()
    one = lengths.of("a", "chat", "", 100, 2048)
    for _ in range(500):
        one.learn(50, False)  # clients leave
        one.learn(800, True)
    assert dict(zip(HORIZONS, one.remaining(0, 2048), strict=False))[384] > 0.95


def test_a_class_with_few_samples_goes_by_its_parents() -> None:
    lengths = Lengths()
    known = lengths.of("a", "chat", "", 100, 2048)
    for _ in range(500):
        known.learn(40, True)
    new = lengths.of("b", "chat", "", 100, 2048)
    assert new.mean_tokens(2048) == pytest.approx(known.mean_tokens(2048), rel=0.5)
    for _ in range(300):
        new.learn(1500, True)
    assert new.mean_tokens(2048) > 1000
    assert lengths.of("a", "chat", "", 100, 2048) is known


def test_old_traffic_fades() -> None:
    one = Lengths().of("a", "chat", "", 100, 4096)
    for tokens in [2000] * 3000 + [30] * 9000:
        one.learn(tokens, True)
        one.remaining(0, 4096)
    assert one.mean_tokens(4096) < 200


def test_no_more_than_so_many_classes_are_kept() -> None:
    lengths = Lengths()
    made = {id(lengths.of(f"tenant-{number}", "chat", "", 100, 100)) for number in range(5000)}
    assert len(made) <= 513


def test_an_answer_that_may_not_end_earlier_runs_to_its_limit() -> None:
    known = Lengths().known
    known.learn(1, True)
    assert known.remaining(5, 100) == (1.0,) * 8  # up to 112
