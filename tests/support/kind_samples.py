"""A workload of a kind with one pod of it, as its controllers make them: each kind's own test has one
as `SAMPLE`, and `tests/unit/shells/cli/test_main_every_kind.py` tries every verb on it.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from barostat.platform.workloads import WorkloadKind, kind_named

Object = dict[str, Any]
FOLDER = Path(__file__).resolve().parents[1] / "unit" / "platform" / "workloads"
NAME = "chat"
FLAG, OLD, NEW = "--max-num-seqs", "64", "16"


@dataclass(frozen=True, slots=True)
class Sample:
    """`item`: the object, with FLAG at OLD somewhere. `above`: what stands between it and the pod,
    by plural name, the nearest to the object first. `labels`: of the pod. `patch`: what changes FLAG
    to NEW, as a merge patch; None where the kind has no field for it. `held`: the object that holds
    the templates, by plural name. `says`: words of the sentence for whoever wants it changed.
    """

    item: Object
    labels: Mapping[str, str] = field(default_factory=dict)
    above: tuple[tuple[str, Object], ...] = ()
    patch: Mapping[str, Any] | None = None
    held: tuple[str, Object] | None = None
    role: str = ""
    says: str = ""

    @property
    def kind(self) -> WorkloadKind:
        found = kind_named(self.item["kind"])
        assert found is not None
        return found

    @property
    def target(self) -> str:
        return self.kind.typed(NAME)

    def objects(self) -> list[tuple[str, Object]]:
        """All of it, each owned by the one before it; the pod last."""
        found: list[tuple[str, Object]] = [(self.kind.api.plural, self.item)]
        for plural, item in self.above:
            found.append((plural, {**item, "metadata": {**item.get("metadata", {})}}))
        if self.item["kind"] == "Pod":
            return found
        return [*found, ("pods", pod(self.labels)), *([self.held] if self.held else [])]


def head(kind: str, name: str = NAME) -> Object:
    """The object without its spec."""
    found = kind_named(kind)
    assert found is not None
    return {"apiVersion": found.api.api_version, "kind": kind, "metadata": {"name": name}}


def replica_set(name: str = f"{NAME}-5d8f7c9b6d") -> tuple[str, Object]:
    """A ReplicaSet between an owner and its pod."""
    return "replicasets", {"kind": "ReplicaSet", "metadata": {"name": name}}


def deployment(name: str, labels: Mapping[str, str], engine: Object) -> tuple[str, Object]:
    """The Deployment that an owner has made and that has rolled out."""
    made = {"metadata": {"labels": dict(labels)}, "spec": {"containers": [engine]}}
    spec = {"replicas": 1, "selector": {"matchLabels": dict(labels)}, "template": made}
    status = {"updatedReplicas": 1, "replicas": 1}
    document = {"kind": "Deployment", "metadata": {"name": name}, "spec": spec, "status": status}
    return "deployments", document


def container(args: Sequence[str] = (FLAG, OLD), **more: Any) -> Object:
    """One that runs vLLM."""
    return {
        "name": "main",
        "image": "vllm/vllm-openai:v0.32.0",
        "args": ["--model", "org/m", *args],
        "resources": {"limits": {"nvidia.com/gpu": "1"}},
        **more,
    }


def template(args: Sequence[str] = (FLAG, OLD), **labels: str) -> Object:
    """A pod template that runs vLLM."""
    return {"metadata": {"labels": labels}, "spec": {"containers": [container(args)]}}


def pod(labels: Mapping[str, str], name: str = f"{NAME}-0-abcde") -> Object:
    """A pod that runs and is Ready."""
    ready = [{"type": kind, "status": "True"} for kind in ("PodScheduled", "Ready")]
    running = [{"name": "main", "state": {"running": {}}, "ready": True, "restartCount": 0}]
    return {
        "kind": "Pod",
        "metadata": {"name": name, "labels": dict(labels)},
        "spec": {"containers": [container()], "nodeName": "n0"},
        "status": {
            "phase": "Running",
            "podIP": "10.0.0.1",
            "conditions": ready,
            "containerStatuses": running,
        },
    }


def samples() -> dict[str, Sample]:
    """Every kind's, by the kind's name."""
    found = {}
    for file in sorted(FOLDER.glob("test_*.py")):
        module = importlib.import_module(f"tests.unit.platform.workloads.{file.stem}")
        sample = getattr(module, "SAMPLE", None)
        if sample is not None:
            found[sample.item["kind"]] = sample
    return found
