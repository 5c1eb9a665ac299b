"""A recorded thrash of the real vLLM and a small cluster around it, for tests of what is planned
for it.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

from barostat.core.diagnosis import ReplicaReport, Report
from barostat.io.bundles import bundle
from barostat.judge.advice.tried_steps import with_ranked_steps
from barostat.judge.diagnosis.diagnose import Examination, diagnose
from barostat.judge.evidence.recording import Recording
from barostat.judge.mitigation.planning import Planned, Wish, plan_for
from barostat.judge.mitigation.target_snapshot import ALL_PODS, TargetSnapshot
from barostat.shells.cli.mitigate.lever_option import requested
from barostat.twin.summary import Slo

BUNDLES = Path(__file__).resolve().parents[1] / "data" / "bundles"
ARGS = ["/models/tiny", "--max-model-len", "4096"]


@cache
def diagnosed(name: str) -> tuple[Recording, Report]:
    """A recorded bundle and what it is diagnosed with."""
    recording = bundle.read(BUNDLES / name)
    return recording, diagnose(recording)


def scene(
    name: str = "kv-preemption-thrash", *, gpus: str = "3", replicas: int = 2, **metadata: Any
) -> TargetSnapshot:
    """The Deployment `chat/vllm` of that recording, with its pods on one node of so many cards."""
    recording, report = diagnosed(name)
    labels = {"app": "vllm"}
    container = {"name": "vllm", "args": [*ARGS], "resources": {"limits": {"nvidia.com/gpu": "1"}}}
    template: dict[str, Any] = {"metadata": {"labels": labels}, "spec": {"containers": [container]}}
    home = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {
            "name": "vllm",
            "namespace": "chat",
            "uid": "u-1",
            "generation": 1,
            **metadata,
        },
        "spec": {"replicas": replicas, "selector": {"matchLabels": labels}, "template": template},
        "status": {"observedGeneration": 1, "updatedReplicas": replicas, "replicas": replicas},
    }
    sets = [{"metadata": {"name": "vllm-1", "uid": "r-1", "ownerReferences": [{"uid": "u-1"}]}}]
    pods: list[dict[str, Any]] = [
        {
            "metadata": {
                "name": f"vllm-1-{index}",
                "uid": f"p-{index}",
                "ownerReferences": [{"uid": "r-1", "controller": True}],
            },
            "spec": {**template["spec"], "nodeName": "n"},
            "status": {"phase": "Running"},
        }
        for index in range(replicas)
    ]
    ends = [
        {"conditions": {"ready": True}, "targetRef": {"uid": pod["metadata"]["uid"]}}
        for pod in pods
    ]
    node = {
        "metadata": {"name": "n"},
        "status": {
            "allocatable": {"nvidia.com/gpu": gpus, "pods": "20"},
            "conditions": [{"type": "Ready", "status": "True"}],
        },
    }
    lists: dict[str, list[Any]] = {
        "services": [{"metadata": {"name": "chat"}, "spec": {"selector": labels}}],
        "endpointslices": [
            {"metadata": {"labels": {"kubernetes.io/service-name": "chat"}}, "endpoints": ends}
        ],
        "replicasets": sets,
        "pods": pods,
        ALL_PODS: pods,
        "nodes": [node],
        "resourcequotas": [],
        "poddisruptionbudgets": [],
        "horizontalpodautoscalers": [],
        "configmaps": [],
    }
    return TargetSnapshot(
        recording.at, home, recording, report, json.loads(json.dumps(lists)), lacking=()
    )


def planned(seen: TargetSnapshot, **wish: Any) -> Planned:
    """The plan for it, which there must be. `lever`: as `mitigate --lever` takes it."""
    limits = wish.pop("limits", None)
    if lever := wish.pop("lever", ""):
        wish["requested"] = requested(lever)
    found = plan_for(seen, Wish("vllm-1", **wish), limits)
    assert isinstance(found, Planned), found
    return found


@cache
def chosen_by_the_twin() -> Planned:
    """The plan for the thrash that caps what runs, at the value that the twin finds best."""
    return planned(scene(), lever="max-num-active-seqs")


_RANKED: dict[Any, ReplicaReport] = {}


def ranked_once(
    report: ReplicaReport, examination: Examination, recording: Recording, slo: Slo
) -> ReplicaReport:
    """As `with_ranked_steps`; the trials of one recording (they are read once, and stay) are run
    once for all tests.
    """
    key = (report.next, id(recording), slo)
    if key not in _RANKED:
        _RANKED[key] = with_ranked_steps(report, examination, recording, slo)
    return _RANKED[key]
