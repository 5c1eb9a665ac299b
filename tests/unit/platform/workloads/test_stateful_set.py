"""StatefulSet: a remedy changes it."""

from __future__ import annotations

from tests.support.kind_samples import Sample, head, template

SAMPLE = Sample(
    {
        **head("StatefulSet"),
        "spec": {
            "replicas": 1,
            "selector": {"matchLabels": {"app": "chat"}},
            "template": template(app="chat"),
        },
        "status": {"updatedReplicas": 1, "replicas": 1},
    },
    {"app": "chat"},
)


def test_a_pod_goes_before_the_next_one_of_its_name_is_made() -> None:
    assert SAMPLE.kind.surge(SAMPLE.item) == 0
    assert SAMPLE.kind.why_not(SAMPLE.item) == ""
