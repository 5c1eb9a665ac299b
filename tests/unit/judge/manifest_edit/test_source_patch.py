"""A change that would not last is written for the place from which the workload is made."""

from __future__ import annotations

from typing import Any

import pytest

from barostat.core.change import ConfigChange
from barostat.judge.manifest_edit.flag_surgery import Surgery, set_flag
from barostat.judge.manifest_edit.source_patch import (
    former_release,
    least_replicas,
    manifest_patch,
    source_patch,
)
from barostat.platform.owner import Owner, owners


def workload(
    name: str = "vllm",
    labels: dict[str, str] | None = None,
    annotations: dict[str, str] | None = None,
) -> dict[str, Any]:
    container = {
        "name": "vllm",
        "image": "vllm/vllm-openai",
        "command": ["vllm", "serve", "m/x", "--max-num-seqs", "256"],
    }
    metadata = {
        "name": name,
        "namespace": "x",
        "labels": labels or {},
        "annotations": annotations or {},
    }
    spec = {"replicas": 2, "template": {"spec": {"containers": [container]}}}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": spec}


def surgery(item: dict[str, Any], name: str = "max_num_seqs", value: Any = 128) -> Surgery:
    found = set_flag(item["spec"]["template"], name, value)
    assert isinstance(found, Surgery)
    return found


HELM = {"meta.helm.sh/release-name": "prod", "meta.helm.sh/release-namespace": "x"}
STACK = {"helm-release-name": "prod", "model": "llama"}


def patch_of(item: dict[str, Any], name: str = "max_num_seqs", value: Any = 128) -> Any:
    return source_patch(owners(item)[0], item, surgery(item, name, value))


def test_a_chart_that_is_known_gets_its_values() -> None:
    found = patch_of(workload("prod-llama-deployment-vllm", STACK, HELM))
    assert (found.form, found.certain) == ("values", True)
    assert found.document == {
        "servingEngineSpec": {"modelSpec": [{"name": "llama", "vllmConfig": {"maxNumSeqs": 128}}]}
    }
    assert found.then == "helm upgrade prod -n x with these values"
    memory = patch_of(
        workload("prod-llama-deployment-vllm", STACK, HELM), "gpu_memory_utilization", 0.92
    )
    assert memory.document["servingEngineSpec"]["modelSpec"][0]["vllmConfig"] == {
        "gpuMemoryUtilization": 0.92
    }


@pytest.mark.parametrize(
    "item",
    [
        workload("vllm", STACK, HELM),
        workload("prod-llama-deployment-vllm", {}, HELM),
        workload("other", {"helm.sh/chart": "mine-1.0"}, HELM),
    ],
)
def test_a_chart_that_is_not_known_is_not_guessed_at(item: dict[str, Any]) -> None:
    found = patch_of(item)
    assert (found.form, found.certain) == ("manifest", False)
    assert found.document["metadata"] == {"name": item["metadata"]["name"], "namespace": "x"}
    (container,) = found.document["spec"]["template"]["spec"]["containers"]
    assert container == {
        "name": "vllm",
        "command": ["vllm", "serve", "m/x", "--max-num-seqs", "128"],
    }


def test_what_the_charts_values_do_not_hold_is_a_manifest_patch() -> None:
    assert (
        patch_of(
            workload("prod-llama-deployment-vllm", STACK, HELM), "max_num_batched_tokens", 4096
        ).form
        == "manifest"
    )


def test_git_gets_the_manifest() -> None:
    found = patch_of(
        workload(annotations={"argocd.argoproj.io/tracking-id": "prod:apps/Deployment:x/vllm"})
    )
    assert (found.form, found.certain) == ("manifest", True)
    assert "argocd app sync prod" in found.then


def test_an_autoscaler_gets_a_minimum() -> None:
    hpa = Owner("hpa", "h", "x", "replicas", "at-once", "", "HPA h")
    keda = Owner("keda", "k", "x", "replicas", "at-once", "", "ScaledObject k")
    assert [found.document["spec"] for one in (hpa, keda) if (found := least_replicas(one, 3))] == [
        {"minReplicas": 3},
        {"minReplicaCount": 3},
    ]
    assert (
        least_replicas(Owner("helm", "h", "x", "everything", "at-next-deploy", "", ""), 3) is None
    )


def test_a_change_of_the_pod_is_a_manifest_patch() -> None:
    item = workload(annotations=HELM)
    (owner,) = owners(item)
    memory = manifest_patch(owner, item, ConfigChange("pod-spec", "memory", None, "2Gi"))
    assert memory is not None
    resources = {"limits": {"memory": "2Gi"}, "requests": {"memory": "2Gi"}}
    assert memory.document["spec"]["template"]["spec"] == {
        "containers": [{"name": "vllm", "resources": resources}]
    }
    shm = manifest_patch(owner, item, ConfigChange("pod-spec", "/dev/shm", None, "1Gi"))
    assert shm is not None
    assert shm.document["spec"]["template"]["spec"] == {
        "containers": [
            {"name": "vllm", "volumeMounts": [{"name": "shm", "mountPath": "/dev/shm"}]}
        ],
        "volumes": [{"name": "shm", "emptyDir": {"medium": "Memory", "sizeLimit": "1Gi"}}],
    }
    assert shm.then == "helm upgrade prod -n x with these values"
    assert manifest_patch(owner, item, ConfigChange("pod-spec", "colour", None, "1")) is None


def test_whoever_shipped_a_bad_version_goes_back_the_same_way() -> None:
    argo = {"argocd.argoproj.io/tracking-id": "prod:apps/Deployment:x/vllm"}
    assert former_release(owners(workload(annotations=HELM))[0]) == "helm rollback prod -n x"
    assert former_release(owners(workload(annotations=argo))[0]).endswith(
        "then argocd app sync prod"
    )
