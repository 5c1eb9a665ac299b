"""What the capacity review asks comes to what the fleet was, as a real Prometheus works it out."""

from __future__ import annotations

from pathlib import Path

import pytest
from dev.promtool_series import written
from tests.support.promtool import evaluated, needed

from barostat.io.prometheus.history import lines

HOUR_S, EVERY_S = 3600.0, 60.0


@pytest.fixture(scope="module", autouse=True)
def promtool() -> None:
    needed()


def running(number: int, **more: str) -> str:
    """The gauge of one pod, in what promtool reads."""
    target = {
        "job": "vllm",
        "namespace": "a",
        "pod": f"vllm-{number}",
        "instance": f"10.0.0.{number}:8000",
        **more,
    }
    return written("vllm:num_requests_running", {"engine": "0", "model_name": "m", **target})


def test_a_rollout_doubles_no_replicas(tmp_path: Path) -> None:
    """Three pods, one after the other replaced within the hour, each new one there for minutes
    beside the old one.
    """
    old = {running(pod): f"5x{20 + 10 * pod} stale" for pod in range(3)}
    new = {running(10 + pod): f"_x{12 + 10 * pod} 5x120" for pod in range(3)}
    assert evaluated(tmp_path, old | new, EVERY_S, lines("", HOUR_S)["replicas"], HOUR_S, 4) == ""
    assert (
        evaluated(
            tmp_path, old | new, EVERY_S, lines('namespace="a"', HOUR_S)["replicas"], 2 * HOUR_S, 3
        )
        == ""
    )


@pytest.mark.parametrize(
    ("others", "replicas"),
    [
        ({"job": "vllm-pods", "endpoint": "http", "container": "vllm"}, 1),
        ({"prometheus_replica": "b"}, 1),
        ({"job": "kubernetes-pods", "app": "vllm", "pod_template_hash": "5f6d", "tier": "gold"}, 1),
        (
            {
                "namespace": "",
                "pod": "",
                "kubernetes_namespace": "a",
                "kubernetes_pod_name": "vllm-0",
                "app": "vllm",
            },
            1,
        ),
        (
            {
                "namespace": "monitoring",
                "pod": "agent-7",
                "exported_namespace": "a",
                "exported_pod": "vllm-0",
            },
            1,
        ),
        ({"engine": "1"}, 2),
        ({"pod": "vllm-1", "instance": "10.0.0.1:8000"}, 2),
        ({"instance": "10.0.0.0:8001"}, 2),
        ({"cluster": "west"}, 2),
    ],
)
@pytest.mark.parametrize("matchers", ["", 'namespace="a"', 'namespace="a",'])
def test_a_replica_that_is_scraped_twice_is_one(
    matchers: str, others: dict[str, str], replicas: int, tmp_path: Path
) -> None:
    gauges = {running(0): "5x120", running(0, **others): "5x120"}
    counters = {
        name.replace("num_requests_running", "num_preemptions_total"): "0+3x120" for name in gauges
    }
    waiting = {name.replace("running", "waiting"): "0x120" for name in gauges}
    usage = {
        name.replace("num_requests_running", "kv_cache_usage_perc"): "0.5x120" for name in gauges
    }
    asked = lines(matchers, HOUR_S)
    for line, expected in (
        ("replicas", 1),
        ("running", 5),
        ("preemptions", 180),
        ("demand_pools", 0.5),
    ):
        assert (
            evaluated(
                tmp_path,
                gauges | waiting | counters | usage,
                EVERY_S,
                asked[line],
                HOUR_S,
                expected * replicas,
            )
            == ""
        )


def test_where_no_address_is_left_the_job_tells_replicas_apart(tmp_path: Path) -> None:
    gauges = {running(0, instance="", pod="", job=job): "5x120" for job in ("one", "two")}
    assert evaluated(tmp_path, gauges, EVERY_S, lines("", HOUR_S)["replicas"], HOUR_S, 2) == ""


def test_what_tells_engines_and_answers_apart_is_kept(tmp_path: Path) -> None:
    """One address in two namespaces (relabelled to the service's name); requests that ended in two
    ways.
    """
    gauges = {running(0, instance="vllm", pod="", namespace=space): "5x120" for space in ("a", "b")}
    assert evaluated(tmp_path, gauges, EVERY_S, lines("", HOUR_S)["replicas"], HOUR_S, 2) == ""
    finished = running(0).replace("num_requests_running", "request_success_total")
    ways = {
        finished.replace("{", f'{{finished_reason="{why}",'): "0+60x120"
        for why in ("stop", "length")
    }
    assert evaluated(tmp_path, ways, EVERY_S, lines("", HOUR_S)["requests_per_s"], HOUR_S, 2) == ""


@pytest.mark.parametrize(
    ("prefix", "total"), [("vllm_", "_total"), ("ray_vllm_", "_total"), ("ray_vllm_", "")]
)
def test_names_that_a_collector_or_ray_made_of_them_are_read(
    prefix: str, total: str, tmp_path: Path
) -> None:
    own = [running(0, ReplicaId=name).replace("vllm:", prefix) for name in ("a", "b")]
    gauges = dict.fromkeys(own, "5x120") | {
        name.replace("num_requests_running", "kv_cache_usage_perc"): "0.5x120" for name in own
    }
    counters = {
        name.replace("num_requests_running", f"num_preemptions{total}"): "0+3x120" for name in own
    }
    asked = lines("", HOUR_S, prefix)
    for line, expected in (
        ("replicas", 2),
        ("running", 10),
        ("kv_high_ratio", 0.5),
        ("preemptions", 360),
    ):
        assert evaluated(tmp_path, gauges | counters, EVERY_S, asked[line], HOUR_S, expected) == ""
