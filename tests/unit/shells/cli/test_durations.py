"""Durations on the command line."""

from __future__ import annotations

import argparse

import pytest

from barostat.shells.cli.durations import brief, parse_duration, seconds, some_time
from barostat.shells.cli.main import main


@pytest.mark.parametrize(
    ("text", "expected_s"),
    [
        ("30s", 30),
        ("2m", 120),
        ("500ms", 0.5),
        ("1h", 3600),
        ("1h30m", 5400),
        ("0", 0),
        ("12", 12),
        ("1.5s", 1.5),
        (" 5s ", 5),
        ("2min", 120),
    ],
)
def test_what_people_write_is_read_as_seconds(text: str, expected_s: float) -> None:
    assert parse_duration(text) == pytest.approx(expected_s)


@pytest.mark.parametrize(
    "text", ["", "s", "-5s", "five", "5x", "5s 3", "1m30", "8d", "1e3s", "nan", "5s;"]
)
def test_what_is_no_duration_is_refused_with_the_way_to_write_one(text: str) -> None:
    with pytest.raises(
        argparse.ArgumentTypeError, match=r"no duration; write 30s|longer than a week"
    ):
        parse_duration(text)


def test_no_time_at_all_is_refused_where_some_is_needed() -> None:
    assert some_time("1ms") == 0.001
    with pytest.raises(argparse.ArgumentTypeError, match="no time at all"):
        some_time("0s")


@pytest.mark.parametrize(
    ("duration_s", "expected"),
    [(0.5, "0.5 s"), (30, "30 s"), (120, "2 min"), (5400, "90 min"), (10800, "3 h")],
)
def test_a_duration_is_shown_in_the_unit_that_suits_it(duration_s: float, expected: str) -> None:
    assert brief(duration_s) == expected


@pytest.mark.parametrize(
    ("text", "expected_s"),
    [("0.03", 0.03), ("1e-3", 0.001), ("30ms", 0.03), ("2s", 2.0), ("1m", 60.0)],
)
def test_seconds_are_taken_with_their_unit_and_without(text: str, expected_s: float) -> None:
    assert seconds(text) == pytest.approx(expected_s)


@pytest.mark.parametrize("text", ["", "soon", "30 parsecs", "2s2", "30ms,"])
def test_what_is_no_time_is_told_with_how_it_is_written(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match="is no time; write"):
        seconds(text)


@pytest.mark.parametrize(
    "words",
    [
        ["simulate", "--workload", "closed", "--kv-blocks", "9", "--step-time"],
        ["simulate", "--workload", "closed", "--kv-blocks", "9", "--slo-ttft"],
        ["what-if", "--slo-itl"],
        ["tune", "--slo-ttft-p99"],
        ["load", "http://localhost:1", "--workload", "closed", "--slo-ttft"],
        ["rules", "--itl-p99"],
        ["gateway", "--limits", "limits.yaml", "--engine-timeout"],
        ["twin", "--shutdown-timeout"],
    ],
)
def test_options_in_seconds_take_a_unit(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """What is no time is refused in our words; a duration gets past that."""
    for given, says in (
        ("soon", "'soon' is no time; write 0.03, 30ms or 2s"),
        ("40ms", "no-such-option"),
    ):
        with pytest.raises(SystemExit):
            main([*words, given, "--no-such-option"])
        assert says in capsys.readouterr().err
