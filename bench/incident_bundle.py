"""From the evidence of an incident row, as people wrote it down, to a bundle.

The rows quote logs verbatim, but tell metrics, pod status and cards in loose words. What is sure is
written in the bundle's own forms; the rest is left out. Nothing is made up: no time, no counter's
start, no series.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

AT = 1_700_000_000
REPLICA = "engine-0"
NODE = "node-0"
KERNEL = re.compile(
    r"NVRM:|\bS?Xid\b[^.\n]{0,40}\d|nvidia-nvswitch\d|\bamdgpu [0-9a-f]{4}:|\[drm:amdgpu|Out of memory: Killed process"
    r"|Memory cgroup out of memory|\boom-kill:|invoked oom-killer|\bearlyoom\b|systemd-oomd"
)
"""Lines that only a kernel writes: they go into the node's kernel log."""
GAUGES = {
    "kv_cache_usage_perc": "vllm:kv_cache_usage_perc",
    "gpu_cache_usage_perc": "vllm:gpu_cache_usage_perc",
    "num_requests_running": "vllm:num_requests_running",
    "num_requests_waiting": "vllm:num_requests_waiting",
    "num_preemptions": "vllm:num_preemptions_total",
    "num_preemptions_total": "vllm:num_preemptions_total",
}
CORES_USED = ("cpu_cores_used", "cpu_usage_cores", "cpu_cores")
CPU_LIMIT = re.compile(r"\bCPU limit\b\D{0,12}(\d+(?:\.\d+)?)(?! ?%|m\b)", re.IGNORECASE)
NUMBER = re.compile(r"[-+]?\d+(?:\.\d+)?")


def write_bundle(folder: Path, evidence: Mapping[str, Any], version: str | None) -> None:
    """Leave a bundle of the row's evidence in folder."""
    replica: dict[str, Any] = {"name": REPLICA, "node": NODE}
    if version:
        replica["version"] = version
    if evidence.get("args"):
        replica["args"] = [str(arg) for arg in evidence["args"]]
    document = {
        "apiVersion": "barostat.dev/v1alpha1",
        "kind": "Bundle",
        "engine": "vllm",
        "replicas": [replica],
    }
    (folder / "bundle.yaml").write_text(yaml.safe_dump(document))
    if logs := evidence.get("logs"):
        lines = (logs if isinstance(logs, str) else "\n".join(map(str, logs))).splitlines()
        for name, chosen in ((NODE, True), (REPLICA, False)):
            if part := [line for line in lines if bool(KERNEL.search(line)) is chosen]:
                _write(
                    folder / "logs" / (f"{name}.kernel.log" if chosen else f"{name}.log"),
                    "\n".join(part),
                )
    metrics = evidence.get("metrics")
    if isinstance(metrics, Mapping) and (text := _exposition(metrics)):
        _write(folder / "metrics" / REPLICA / f"{AT}.prom", text)
    if host := _host(
        metrics if isinstance(metrics, Mapping) else {}, str(evidence.get("pod_status") or "")
    ):
        _write(folder / "host" / REPLICA / f"{AT}.json", json.dumps(host))
    if isinstance(card := evidence.get("nvidia_smi"), str) and "|" in card and "MiB" in card:
        _write(folder / "gpu" / REPLICA / f"{AT}.nvidia-smi.txt", card)
    if status := evidence.get("pod_status"):
        pod = status if isinstance(status, Mapping) else _pod(str(status))
        if pod:
            _write(
                folder / "kubernetes" / "pods.json", json.dumps({"kind": "List", "items": [pod]})
            )


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text if text.endswith("\n") else text + "\n")


def _exposition(metrics: Mapping[str, Any]) -> str:
    """One scrape of those values that are numbers of metrics that vLLM has."""
    lines = []
    for key, value in metrics.items():
        name = GAUGES.get(key.removeprefix("vllm:"))
        if name is None or isinstance(value, bool):
            continue
        if isinstance(value, str) and not NUMBER.fullmatch(value.strip()):
            continue
        lines.append(f'{name}{{model_name="model"}} {float(value)}')
    return "\n".join(lines)


def _host(metrics: Mapping[str, Any], status: str) -> dict[str, float]:
    """Cores in use and the limit on them, where both are told in numbers."""
    used = next(
        (found for key in CORES_USED if (found := NUMBER.match(str(metrics.get(key, "")).strip()))),
        None,
    )
    limit = CPU_LIMIT.search(status)
    return (
        {"cpu_usage_cores": float(used[0]), "cpu_limit_cores": float(limit[1])}
        if used and limit
        else {}
    )


def _pod(status: str) -> dict[str, Any] | None:
    """A pod document with the terminated state that the words tell, or None where they tell
    none.
    """
    code = re.search(r"exit(?:ed)?(?: with)?(?: code)?[ :=]*(\d{1,3})", status, re.IGNORECASE)
    killed = re.search(r"OOM ?Killed", status, re.IGNORECASE)
    waiting = re.search(
        r"(CrashLoopBackOff|ImagePullBackOff|ErrImagePull|CreateContainerConfigError)", status
    )
    evicted = re.search(r"\bEvicted\b", status)
    if not (code or killed or waiting or evicted):
        return None
    container: dict[str, Any] = {"name": "vllm", "ready": False, "restartCount": 1}
    if waiting:
        container["state"] = {"waiting": {"reason": waiting[1]}}
    if code or killed:
        ended = {
            "exitCode": int(code[1]) if code else 137,
            "reason": "OOMKilled" if killed else "Error",
        }
        container["lastState"] = {"terminated": ended}
    pod: dict[str, Any] = {
        "kind": "Pod",
        "metadata": {"name": REPLICA},
        "spec": {"containers": [{"name": "vllm", "image": "vllm/vllm-openai"}]},
        "status": {"phase": "Failed" if evicted else "Running", "containerStatuses": [container]},
    }
    if evicted:
        pod["status"]["reason"] = "Evicted"
    return pod
