"""A trace as a load: its requests, its rate, its busiest stretch, and each replica's share."""

from __future__ import annotations

from itertools import pairwise

import pytest

from barostat.core.errors import InputError
from barostat.judge.provisioning import recorded_load as module
from barostat.judge.provisioning.need import parse_need
from barostat.judge.provisioning.recorded_load import RecordedLoad, recorded_load
from barostat.twin.request import Row
from barostat.twin.settings import KvGroup, Settings


def _rows(count: int, gap_s: float, start_s: float = 0.0, tokens: int = 100) -> list[Row]:
    return [
        Row(f"{start_s}-{place}", start_s + place * gap_s, tokens, 10) for place in range(count)
    ]


def _load() -> RecordedLoad:
    return recorded_load(_rows(101, 0.1, start_s=50.0), "t.jsonl")


def test_rate_and_lengths_are_those_of_the_trace() -> None:
    need = parse_need("trace", "ttft=1s", _load())
    assert need.rate_per_s == pytest.approx(10)
    assert (need.input_tokens, need.output_tokens) == (100, 10)
    assert need.told == "10 requests/s of 100 + 10 tokens on average (t.jsonl)"
    assert need.output_tokens_per_s == pytest.approx(100)
    assert need.longest_tokens == 1024


@pytest.mark.parametrize(("text", "rate"), [("2x", 20.0), ("0.5x trace", 5.0), ("40/s", 40.0)])
def test_a_trace_is_sent_faster_in_its_own_rhythm(text: str, rate: float) -> None:
    need = parse_need(text, None, _load())
    rows = need.rows(1, 0)
    assert need.rate_per_s == pytest.approx(rate)
    assert (len(rows) - 1) / rows[-1].arrival_s == pytest.approx(rate)


def test_every_request_goes_to_one_replica() -> None:
    load = _load()
    shares = [load.rows(4, replica) for replica in range(4)]
    assert sorted(row.request_id for share in shares for row in share) == sorted(
        row.request_id for row in load.requests
    )
    assert {len(share) for share in shares} == {25, 26}


def test_requests_alone_never_meet_and_are_of_the_whole_trace() -> None:
    alone = _load().alone()
    gaps = {round(b.arrival_s - a.arrival_s) for a, b in pairwise(alone)}
    assert gaps == {120}
    assert len(alone) == 40


def test_of_a_long_trace_the_busiest_stretch_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_REQUESTS", 50)
    rows = _rows(100, 1.0) + _rows(50, 0.1, start_s=200.0) + _rows(100, 1.0, start_s=300.0)
    load = recorded_load(rows, "t.jsonl")
    assert (load.from_s, len(load.requests), load.of_requests) == (200.0, 50, 250)
    assert load.rate_per_s == pytest.approx(10)
    assert "busiest 50 of 250 requests of t.jsonl" in parse_need("trace", None, load).told


def test_what_an_engine_refuses_for_its_length_is_not_in_its_share() -> None:
    rows = [*_rows(10, 1.0), *_rows(3, 1.0, start_s=20.0, tokens=5000)]
    settings = Settings(groups=(KvGroup(16),), kv_blocks=1001, max_model_len=4096)
    assert len(recorded_load(rows, "t").taken_by(settings).requests) == 10


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("10/s input=100", "leave out input="),
        ("20 users", "is no rate of a trace"),
        ("fast", "is no rate of a trace"),
        ("", "is no rate of a trace"),
        ("0x", "is no load"),
    ],
)
def test_what_is_no_load_of_a_trace(text: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        parse_need(text, "ttft=1s", _load())


@pytest.mark.parametrize("rows", [_rows(1, 1.0), _rows(5, 0.0)])
def test_requests_at_one_instant_have_no_rate(rows: list[Row]) -> None:
    with pytest.raises(InputError, match="has no rate"):
        recorded_load(rows, "t.jsonl")
