"""The pace of an engine is that of its counters."""

from __future__ import annotations

import pytest

from barostat.gateway.ext_proc.pace import Pace


def _page(generated: float, running: float) -> bytes:
    lines = (
        "# TYPE vllm:generation_tokens_total counter",
        'vllm:generation_tokens_created{engine="0"} 1.7e+09',
    )
    values = (
        f'vllm:generation_tokens_total{{engine="0"}} {generated}',
        f'vllm:num_requests_running{{engine="0"}} {running}',
    )
    return "\n".join((*lines, *values, "")).encode()


def test_nothing_is_known_before_the_engine_was_seen_at_work() -> None:
    pace = Pace()
    pace.seen(_page(0, 0), 10.0)
    pace.seen(_page(0, 0), 12.0)
    assert pace.tokens_per_s is None
    assert pace.produced(60) == 0


def test_tokens_of_one_sequence() -> None:
    pace = Pace()
    pace.seen(_page(1000, 4), 10.0)
    pace.seen(_page(1400, 4), 12.0)
    assert pace.tokens_per_s == pytest.approx(50)
    assert pace.produced(3.0) == 150


def test_an_engine_that_began_anew_tells_nothing_of_its_pace() -> None:
    pace = Pace()
    for generated, at in ((1000, 10.0), (1400, 12.0), (5, 14.0)):
        pace.seen(_page(generated, 4), at)
    assert pace.tokens_per_s == pytest.approx(50)


@pytest.mark.parametrize("odd", [b"1e-05", b"1e", b"...", b"1e999", b"NaN", b"+"])
def test_what_is_no_number_says_nothing(odd: bytes) -> None:
    pace = Pace()
    pace.seen(_page(1000, 4), 10.0)
    pace.seen(_page(1400, 4), 12.0)
    for name in (b"generation_tokens_total", b"num_requests_running"):
        pace.seen(b"vllm:" + name + b" " + odd + b"\n", 14.0)
    assert pace.tokens_per_s == pytest.approx(50)
