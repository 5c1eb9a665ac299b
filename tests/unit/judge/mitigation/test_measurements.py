"""What was measured around a remedy: written small, read strictly, and joined from several runs."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from barostat.catalog.signals import signal
from barostat.core.errors import InputError
from barostat.core.signal import Point, Signal
from barostat.judge.mitigation.measurements import (
    MOST_BYTES,
    MOST_POINTS,
    OVER_TIME,
    Look,
    carried,
    document,
    longer,
    look,
    measured,
    written,
)

AT = 1_763_788_800.0


def ramp(name: str, points: int, at: float = AT) -> Signal:
    found = signal(name, [(at + 5.0 * place, place / 7.0) for place in range(points)], "a test")
    assert found is not None
    return found


def a_look(pod: str = "vllm-0", points: int = 8, at: float = AT) -> Look:
    found = look("before", pod, "", {name: ramp(name, points, at) for name in OVER_TIME})
    assert found is not None
    return found


def test_what_is_written_is_read_again() -> None:
    before, after = (
        a_look(),
        Look("after", "vllm-1", "1", {"ttft_p99_s": (Point(AT + 90.3, 0.25),)}),
    )
    assert measured(written([after, before])) == (before, after)


def test_what_was_not_measured_and_what_is_no_number_is_left_out() -> None:
    odd = signal("kv_usage_ratio", [(AT, float("inf"))], "a test")
    assert odd is not None
    assert (
        look(
            "before",
            "vllm-0",
            "",
            {"kv_usage_ratio": odd, "arrivals_per_s": ramp("arrivals_per_s", 3)},
        )
        is None
    )


def test_a_long_series_is_thinned_and_keeps_its_ends() -> None:
    found = a_look(points=500)
    (kept,) = measured(written([found]))
    for name, points in kept.series.items():
        assert len(points) == MOST_POINTS
        assert (points[0], points[-1]) == (found.series[name][0], found.series[name][-1])
    assert kept.key == found.key


def test_the_oldest_are_thinned_first_and_left_out_last() -> None:
    looks = [a_look(f"vllm-{place}", 60, AT + place) for place in range(40)]
    kept = measured(written(looks))
    assert [found.pod for found in kept] == [found.pod for found in looks]
    lengths = [len(found.series["kv_usage_ratio"]) for found in kept]
    assert lengths == sorted(lengths)
    assert lengths[0] < lengths[-1]
    many = [a_look(f"vllm-{place}", 9, AT + place) for place in range(800)]
    kept = measured(written(many))
    assert 100 < len(kept) < 800
    assert kept[-1].pod == "vllm-799"


@pytest.mark.sweep
@settings(max_examples=12, deadline=None)
@given(st.integers(1, 60), st.integers(1, 100))
def test_it_is_never_longer_than_it_may_be(looks: int, points: int) -> None:
    text = written([a_look("p" * 253 + str(place), points, AT + place) for place in range(looks)])
    assert len(text.encode()) <= MOST_BYTES
    assert measured(text)


def test_a_look_that_goes_on_takes_only_what_is_new() -> None:
    short, whole = a_look(points=4), a_look(points=9)
    assert longer(short, whole) == whole
    assert longer(short, whole).key == short.key


def test_a_later_run_keeps_what_an_earlier_one_measured() -> None:
    earlier, begun, ended = (
        a_look("vllm-0"),
        a_look("vllm-1", 4, AT + 60),
        a_look("vllm-1", 9, AT + 60),
    )
    held = carried(written([earlier, begun]), [])
    assert measured(held) == (earlier, begun)
    assert measured(carried(held, [ended])) == (earlier, ended)


def test_what_cannot_be_read_stays_until_there_is_something_better() -> None:
    assert carried("{half", []) == "{half"
    assert carried("x" * (MOST_BYTES + 1), []) == ""
    assert measured(carried("{half", [a_look()])) == (a_look(),)
    assert carried("", []) == ""


def damaged(path: str, value: Any) -> str:
    body = document([a_look()])
    node: Any = body
    *parts, last = path.split(".")
    for part in parts:
        node = node[int(part) if part.isdigit() else part]
    node[int(last) if last.isdigit() else last] = value
    return json.dumps(body)


@pytest.mark.parametrize(
    ("path", "value", "said"),
    [
        ("kind", "Diary", "is not IncidentMeasurements"),
        ("apiVersion", "barostat.dev/v2", "is not IncidentMeasurements"),
        ("more", 1, "must be an object of apiVersion, kind, looks"),
        ("looks", {}, "measurements.looks: must be a list"),
        ("looks.0.when", "later", "looks[0].when: must be one of before, after"),
        ("looks.0.pod", 7, "looks[0].pod: must be a text"),
        ("looks.0.pod", "x" * 254, "looks[0].pod: must be a text"),
        ("looks.0.at", "now", "looks[0].at: must be a number"),
        ("looks.0.at", float("nan"), "looks[0].at: must be a number"),
        ("looks.0.prompt", "tell me", "looks[0]: must be an object of"),
        ("looks.0.series", {}, "looks[0].series: must be an object with at least one"),
        ("looks.0.series.secret", [[0, 1]], "series.secret: is not known"),
        ("looks.0.series.kv_usage_ratio", [], "kv_usage_ratio: must be 1 to 60 pairs"),
        ("looks.0.series.kv_usage_ratio", [[0, 1]] * 61, "kv_usage_ratio: must be 1 to 60 pairs"),
        ("looks.0.series.kv_usage_ratio", [[0, True]], "kv_usage_ratio: must be a number"),
        ("looks.0.series.kv_usage_ratio", [[0, 1e300]], "kv_usage_ratio: must be a number"),
        ("looks.0.series.kv_usage_ratio", [[5, 1], [0, 1]], "kv_usage_ratio: must ascend"),
    ],
)
def test_what_is_not_exactly_that_is_refused_with_its_place(
    path: str, value: Any, said: str
) -> None:
    with pytest.raises(InputError) as raised:
        measured(damaged(path, value))
    assert said in str(raised.value)


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "null", "[" * 60_000, " " * (MOST_BYTES + 1), written([a_look()])[:-20]]
)
def test_what_is_no_such_document_is_refused(text: str) -> None:
    with pytest.raises(InputError):
        measured(text)
