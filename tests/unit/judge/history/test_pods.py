"""kube-state-metrics' series as a pod's document, and what the judgement makes of it."""

from __future__ import annotations

from barostat.core.signal import Point
from barostat.judge.history.pods import pod_of
from barostat.judge.history.series import Series
from barostat.platform import kubernetes
from barostat.platform.pods import engine_container, image_version

AT = 1_800_000_000.0


def told(name: str, value: float, **labels: str) -> Series:
    return Series(
        {"__name__": name, "namespace": "x", "pod": "vllm-0", **labels}, (Point(AT - 5, value),)
    )


KILLED = [
    told("kube_pod_info", 1, node="gpu-3"),
    told("kube_pod_status_phase", 1, phase="Running"),
    told("kube_pod_status_phase", 0, phase="Pending"),
    told("kube_pod_status_ready", 1, condition="true"),
    told("kube_pod_container_info", 1, container="vllm", image="vllm/vllm-openai:v0.32.0"),
    told("kube_pod_container_status_restarts_total", 3, container="vllm"),
    told("kube_pod_container_status_ready", 1, container="vllm"),
    told("kube_pod_container_state_started", AT - 100, container="vllm"),
    told(
        "kube_pod_container_status_last_terminated_reason", 1, container="vllm", reason="OOMKilled"
    ),
    told("kube_pod_container_status_last_terminated_exitcode", 137, container="vllm"),
    told(
        "kube_pod_container_resource_limits",
        2,
        container="vllm",
        resource="nvidia_com_gpu",
        unit="integer",
    ),
    told(
        "kube_pod_container_resource_limits", 64e9, container="vllm", resource="memory", unit="byte"
    ),
]


def test_a_kill_for_memory_is_seen() -> None:
    pod = pod_of(KILLED, "vllm-0", "x")
    assert pod is not None
    found, problems = kubernetes.signals(
        {"pods": {"kind": "PodList", "items": [pod]}}, "vllm-0", AT
    )
    values = {signal.name: signal.last for signal in found}
    assert not problems
    assert values["pod_oom_killed"] == 1
    assert values["pod_pending"] == 0
    assert image_version(pod) == "0.32.0"
    container = engine_container(pod)
    assert container is not None
    assert container.gpus == 2
    assert container.memory_limit_bytes == 64e9


def test_a_reason_that_is_over_is_not_one_of_now() -> None:
    def lasting(name: str, until: float, **labels: str) -> Series:
        points = tuple(
            Point(at, 1) for at in (AT - 290 + 15 * step for step in range(20)) if at <= until
        )
        return Series(
            {"__name__": name, "namespace": "x", "pod": "vllm-0", "container": "vllm", **labels},
            points,
        )

    for ended_s, crashing in ((200, 0.0), (0, 1.0)):
        waiting = lasting(
            "kube_pod_container_status_waiting_reason", AT - ended_s, reason="CrashLoopBackOff"
        )
        running = lasting("kube_pod_container_status_running", AT)
        pod = pod_of([lasting("kube_pod_info", AT, node="n"), waiting, running], "vllm-0", "x")
        found, _ = kubernetes.signals({"pods": {"items": [pod]}}, "vllm-0", AT)
        assert {one.name: one.last for one in found}["pod_crash_looping"] == crashing


def test_what_the_series_do_not_tell_is_not_a_fact() -> None:
    pod = pod_of(KILLED, "vllm-0", "x")
    container = engine_container(pod or {})
    assert container is not None
    assert container.shm_bytes is None
    assert not container.probes


def test_a_pod_that_they_do_not_know_is_none() -> None:
    assert pod_of([], "vllm-0", "x") is None
