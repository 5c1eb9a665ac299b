"""KAITO InferenceSet: Workspaces of one template."""

from __future__ import annotations

from tests.support.kind_samples import FLAG, NEW, Sample, head, template

SAMPLE = Sample(
    {
        **head("InferenceSet"),
        "spec": {"replicas": 1, "template": {"inference": {"template": template()}}},
    },
    {},
    (
        ("workspaces", head("Workspace", "chat-0")),
        ("statefulsets", {"kind": "StatefulSet", "metadata": {"name": "chat-0"}}),
    ),
    {"spec": {"template": {"inference": {"template": {"spec": template([FLAG, NEW])["spec"]}}}}},
    says="spec.template.inference",
)


def test_the_arguments_of_a_preset_are_in_a_config_map() -> None:
    preset = {"inference": {"preset": {"name": "phi-4"}, "config": "tuned"}}
    item = {**head("InferenceSet"), "spec": {"template": preset}}
    assert "ConfigMap tuned" in SAMPLE.kind.why_not(item)
