"""DisaggregatedSet: a LeaderWorkerSet for each role."""

from __future__ import annotations

from tests.support.kind_samples import FLAG, NEW, OLD, Sample, head, template


def _roles(value: str) -> dict[str, object]:
    def role(name: str) -> dict[str, object]:
        made = {"size": 1, "workerTemplate": template([FLAG, value])}
        return {"name": name, "spec": {"replicas": 2, "leaderWorkerTemplate": made}}

    return {"roles": [role("prefill"), role("decode")]}


SAMPLE = Sample(
    {**head("DisaggregatedSet"), "spec": _roles(OLD)},
    {"disaggregatedset.x-k8s.io/name": "chat", "disaggregatedset.x-k8s.io/role": "decode"},
    patch={"spec": _roles(NEW)},
    role="decode",
    says="spec.slices",
)


def test_its_replicas_are_the_groups_of_all_roles_and_slices() -> None:
    assert SAMPLE.kind.replicas(SAMPLE.item) == 4
    spec = {**SAMPLE.item["spec"], "slices": 2}
    assert SAMPLE.kind.replicas({**SAMPLE.item, "spec": spec}) == 8
