"""KAITO Workspace: a pod template, or a preset with a ConfigMap."""

from __future__ import annotations

from tests.support.kind_samples import FLAG, NEW, Sample, head, template

SAMPLE = Sample(
    {
        **head("Workspace"),
        "resource": {"count": 1},
        "inference": {"template": template()},
    },
    {"kaito.sh/workspace": "chat"},
    patch={"inference": {"template": {"spec": template([FLAG, NEW])["spec"]}}},
    says="inference.template",
)


def test_the_arguments_of_a_preset_are_in_a_config_map() -> None:
    item = {**head("Workspace"), "inference": {"preset": {"name": "phi-4"}, "config": "tuned"}}
    assert "ConfigMap tuned" in SAMPLE.kind.why_not(item)
    assert "inference_config.yaml" in SAMPLE.kind.why_not(item)
