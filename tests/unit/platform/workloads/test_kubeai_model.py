"""KubeAI Model: arguments in `spec.args`, variables by name."""

from __future__ import annotations

from tests.support.kind_samples import FLAG, NEW, OLD, Sample, head

from barostat.core.change import ConfigChange
from barostat.judge.manifest_edit.source_patch import own_patch

SAMPLE = Sample(
    {
        **head("Model"),
        "spec": {
            "engine": "VLLM",
            "url": "hf://org/m",
            "args": [f"{FLAG}={OLD}"],
            "env": {"VLLM_LOGGING_LEVEL": "INFO"},
            "replicas": 1,
            "resourceProfile": "nvidia-gpu-h100:2",
        },
    },
    {"model": "chat", "app.kubernetes.io/managed-by": "kubeai"},
    patch={"spec": {"args": [f"{FLAG}={NEW}"]}},
    says="hash",
)


def test_a_variable_is_an_entry_of_a_mapping() -> None:
    change = ConfigChange("environment", "VLLM_LOGGING_LEVEL", "INFO", "DEBUG")
    found = own_patch(SAMPLE.kind, SAMPLE.item, change)
    assert found is not None
    assert found.document["spec"] == {"env": {"VLLM_LOGGING_LEVEL": "DEBUG"}}


def test_its_surge_pod_needs_the_gpus_of_its_profile() -> None:
    assert (SAMPLE.kind.surge(SAMPLE.item), SAMPLE.kind.unit_gpus(SAMPLE.item)) == (1, 2)
