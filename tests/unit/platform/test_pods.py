"""One pod's status and events, told in signals."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from barostat.core.signal import Signal
from barostat.platform import kubernetes
from barostat.platform.objects import instant
from barostat.platform.pods import (
    engine_container,
    engines_in,
    image_version,
    is_gpu_resource,
    is_other_device,
    last_start_s,
    pods,
)

AT = instant("2026-11-21T12:00:00Z") or 0.0

POD: dict[str, Any] = {
    "kind": "Pod",
    "metadata": {
        "name": "vllm-7d4b9c-abcde",
        "namespace": "inference",
        "creationTimestamp": "2026-11-21T10:00:00Z",
    },
    "spec": {
        "nodeName": "gpu-1",
        "containers": [
            {"name": "istio-proxy", "image": "istio/proxyv2:1.24"},
            {
                "name": "server",
                "image": "vllm/vllm-openai:v0.32.0",
                "args": ["--model", "$(MODEL)", "--max-num-seqs", "256"],
                "env": [
                    {"name": "MODEL", "value": "Qwen/Qwen3-8B"},
                    {"name": "HF_TOKEN", "valueFrom": {"secretKeyRef": {}}},
                ],
                "resources": {"limits": {"memory": "8Gi", "cpu": "4", "nvidia.com/gpu": "1"}},
                "ports": [{"containerPort": 8000}],
                "startupProbe": {
                    "httpGet": {"path": "/health", "port": 8000},
                    "periodSeconds": 10,
                    "failureThreshold": 60,
                },
                "volumeMounts": [{"name": "shm", "mountPath": "/dev/shm"}],
            },
        ],
        "volumes": [{"name": "shm", "emptyDir": {"medium": "Memory", "sizeLimit": "2Gi"}}],
    },
    "status": {
        "phase": "Running",
        "startTime": "2026-11-21T10:00:01Z",
        "conditions": [
            {
                "type": "PodScheduled",
                "status": "True",
                "lastTransitionTime": "2026-11-21T10:00:01Z",
            },
            {"type": "Ready", "status": "True", "lastTransitionTime": "2026-11-21T10:03:00Z"},
        ],
        "containerStatuses": [
            {
                "name": "istio-proxy",
                "ready": True,
                "restartCount": 0,
                "state": {"running": {"startedAt": "2026-11-21T10:00:05Z"}},
            },
            {
                "name": "server",
                "ready": True,
                "started": True,
                "restartCount": 0,
                "state": {"running": {"startedAt": "2026-11-21T10:00:05Z"}},
            },
        ],
    },
}


def pod(**changes: Any) -> dict[str, Any]:
    """POD with fields of the vLLM container's status (`state`, `lastState`, ...) and of the pod's
    status replaced.
    """
    made = copy.deepcopy(POD)
    for name, value in changes.items():
        if name in ("phase", "reason", "message", "conditions", "initContainerStatuses"):
            made["status"][name] = value
        elif name == "metadata":
            made["metadata"].update(value)
        elif name == "nodeName":
            made["spec"]["nodeName"] = value
        else:
            made["status"]["containerStatuses"][1][name] = value
    return made


def event(
    reason: str, message: str, last: str = "2026-11-21T11:59:00Z", count: int = 1
) -> dict[str, Any]:
    return {
        "reason": reason,
        "message": message,
        "involvedObject": {
            "kind": "Pod",
            "name": POD["metadata"]["name"],
            "namespace": "inference",
            "fieldPath": "spec.containers{server}",
        },
        "lastTimestamp": last,
        "count": count,
    }


def facts(
    document: dict[str, Any], events: list[dict[str, Any]] | None = None
) -> dict[str, Signal]:
    documents: dict[str, Any] = {"pods": {"kind": "List", "items": [document]}}
    if events is not None:
        documents["events"] = {"items": events}
    made, problems = kubernetes.signals(documents, POD["metadata"]["name"], AT)
    assert problems == []
    return {signal.name: signal for signal in made}


def values(found: dict[str, Signal]) -> dict[str, float]:
    return {name: signal.last for name, signal in found.items()}


def test_a_healthy_pod_is_healthy_in_every_fact() -> None:
    found = values(facts(POD, []))
    assert found.pop("pod_shm_bytes") == 2 * 2**30
    assert set(found) == {
        "pod_pending", "pod_not_ready", "pod_starting", "pod_crash_looping", "pod_image_error", "pod_evicted", "pod_restarts",
        "pod_oom_killed", "pod_probe_failures", "pod_probe_kills", "pods_unschedulable",
    }  # fmt: skip
    assert set(found.values()) == {0.0}


def test_the_engines_container_is_found_behind_a_sidecar() -> None:
    container = engine_container(POD)
    assert container is not None
    assert container.name == "server"
    assert container.args == ("--model", "Qwen/Qwen3-8B", "--max-num-seqs", "256")
    assert (container.memory_limit_bytes, container.cpu_limit_cores, container.gpus) == (
        8 * 2**30,
        4.0,
        1.0,
    )
    assert (container.ports, container.env, container.env_names) == (
        (8000,),
        {"MODEL": "Qwen/Qwen3-8B"},
        ("MODEL", "HF_TOKEN"),
    )


def test_pods_lists_the_replicas_that_run_vllm() -> None:
    redis = {
        "metadata": {"name": "redis"},
        "spec": {"containers": [{"name": "redis", "image": "redis:7"}]},
    }
    router = {
        "metadata": {"name": "router"},
        "spec": {"containers": [{"name": "router", "image": "lmcache/vllm-router"}]},
    }
    (only,) = pods({"pods": [redis, router, POD]})
    assert (only.name, only.node, only.image) == (
        POD["metadata"]["name"],
        "gpu-1",
        "vllm/vllm-openai:v0.32.0",
    )
    assert [found.name for found in pods({"pods": [redis]})] == ["redis"]


def test_oom_killed_is_the_hosts_memory_and_says_limit_and_time() -> None:
    ended = {
        "terminated": {"reason": "OOMKilled", "exitCode": 137, "finishedAt": "2026-11-21T11:59:18Z"}
    }
    found = facts(
        pod(
            restartCount=3,
            lastState=ended,
            state={"running": {"startedAt": "2026-11-21T11:59:20Z"}},
        )
    )
    assert (
        found["pod_oom_killed"].last,
        found["pod_restarts"].last,
        found["pod_last_exit_code"].last,
    ) == (1, 3, 137)
    assert found["pod_oom_killed"].detail == "OOMKilled, exit 137, limit 8Gi, 42 s ago"
    assert "not the GPU" in found["pod_last_exit_code"].detail


def test_restarts_long_ago_are_not_news() -> None:
    ended = {
        "terminated": {"reason": "OOMKilled", "exitCode": 137, "finishedAt": "2026-11-18T10:00:00Z"}
    }
    found = facts(pod(restartCount=3, lastState=ended))
    assert (found["pod_oom_killed"].last, found["pod_restarts"].last) == (0, 0)
    assert "pod_last_exit_code" not in found
    assert found["pod_restarts"].detail.startswith("3 restarts, the last 3 d ago")


@pytest.mark.parametrize(
    ("changes", "events", "fragment"),
    [
        (
            {},
            [event("Killing", "Container server failed liveness probe, will be restarted")],
            "after a failed liveness probe",
        ),
        ({}, [event("Evicted", "The node was low on resource: memory.")], "evicted"),
        ({"metadata": {"deletionTimestamp": "2026-11-21T11:59:30Z"}}, [], "being deleted"),
        ({}, [], "not by the container's memory limit"),
    ],
)
def test_exit_137_without_oom_is_a_kill_and_events_tell_whose(
    changes: Any, events: list[dict[str, Any]], fragment: str
) -> None:
    ended = {
        "terminated": {"reason": "Error", "exitCode": 137, "finishedAt": "2026-11-21T11:59:18Z"}
    }
    found = facts(pod(restartCount=1, lastState=ended, **changes), events)
    assert found["pod_oom_killed"].last == 0
    assert fragment in found["pod_last_exit_code"].detail


def test_probe_failures_and_kills_are_counted_from_events_of_both_shapes() -> None:
    new_shape = {
        "apiVersion": "events.k8s.io/v1",
        "reason": "Unhealthy",
        "note": "Liveness probe failed: Get http://10.0.0.7:8000/health: context deadline exceeded",
        "regarding": {
            "kind": "Pod",
            "name": POD["metadata"]["name"],
            "namespace": "inference",
            "fieldPath": "spec.containers{server}",
        },
        "eventTime": None,
        "series": {"count": 4, "lastObservedTime": "2026-11-21T11:58:00.123456Z"},
    }
    other_container = {
        **event("Unhealthy", "Readiness probe failed: x"),
        "involvedObject": {
            **event("", "")["involvedObject"],
            "fieldPath": "spec.containers{istio-proxy}",
        },
    }
    found = facts(
        POD,
        [
            new_shape,
            event(
                "Unhealthy",
                "Readiness probe failed: HTTP probe failed with statuscode: 503",
                count=2,
            ),
            event("Killing", "Container server failed liveness probe, will be restarted", count=2),
            event("Unhealthy", "Liveness probe failed: old", last="2026-11-20T11:58:00Z", count=50),
            other_container,
        ],
    )
    assert found["pod_probe_failures"].last == 6
    assert "liveness 4, readiness 2" in found["pod_probe_failures"].detail
    assert "503" in found["pod_probe_failures"].detail
    assert found["pod_probe_kills"].last == 2


def test_without_an_event_list_nothing_is_said_of_probes() -> None:
    assert not {"pod_probe_failures", "pod_probe_kills"} & set(facts(POD))


def test_a_pending_pod_carries_the_schedulers_words() -> None:
    why = "0/3 nodes are available: 3 Insufficient nvidia.com/gpu."
    conditions = [
        {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": why}
    ]
    found = facts(pod(phase="Pending", nodeName=None, conditions=conditions, containerStatuses=[]))
    assert (found["pod_pending"].last, found["pod_pending"].detail) == (1, why)
    assert found["pod_pending_s"].last == 7200
    assert (found["pods_unschedulable"].last, why in found["pods_unschedulable"].detail) == (
        1,
        True,
    )


def test_a_pending_pod_without_conditions_takes_the_event() -> None:
    found = facts(
        pod(phase="Pending", nodeName="", conditions=[]),
        [event("FailedScheduling", "0/1 nodes are available: 1 node(s) had taints")],
    )
    assert "had taints" in found["pod_pending"].detail


STARTING = {
    "type": "Ready",
    "status": "False",
    "reason": "ContainersNotReady",
    "message": "containers with unready status: [server]",
    "lastTransitionTime": "2026-11-21T10:00:01Z",
}


def test_a_container_on_its_way_to_its_first_ready_is_starting() -> None:
    found = facts(
        pod(
            conditions=[STARTING],
            ready=False,
            started=False,
            state={"running": {"startedAt": "2026-11-21T11:55:00Z"}},
        )
    )
    assert (
        found["pod_starting"].last,
        found["pod_starting_s"].last,
        found["pod_not_ready"].last,
    ) == (1, 300, 1)
    assert "startup probe allows 600 s" in found["pod_starting"].detail


def test_a_container_that_lost_ready_is_not_starting() -> None:
    lost = {**STARTING, "lastTransitionTime": "2026-11-21T11:50:00Z"}
    found = facts(pod(conditions=[lost], ready=False, started=True))
    assert (found["pod_starting"].last, found["pod_not_ready"].last) == (0, 1)
    assert "pod_starting_s" not in found


def test_a_container_being_made_is_starting() -> None:
    found = facts(
        pod(
            phase="Pending",
            conditions=[STARTING],
            ready=False,
            state={"waiting": {"reason": "ContainerCreating"}},
        )
    )
    assert (found["pod_starting"].last, found["pod_pending"].last) == (1, 0)
    assert found["pod_starting"].detail == "ContainerCreating"


def test_a_crash_loop_says_how_it_ended() -> None:
    found = facts(
        pod(
            ready=False,
            restartCount=6,
            conditions=[STARTING],
            state={
                "waiting": {
                    "reason": "CrashLoopBackOff",
                    "message": "back-off 5m0s restarting failed container",
                }
            },
            lastState={
                "terminated": {
                    "reason": "Error",
                    "exitCode": 2,
                    "finishedAt": "2026-11-21T03:00:00Z",
                }
            },
        )
    )
    assert (
        found["pod_crash_looping"].last,
        found["pod_restarts"].last,
        found["pod_last_exit_code"].last,
    ) == (1, 6, 2)
    assert "exit 2" in found["pod_crash_looping"].detail
    assert found["pod_starting"].last == 0


@pytest.mark.parametrize(
    "state",
    [
        {
            "waiting": {
                "reason": "ImagePullBackOff",
                "message": 'Back-off pulling image "vllm/vllm-openai:nope"',
            }
        },
        {
            "waiting": {
                "reason": "CreateContainerConfigError",
                "message": 'secret "hf" not found: nope',
            }
        },
        {
            "terminated": {
                "reason": "StartError",
                "exitCode": 128,
                "message": "exec: vllm: not found nope",
            }
        },
    ],
)
def test_what_cannot_be_made_is_an_image_error(state: dict[str, Any]) -> None:
    found = facts(pod(phase="Pending", ready=False, conditions=[STARTING], state=state))
    assert found["pod_image_error"].last == 1
    assert "nope" in found["pod_image_error"].detail


def test_the_runtimes_words_around_the_reason_are_left_out() -> None:
    message = (
        "failed to create containerd task: failed to create shim task: OCI runtime create "
        "failed: runc create failed: unable to start "
        "container process: error during container init: error running prestart hook #0: "
        "exit status 1, stdout: , stderr: Auto-detected "
        "mode as 'legacy'\nnvidia-container-cli: requirement error: unsatisfied condition: "
        "cuda>=12.9, please update your driver"
    )
    state = {"waiting": {"reason": "RunContainerError", "message": message}}
    found = facts(pod(phase="Pending", ready=False, conditions=[STARTING], state=state))
    assert found["pod_image_error"].detail.startswith(
        "RunContainerError: nvidia-container-cli: requirement error: unsatisfied condition"
    )


def test_a_volume_that_does_not_mount_keeps_the_container_from_being_made() -> None:
    waiting = pod(
        phase="Pending",
        ready=False,
        conditions=[STARTING],
        state={"waiting": {"reason": "ContainerCreating"}},
    )
    found = facts(waiting, [event("FailedMount", 'MountVolume.SetUp failed for volume "models"')])
    assert (found["pod_image_error"].last, "models" in found["pod_image_error"].detail) == (1, True)


def test_an_init_container_that_fails_is_told() -> None:
    init = [
        {
            "name": "fetch",
            "restartCount": 4,
            "state": {"waiting": {"reason": "CrashLoopBackOff"}},
            "lastState": {"terminated": {"reason": "OOMKilled", "exitCode": 137}},
        }
    ]
    found = facts(
        pod(
            phase="Pending",
            ready=False,
            conditions=[STARTING],
            state={"waiting": {"reason": "PodInitializing"}},
            initContainerStatuses=init,
        )
    )
    assert found["pod_crash_looping"].detail.startswith("init container fetch")
    assert found["pod_oom_killed"].detail == "init container fetch: OOMKilled"


def test_an_eviction_carries_the_nodes_reason() -> None:
    found = facts(
        pod(
            phase="Failed",
            reason="Evicted",
            message="The node was low on resource: memory. Threshold quantity: 100Mi",
        )
    )
    assert (
        found["pod_evicted"].last,
        "low on resource: memory" in found["pod_evicted"].detail,
    ) == (1, True)


@pytest.mark.parametrize(
    ("volume", "limit", "wanted"),
    [
        ({"emptyDir": {"medium": "Memory"}}, "8Gi", 8.0 * 2**30),
        ({"emptyDir": {"medium": "Memory", "sizeLimit": "20Gi"}}, "8Gi", 8.0 * 2**30),
        ({"emptyDir": {"medium": "Memory"}}, None, None),
        ({"hostPath": {"path": "/dev/shm"}}, "8Gi", None),
    ],
)
def test_the_size_of_dev_shm(
    volume: dict[str, Any], limit: str | None, wanted: float | None
) -> None:
    made = pod()
    made["spec"]["volumes"] = [{"name": "shm", **volume}]
    made["spec"]["containers"][1]["resources"]["limits"] = {"memory": limit} if limit else {}
    container = engine_container(made)
    assert container is not None
    assert container.shm_bytes == wanted


def test_dev_shm_without_a_mount_is_the_runtimes_64_mib() -> None:
    made = pod()
    del made["spec"]["containers"][1]["volumeMounts"]
    assert facts(made)["pod_shm_bytes"].last == 64 * 2**20


def test_a_replica_without_its_pod_takes_the_only_vllm_pod_or_says_so() -> None:
    made, problems = kubernetes.signals({"pods": POD}, "http://host:8000", AT)
    assert problems == []
    assert any(signal.name == "pod_restarts" for signal in made)
    twin = copy.deepcopy(POD)
    twin["metadata"]["name"] = "vllm-7d4b9c-fghij"
    made, problems = kubernetes.signals({"pods": [POD, twin]}, "http://host:8000", AT)
    assert "none is called" in problems[0]
    assert not any(signal.name == "pod_restarts" for signal in made)


def test_a_start_error_of_the_past_is_no_error_of_a_running_container() -> None:
    found = facts(
        pod(
            restartCount=1,
            lastState={
                "terminated": {
                    "reason": "StartError",
                    "exitCode": 128,
                    "finishedAt": "2026-11-21T10:00:03Z",
                }
            },
        )
    )
    assert (found["pod_image_error"].last, found["pod_crash_looping"].last) == (0, 0)


@pytest.mark.parametrize(
    ("image", "version"),
    [
        ("docker.io/vllm/vllm-openai:v0.32.0", "0.32.0"),
        ("vllm/vllm-openai-rocm:v0.14.1-ubuntu", "0.14.1"),
        ("registry.example/mirror/vllm/vllm-openai:0.9.2", "0.9.2"),
        ("vllm/vllm-openai:latest", None),
        ("vllm/vllm-openai@sha256:0123", None),
        ("registry.example/ours/llm-server:v2.1.0", None),
        ("lmcache/vllm-openai:v0.3.3", None),
    ],
)
def test_the_tag_of_vllms_own_image_is_its_version(image: str, version: str | None) -> None:
    changed = copy.deepcopy(POD)
    changed["spec"]["containers"][1]["image"] = image
    assert image_version(changed) == version
    assert image_version(None) is None


@pytest.mark.parametrize(
    "name",
    [
        "habana.ai/gaudi",
        "google.com/tpu",
        "aws.amazon.com/neuroncore",
        "huawei.com/Ascend910",
        "gpu.intel.com/i915",
    ],
)
def test_cards_that_are_no_gpus_by_name_are_devices_of_another_kind(name: str) -> None:
    assert (is_other_device(name), is_gpu_resource(name)) == (True, False)


@pytest.mark.parametrize(
    "name",
    [
        "cpu",
        "memory",
        "hugepages-2Mi",
        "nvidia.com/gpu",
        "vpc.amazonaws.com/efa",
        "rdma/hca_shared",
        "github.com/fuse",
    ],
)
def test_memory_networks_and_gpus_are_not(name: str) -> None:
    assert not is_other_device(name)


@pytest.mark.parametrize(
    ("ready", "at", "start_s"),
    [
        ("True", "2026-11-21T10:02:30Z", 90.0),
        ("False", "2026-11-21T10:02:30Z", None),
        ("True", "2026-11-21T18:02:30Z", None),
    ],
)
def test_how_long_the_last_start_took(ready: str, at: str, start_s: float | None) -> None:
    pod = copy.deepcopy(POD)
    pod["status"] = {
        "conditions": [{"type": "Ready", "status": ready, "lastTransitionTime": at}],
        "containerStatuses": [
            {"name": "server", "state": {"running": {"startedAt": "2026-11-21T10:01:00Z"}}}
        ],
    }
    assert last_start_s({"pods": {"items": [pod]}}, pod["metadata"]["name"]) == start_s
    pod["metadata"]["labels"] = {"ray.io/cluster": "chat-abcde"}
    assert last_start_s({"pods": {"items": [pod]}}, pod["metadata"]["name"]) is None


def test_what_shares_a_node_of_ray_is_no_data_parallel_engine() -> None:
    for labels, called in (
        ({}, "data-parallel engines"),
        ({"ray.io/cluster": "chat-abcde"}, "Ray Serve replicas"),
    ):
        pod = {"metadata": {"name": "p", "labels": labels}}
        assert engines_in({"pods": {"items": [pod]}}, "p") == called
