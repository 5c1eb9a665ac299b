"""Requests thrown out and waiting, told from one scrape."""

from __future__ import annotations

import pytest

from barostat.engines.vllm.metrics.signals import read, signals


def _scrape(begun: int, finished: int, running: int, waiting: int, answered: int | None) -> str:
    label = '{engine="0",model_name="m"}'
    http = (
        f'http_requests_total{{handler="/v1/completions",method="POST",status="2xx"}} {answered}\n'
        if answered is not None
        else ""
    )
    return (
        f"vllm:time_to_first_token_seconds_count{label} {begun}\n"
        f'vllm:request_success_total{{engine="0",model_name="m",finished_reason="stop"}} '
        f"{finished}\n"
        f"vllm:num_requests_running{label} {running}\nvllm:num_requests_waiting{label} "
        f"{waiting}\n{http}"
    )


@pytest.mark.parametrize(
    ("begun", "finished", "running", "waiting", "answered", "expected"),
    [
        (
            50,
            40,
            7,
            12,
            40,
            3.0,
        ),  # ten have begun and are not done, seven run: three were thrown out
        (50, 40, 10, 12, 40, 0.0),
        (50, 40, 14, 12, 40, 0.0),  # four of those that run have not begun to answer
        (50, 40, 7, 12, 43, 0.0),  # three clients gave up
        (50, 40, 7, 2, 40, 2.0),  # no more than wait
        (50, 40, 7, 12, 30, 3.0),  # ten answers are still on their way
    ],
)
def test_thrown_out_and_waiting(
    begun: int, finished: int, running: int, waiting: int, answered: int, expected: float
) -> None:
    found = signals(
        [(1000.0, read(_scrape(begun, finished, running, waiting, answered)), "0.prom")]
    )["0"]
    assert next(one for one in found if one.name == "preempted_waiting_requests").last == expected


def test_with_several_completions_each_it_is_not_told() -> None:
    """A hundred clients gave up, and the answers that would show it are half as many as the
    requests.
    """
    found = signals([(1000.0, read(_scrape(20_160, 20_000, 60, 40, 10_100)), "0.prom")])["0"]
    assert "preempted_waiting_requests" not in {one.name for one in found}


def test_after_a_batch_it_is_not_told() -> None:
    """Five clients gave up and one batch of five finished: as many answers as finished requests
    less four, and nobody was thrown out.
    """
    text = _scrape(55, 45, 5, 12, 40) + (
        'http_requests_total{handler="/v1/chat/completions/batch",method="POST",status="2xx"} 1\n'
    )
    found = signals([(1000.0, read(text), "0.prom")])["0"]
    assert "preempted_waiting_requests" not in {one.name for one in found}


def test_without_http_answers_it_is_not_told() -> None:
    found = signals([(1000.0, read(_scrape(50, 40, 7, 12, None)), "0.prom")])["0"]
    assert "preempted_waiting_requests" not in {one.name for one in found}


def test_behind_one_address_for_several_engines_it_is_not_told() -> None:
    both = _scrape(50, 40, 7, 12, 40) + _scrape(50, 40, 7, 12, None).replace(
        'engine="0"', 'engine="1"'
    )
    found = signals([(1000.0, read(both), "0.prom")])
    assert set(found) == {"0", "1"}
    assert "preempted_waiting_requests" not in {one.name for made in found.values() for one in made}


def test_before_the_first_answer_nobody_has_given_up() -> None:
    text = (
        _scrape(9, 0, 6, 5, None)
        + 'http_requests_total{handler="/v1/models",method="GET",status="2xx"} 1\n'
    )
    found = signals([(1000.0, read(text), "0.prom")])["0"]
    assert next(one for one in found if one.name == "preempted_waiting_requests").last == 3.0


def test_prefix_hits_are_a_series_too() -> None:
    text = (
        "vllm:num_requests_running 1\nvllm:prefix_cache_queries_total "
        "{}\nvllm:prefix_cache_hits_total {}\n"
    )
    counted = [(100, 10), (200, 70), (200, 70), (300, 80)]
    found = signals(
        [(1000.0 + 5 * k, read(text.format(*pair)), f"{k}.prom") for k, pair in enumerate(counted)]
    )[""]
    hits = next(one for one in found if one.name == "prefix_hit_step_ratio")
    assert [(point.at, round(point.value, 2)) for point in hits.points] == [
        (1005.0, 0.6),
        (1015.0, 0.1),
    ]
