"""What is coming is told, and what only looks like it is not."""

from __future__ import annotations

import math
from collections.abc import Callable

from barostat.catalog.signals import signal
from barostat.core.limits import ServiceLevel
from barostat.core.window import Window
from barostat.judge.diagnosis.diagnose import judge_window
from barostat.operator.predictions import MemoryTrend, PoolLook, pool_fills_in_s, predictions
from barostat.operator.step import Prediction

END = 1000.0
GIB = 2.0**30


def window(name: str = "a", /, **values: Callable[[float], float]) -> Window:
    found = {}
    for key, value in values.items():
        points = [(at, value(at)) for at in range(int(END) - 80, int(END) + 1, 10)]
        made = signal(key, points, "test")
        assert made is not None
        found[key] = made
    return Window(name, END, found)


def of(*windows: Window, slo: ServiceLevel | None = None) -> list[Prediction]:
    reports = [judge_window(one) for one in windows]
    shown = {one.replica: one for one in windows}
    return list(predictions(reports, shown, slo or ServiceLevel()))


def kinds(found: list[Prediction]) -> list[str]:
    return [one.kind for one in found]


def test_a_p99_that_rises_to_the_slo_is_told_with_the_minutes_that_are_left() -> None:
    slo = ServiceLevel(ttft_p99_seconds=2.0)
    (found,) = of(window(ttft_p99_s=lambda at: 1.0 + (at - 920) * 0.005), slo=slo)
    assert found.kind == "SloWillBreak"
    assert found.in_s is not None
    assert math.isclose(found.in_s, 120.0, rel_tol=0.05)


def test_a_p99_with_noise_a_falling_one_and_one_without_slo_are_not() -> None:
    slo = ServiceLevel(ttft_p99_seconds=2.0)
    noise = window(ttft_p99_s=lambda at: 1.0 + 0.5 * (int(at) // 10 % 2))
    falling = window(ttft_p99_s=lambda at: 1.9 - (at - 920) * 0.005)
    rising = window(ttft_p99_s=lambda at: 1.0 + (at - 920) * 0.005)
    assert of(noise, slo=slo) == of(falling, slo=slo) == of(rising) == []


def test_blocks_that_no_request_explains() -> None:
    nobody = {"running_requests": lambda _: 0.0, "waiting_requests": lambda _: 0.0}
    assert kinds(of(window(kv_usage_ratio=lambda _: 0.2, **nobody))) == ["KvBlocksUnexplained"]
    assert of(window(kv_usage_ratio=lambda _: 0.0, **nobody)) == []
    just_left = {**nobody, "running_requests": lambda at: 4.0 if at < 960 else 0.0}
    assert of(window(kv_usage_ratio=lambda _: 0.2, **just_left)) == []


def test_a_replica_that_is_slower_than_its_equals() -> None:
    def replica(name: str, pace_s: float, running: float = 8.0) -> Window:
        return window(name, itl_mean_s=lambda _: pace_s, running_requests=lambda _: running)

    equals = [replica(name, 0.02) for name in "abc"]
    assert kinds(of(*equals, replica("d", 0.04))) == ["ReplicaSlower"]
    assert of(*equals, replica("d", 0.04, running=30.0)) == []  # it has more to do
    assert of(*equals, replica("d", 0.025)) == []
    assert of(replica("a", 0.02), replica("b", 0.04)) == []  # of two, either may be the odd one


def test_host_memory_that_leaks_and_memory_that_is_freed_again() -> None:
    def trend(size: Callable[[float], float]) -> list[Prediction]:
        points = tuple((at, size(at)) for at in range(0, 7201, 300))
        return list(predictions([], {}, ServiceLevel(), {"a": MemoryTrend(points, 16 * GIB)}))

    (found,) = trend(lambda at: 8 * GIB + at / 3600 * GIB)
    assert found.kind == "HostMemoryLeaks"
    assert found.in_s is not None
    assert math.isclose(found.in_s, 6 * 3600, rel_tol=0.1)
    assert trend(lambda at: 8 * GIB + (at % 1500) / 1500 * 2 * GIB) == []  # a saw
    assert trend(lambda _: 8 * GIB) == []
    assert trend(lambda at: 8 * GIB + at / 3600 * GIB / 50) == []  # not within a day


def test_a_pool_that_fills_over_minutes_is_told_before_it_is_full() -> None:
    def at_rate(rise_per_s: float, noise: float = 0.01, more_running: bool = True) -> float | None:
        def usage(at: float) -> float:
            return 0.4 + rise_per_s * at + noise * math.sin(at)

        return pool_fills_in_s(
            [
                PoolLook(at, usage(at), 100 * usage(at) if more_running else 40)
                for at in range(0, 600, 10)
            ]
        )

    found = at_rate(0.0007)
    assert found is not None
    assert math.isclose(found, (0.6 - 0.0007 * 590) / 0.0007, rel_tol=0.1)
    assert at_rate(0.0) is None
    assert at_rate(-0.0005) is None
    assert at_rate(0.0003) is None  # more than ten minutes away
    assert at_rate(0.0007, noise=0.4) is None  # it scatters as much as it rises
    assert at_rate(0.0007, more_running=False) is None  # a few that grow long
    short = [PoolLook(at, 0.4 + 0.001 * at, 40 + at) for at in range(0, 300, 10)]
    assert pool_fills_in_s(short) is None
