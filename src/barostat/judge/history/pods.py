"""Builds a pod's document from kube-state-metrics: restarts, its container's last exit, image, node
and limits.

Only what the series hold is in the document. What they do not tell (probes, volumes, events) is
left so that nobody reads its absence as a fact: a mount at /dev/shm of a volume that is not listed
stands for "not known how large".
Source: kube-state-metrics 2.x, docs/metrics/workload/pod-metrics.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Any

from barostat.judge.history.series import Series, of_now

NAMES = (
    "kube_pod_info",
    "kube_pod_status_phase",
    "kube_pod_status_ready",
    "kube_pod_container_info",
    "kube_pod_container_status_restarts_total",
    "kube_pod_container_status_ready",
    "kube_pod_container_status_running",
    "kube_pod_container_state_started",
    "kube_pod_container_status_waiting_reason",
    "kube_pod_container_status_last_terminated_reason",
    "kube_pod_container_status_last_terminated_exitcode",
    "kube_pod_container_status_last_terminated_timestamp",
    "kube_pod_container_resource_limits",
)
_RESOURCES = {
    "nvidia_com_gpu": "nvidia.com/gpu",
    "amd_com_gpu": "amd.com/gpu",
    "ephemeral_storage": "ephemeral-storage",
}


def pod_of(
    series: Sequence[Series], name: str, namespace: str, cluster: str = ""
) -> dict[str, Any] | None:
    """Return the pod's document, or None if the series contain no such pod. `series`: those of
    `NAMES`, of this pod only.

    `cluster`: kept as the object's `clusterName`, to distinguish pods of the same name and
    namespace.
    """
    series = of_now(series)
    infos = [one for one in series if one.name == "kube_pod_info"]
    containers = sorted({text for one in series if (text := one.labels.get("container", ""))})
    if not infos and not containers:
        return None
    node = next((one.labels.get("node", "") for one in infos), "")
    phase = _state(series, "kube_pod_status_phase", "phase")
    ready = next(
        (
            one
            for one in series
            if one.name == "kube_pod_status_ready" and one.labels.get("condition") == "true"
        ),
        None,
    )
    status: dict[str, Any] = {
        "containerStatuses": [_status(series, container) for container in containers]
    }
    if phase:
        status["phase"] = phase
    if ready is not None:
        status["conditions"] = [
            {"type": "Ready", "status": "True" if ready.points[-1].value == 1 else "False"}
        ]
    spec: dict[str, Any] = {
        "containers": [_container(series, container) for container in containers]
    }
    if node:
        spec["nodeName"] = node
    return {**untold(name, namespace, cluster), "spec": spec, "status": status}


def untold(name: str, namespace: str, cluster: str = "") -> dict[str, Any]:
    """Return a document with the name only, for a pod without series, so that no other pod's
    document is used for it.
    """
    return {
        "kind": "Pod",
        "metadata": {"name": name, "namespace": namespace}
        | ({"clusterName": cluster} if cluster else {}),
    }


def _container(series: Sequence[Series], name: str) -> dict[str, Any]:
    image = next(
        (one.labels.get("image", "") for one in _of(series, "kube_pod_container_info", name)), ""
    )
    limits = {
        _RESOURCES.get(
            one.labels.get("resource", ""), one.labels.get("resource", "")
        ): f"{one.points[-1].value:g}"
        if one.labels.get("resource") != "memory"
        else f"{one.points[-1].value:.0f}"
        for one in _of(series, "kube_pod_container_resource_limits", name)
    }
    return {
        "name": name,
        "image": image,
        "resources": {"limits": limits},
        "volumeMounts": [{"name": "not-known", "mountPath": "/dev/shm"}],
    }


def _status(series: Sequence[Series], name: str) -> dict[str, Any]:
    found: dict[str, Any] = {"name": name}
    if (restarts := _last(series, "kube_pod_container_status_restarts_total", name)) is not None:
        found["restartCount"] = int(restarts)
    if (ready := _last(series, "kube_pod_container_status_ready", name)) is not None:
        found["ready"] = ready == 1
    started = _last(series, "kube_pod_container_state_started", name)
    waiting = next(
        (
            one
            for one in _of(series, "kube_pod_container_status_waiting_reason", name)
            if one.points[-1].value == 1
        ),
        None,
    )
    if waiting is not None:
        found["state"] = {"waiting": {"reason": waiting.labels.get("reason", "")}}
    elif _last(series, "kube_pod_container_status_running", name) == 1 or started:
        found["state"] = {
            "running": {"startedAt": _iso(started)} if started else {"startedAt": None}
        }
    ended = next(
        (
            one
            for one in _of(series, "kube_pod_container_status_last_terminated_reason", name)
            if one.points[-1].value == 1
        ),
        None,
    )
    if ended is not None:
        terminated: dict[str, Any] = {"reason": ended.labels.get("reason", "")}
        if (
            code := _last(series, "kube_pod_container_status_last_terminated_exitcode", name)
        ) is not None:
            terminated["exitCode"] = int(code)
        finished = _last(series, "kube_pod_container_status_last_terminated_timestamp", name)
        if finished or started:
            terminated["finishedAt"] = _iso(finished or started or 0.0)
        found["lastState"] = {"terminated": terminated}
    return found


def _of(series: Iterable[Series], name: str, container: str) -> list[Series]:
    return [one for one in series if one.name == name and one.labels.get("container") == container]


def _last(series: Iterable[Series], name: str, container: str) -> float | None:
    return next((one.points[-1].value for one in _of(series, name, container)), None)


def _state(series: Iterable[Series], name: str, label: str) -> str:
    return next(
        (
            one.labels.get(label, "")
            for one in series
            if one.name == name and one.points[-1].value == 1
        ),
        "",
    )


def _iso(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
