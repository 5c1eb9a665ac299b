"""DaemonSet: found, diagnosed, advised on."""

from __future__ import annotations

from tests.support.kind_samples import FLAG, NEW, Sample, container, head, template

SAMPLE = Sample(
    {
        **head("DaemonSet"),
        "spec": {
            "selector": {"matchLabels": {"app": "chat"}},
            "template": template(app="chat"),
        },
        "status": {"desiredNumberScheduled": 1, "numberReady": 1},
    },
    {"app": "chat"},
    patch={"spec": {"template": {"spec": {"containers": [container([FLAG, NEW])]}}}},
    says="OnDelete",
)


def test_it_has_as_many_replicas_as_nodes() -> None:
    assert SAMPLE.kind.replicas(SAMPLE.item) == SAMPLE.kind.ready(SAMPLE.item) == 1
