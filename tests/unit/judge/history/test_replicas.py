"""Replicas by the labels that are really there."""

from __future__ import annotations

import pytest

from barostat.core.signal import Point
from barostat.judge.history.replicas import remembered_replicas
from barostat.judge.history.series import Series
from barostat.platform.pods import pod_place


def gauge(points: int = 3, **labels: str) -> Series:
    own = {"__name__": "vllm:num_requests_running", "engine": "0", "model_name": "m"}
    return Series(
        {**own, **labels}, tuple(Point(100.0 + 15 * place, 1.0) for place in range(points))
    )


@pytest.mark.parametrize(
    ("series", "names"),
    [
        (
            [
                gauge(pod="a", namespace="x", instance="1:8000"),
                gauge(pod="b", namespace="x", instance="2:8000"),
            ],
            ["a", "b"],
        ),
        (
            [
                gauge(pod="a", namespace="x", instance="1:8000"),
                gauge(pod="a", namespace="y", instance="2:8000"),
            ],
            ["x/a", "y/a"],
        ),
        (
            [
                gauge(pod="a", namespace="x", instance="1:8000"),
                gauge(pod="a", namespace="x", instance="1:8001"),
            ],
            ["a:8000", "a:8001"],
        ),
        ([gauge(instance="1:8000"), gauge(instance="2:8000")], ["1:8000", "2:8000"]),
        ([gauge(kubernetes_pod_name="a", kubernetes_namespace="x")], ["a"]),
        ([gauge(exported_pod="a", pod="prometheus-0")], ["a"]),
        (
            [
                gauge(pod="a", instance="1:8000", cluster="eu"),
                gauge(pod="a", instance="1:8000", cluster="us"),
            ],
            ["eu/a", "us/a"],
        ),
        (
            [
                gauge(pod="a", namespace="x", instance=f"1:{port}", cluster=c)
                for port, c in ((1, "e"), (2, "e"), (1, "w"))
            ],
            ["e/x/a:1", "e/x/a:2", "w/x/a"],
        ),
        (
            [gauge(pod="a", instance="1:8000"), gauge(pod="a", instance="2:8000")],
            ["a@1:8000", "a@2:8000"],
        ),
        (
            [gauge(pod="a", instance="1:8000", k8s_cluster=name) for name in ("eu", "us")],
            ["eu/a", "us/a"],
        ),
        (
            [
                gauge(pod="ray-0", instance="1:8080", ReplicaId=name, WorkerId="w")
                for name in ("k2", "k1")
            ],
            ["ray-0@k1", "ray-0@k2"],
        ),
        ([gauge(job="vllm", zone=zone) for zone in ("b", "c")], ["vllm@zone=b", "vllm@zone=c"]),
        ([gauge(engine="0", pod="a"), gauge(engine="1", pod="a")], ["a"]),
    ],
)
def test_each_engine_is_a_replica_with_a_name_of_its_own(
    series: list[Series], names: list[str]
) -> None:
    replicas, problems = remembered_replicas(series)
    assert [one.name for one in replicas] == names
    assert not [problem for problem in problems if "neither pod nor instance" not in problem]
    assert all(one.pod in ("", pod_place(one.name)[1]) for one in replicas)


def test_a_target_that_was_scraped_twice_is_one_and_that_is_said() -> None:
    twice = [
        gauge(2, pod="a", instance="1:8000", job="pods"),
        gauge(5, pod="a", instance="1:8000", job="services"),
    ]
    replicas, problems = remembered_replicas(twice)
    assert [(one.name, one.labels["job"], len(one.at)) for one in replicas] == [
        ("a", "services", 5)
    ]
    assert "2 times" in problems[0]
    assert "job" in problems[0]


def test_labels_that_changed_before_the_window_do_not_hide_a_replica() -> None:
    old = gauge(30, pod="a", instance="1:8000", pod_template_hash="1")
    new = gauge(40, pod="a", instance="1:8000", pod_template_hash="2")
    new = Series(new.labels, new.points[-4:])
    since = new.points[0].at
    replicas, problems = remembered_replicas([old, new], since)
    assert [(one.labels["pod_template_hash"], one.at[0]) for one in replicas] == [("2", since)]
    assert not problems


def test_a_pod_that_came_back_at_another_address_goes_on_under_its_name() -> None:
    before, now = gauge(30, pod="a", instance="1:8000"), gauge(40, pod="a", instance="2:8000")
    replicas, _ = remembered_replicas(
        [before, Series(now.labels, now.points[31:])], now.points[31].at
    )
    assert [(one.name, one.labels["instance"]) for one in replicas] == [
        ("a", "2:8000"),
        ("a@1:8000", "1:8000"),
    ]


def test_a_pair_of_servers_is_one_too() -> None:
    replicas, problems = remembered_replicas(
        [gauge(pod="a", prometheus_replica="p-0"), gauge(pod="a", prometheus_replica="p-1")]
    )
    assert len(replicas) == 1
    assert "prometheus_replica" in problems[0]


def test_labels_that_were_taken_away_are_said() -> None:
    replicas, problems = remembered_replicas([gauge()])
    assert [one.name for one in replicas] == ["all of it"]
    assert "neither pod nor instance" in problems[0]


def test_the_usual_pause_is_the_scrape_interval() -> None:
    assert remembered_replicas([gauge(4, pod="a")])[0][0].interval_s == 15.0
    assert remembered_replicas([gauge(1, pod="a")])[0][0].interval_s is None
