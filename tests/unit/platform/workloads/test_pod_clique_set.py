"""Grove PodCliqueSet: each clique is a role."""

from __future__ import annotations

from tests.support.kind_samples import FLAG, NEW, OLD, Sample, container, head


def _cliques(value: str) -> dict[str, object]:
    spec = {"replicas": 1, "podSpec": {"containers": [container([FLAG, value])]}}
    return {"template": {"cliques": [{"name": "decode", "spec": spec}]}}


SAMPLE = Sample(
    {**head("PodCliqueSet"), "spec": {"replicas": 1, **_cliques(OLD)}},
    {
        "app.kubernetes.io/managed-by": "grove-operator",
        "app.kubernetes.io/part-of": "chat",
        "grove.io/podclique": "chat-0-decode",
    },
    patch={"spec": _cliques(NEW)},
    role="chat-0-decode",
    says="OnDelete",
)


def test_its_pods_are_told_by_two_labels() -> None:
    assert SAMPLE.kind.name_for({"metadata": {"labels": {"app.kubernetes.io/part-of": "x"}}}) == ""
