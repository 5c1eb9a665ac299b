"""ReplicaSet without a Deployment: found, diagnosed, advised on."""

from __future__ import annotations

from tests.support.kind_samples import FLAG, NEW, Sample, container, head, template

SAMPLE = Sample(
    {
        **head("ReplicaSet"),
        "spec": {
            "replicas": 1,
            "selector": {"matchLabels": {"app": "chat"}},
            "template": template(app="chat"),
        },
    },
    {"app": "chat"},
    patch={"spec": {"template": {"spec": {"containers": [container([FLAG, NEW])]}}}},
    says="does not roll",
)


def test_it_is_not_changed_by_a_remedy() -> None:
    assert SAMPLE.kind.why_not(SAMPLE.item)
