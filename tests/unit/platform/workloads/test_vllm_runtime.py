"""VLLMRuntime: settings that have a field are changed there, others in extraArgs."""

from __future__ import annotations

from tests.support.kind_samples import FLAG, NEW, OLD, Sample, head, replica_set

from barostat.core.change import ConfigChange
from barostat.judge.manifest_edit.source_patch import own_patch

SAMPLE = Sample(
    {
        **head("VLLMRuntime"),
        "spec": {
            "model": {"modelURL": "m", "maxModelLen": 4096, "maxNumSeqs": int(OLD)},
            "vllmConfig": {"gpuMemoryUtilization": "0.9", "extraArgs": ["--disable-log-requests"]},
            "deploymentConfig": {"replicas": 1, "resources": {"gpu": "1"}},
        },
    },
    {"app": "chat"},
    (("deployments", {"kind": "Deployment", "metadata": {"name": "chat"}}), replica_set()),
    {"spec": {"model": {"maxNumSeqs": int(NEW)}}},
    says="operator",
)


def test_a_setting_without_a_field_is_an_extra_argument() -> None:
    change = ConfigChange("argument", "--watermark", None, "0.05")
    found = own_patch(SAMPLE.kind, SAMPLE.item, change)
    assert found is not None
    added = ["--disable-log-requests", "--watermark", "0.05"]
    assert found.document["spec"] == {"vllmConfig": {"extraArgs": added}}


def test_a_field_keeps_its_type() -> None:
    change = ConfigChange("argument", "--gpu-memory-utilization", "0.9", "0.92")
    found = own_patch(SAMPLE.kind, SAMPLE.item, change)
    assert found is not None
    assert found.document["spec"] == {"vllmConfig": {"gpuMemoryUtilization": "0.92"}}


def test_a_replica_more_is_a_field_of_the_deployment() -> None:
    change = ConfigChange("replicas", "replicas", "1", "2")
    found = own_patch(SAMPLE.kind, SAMPLE.item, change)
    assert found is not None
    assert found.document["spec"] == {"deploymentConfig": {"replicas": 2}}


def test_its_rollout_starts_a_pod_more_unless_it_recreates() -> None:
    kind, item = SAMPLE.kind, SAMPLE.item
    assert (kind.surge(item), kind.unit_gpus(item), FLAG in kind.template(item)) == (1, 1, False)
    item = {**item, "spec": {"deploymentConfig": {"replicas": 2, "deploymentStrategy": "Recreate"}}}
    assert (kind.surge(item), kind.unavailable(item)) == (0, 2)
