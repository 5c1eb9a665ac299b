"""A need in a person's words: the load, the shape, the service level."""

from __future__ import annotations

import pytest

from barostat.core.errors import InputError
from barostat.judge.provisioning.need import parse_need


@pytest.mark.parametrize(
    ("text", "rate"),
    [
        ("10/s", 10.0),
        ("10 req/s", 10.0),
        ("600 requests per minute", 10.0),
        ("36000/h", 10.0),
        ("2.5rps", 2.5),
        ("10", 10.0),
    ],
)
def test_a_rate_in_its_ways_of_writing(text: str, rate: float) -> None:
    found = parse_need(f"{text} input=2k output=300", "ttft=2s,itl=50ms")
    assert found.rate_per_s == pytest.approx(rate)
    assert found.users == 0
    assert (found.input_tokens, found.output_tokens) == (2000.0, 300.0)
    assert (found.slo.ttft_s, found.slo.itl_s) == (2.0, 0.05)


def test_users_do_not_all_come_at_once_and_wait_for_their_answers() -> None:
    found = parse_need("40 users input=100 output=20 think=10", "ttft=500ms")
    rows = found.rows(4, 0)
    first = [row.arrival_s for row in rows if row.after_id is None]
    assert len(first) == 10
    assert first[0] == 0.0
    assert first == sorted(set(first))
    assert len(rows) > 10
    assert found.load == "40 users"


def test_a_replica_of_four_gets_a_quarter() -> None:
    found = parse_need("40/s input=100 output=20", None)
    rows = found.rows(4, 0)
    assert len(rows) / rows[-1].arrival_s == pytest.approx(10, rel=0.15)


@pytest.mark.parametrize(
    ("text", "slo", "said"),
    [
        ("many input=1 output=1", None, "no amount of load"),
        ("10/s input=100", None, "say input= and output="),
        ("10/s input=100 output=0", None, "must be 1"),
        ("10/s input=x output=5", None, "is no number"),
        ("10/s length=4 input=1 output=1", None, "'length' is not known"),
        ("10/s input=1 output=1 think=2", None, "belongs to users"),
        ("5 users input=1 output=1", None, "say what they may wait"),
        ("0/s input=1 output=1", None, "is no load"),
        ("1/s input=1 output=1", "ttft=soon", "no part of a service level"),
        ("1/s input=1 output=1", "ttft=0s", "no part of a service level"),
        ("1/s input=1 output=1", ",", "promises nothing"),
    ],
)
def test_what_is_wrong_is_named_with_an_example(text: str, slo: str | None, said: str) -> None:
    with pytest.raises(InputError, match=said):
        parse_need(text, slo)
