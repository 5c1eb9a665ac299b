"""A page of Ray's agent: its replicas are engines, those that have ended are none."""

from __future__ import annotations

from barostat.core.signal import Signal
from barostat.engines.vllm.metrics.exposition import names_engine, read
from barostat.engines.vllm.metrics.signals import digest


def series(name: str, replica: str, value: float) -> str:
    labels = f'ReplicaId="{replica}",WorkerId="w-{replica}",engine="0",model_name="tiny"'
    return f"ray_vllm_{name}{{{labels}}} {value}\n"


def engine(
    replica: str, tokens: float, *, running: float | None = 3.0, preempted: float = 0
) -> str:
    """Series of one replica; without gauges it has ended."""
    made = series("generation_tokens_total", replica, tokens)
    if preempted:
        made += series("num_preemptions_total", replica, preempted)
    if running is not None:
        made += series("num_requests_running", replica, running)
        made += series("kv_cache_usage_perc", replica, 0.5)
    return made


def signals(*pages: str) -> dict[str, dict[str, Signal]]:
    scrapes = [
        (10.0 * at, read("# TYPE x gauge\n" + page), "page") for at, page in enumerate(pages)
    ]
    return {key: {one.name: one for one in found} for key, found in digest(scrapes).signals.items()}


def test_one_replica_keeps_its_index() -> None:
    found = signals(engine("a", 100), engine("a", 300))
    assert list(found) == ["0"]
    assert found["0"]["running_requests"].last == 3.0


def test_two_replicas_on_a_node_are_two_engines() -> None:
    pages = [engine("a", 10 * at, running=1) + engine("b", 30 * at, running=7) for at in (1, 2, 3)]
    found = signals(*pages)
    assert list(found) == ["0@a", "0@b"]
    assert [found[key]["running_requests"].last for key in found] == [1.0, 7.0]


def test_a_replica_that_has_ended_is_not_counted() -> None:
    ended = engine("old", 5000, running=None, preempted=900)
    found = signals(ended + engine("new", 100), ended + engine("new", 300))
    assert list(found) == ["0"]
    assert found["0"]["preemptions_in_window"].last == 0.0


def test_a_counter_that_ray_does_not_show_yet_is_zero() -> None:
    found = signals(engine("a", 100), engine("a", 300))
    assert found["0"]["preemptions_in_window"].last == 0.0


def test_a_page_without_replicas_stays_as_it_is() -> None:
    page = 'vllm:num_requests_running{engine="0"} 2\nvllm:generation_tokens_total{engine="0"} 9\n'
    assert set(read(page).by_name) == {"vllm:num_requests_running", "vllm:generation_tokens_total"}


def test_an_engine_is_seen_under_either_name() -> None:
    assert names_engine(b'vllm:num_requests_running{engine="0"} 2\n')
    assert names_engine(engine("a", 1).encode())
    assert not names_engine(b"ray_node_cpu_count 4\n")
