"""Labels that come off a pod that is taken out of rotation."""

from __future__ import annotations

from typing import Any

from barostat.catalog.signals import signal
from barostat.core.window import Window
from barostat.judge.mitigation.rotation import (
    rotation_labels,
    routing_services,
    separable,
    shares_of,
)
from barostat.judge.mitigation.rotation import (
    starved as alone,
)
from barostat.platform.workloads import kind_named
from barostat.platform.workloads.deployment import KIND as DEPLOYMENT


def service(selector: dict[str, str] | None, **metadata: Any) -> dict[str, Any]:
    return {"metadata": metadata, "spec": {} if selector is None else {"selector": selector}}


def home(selector: dict[str, Any]) -> dict[str, Any]:
    labels = {"app": "vllm", "tier": "gpu"}
    return {"spec": {"selector": selector, "template": {"metadata": {"labels": labels}}}}


def test_labels_of_services_and_selector_come_off() -> None:
    vllm = home({"matchLabels": {"app": "vllm"}})
    chat, other, external = service({"tier": "gpu"}), service({"app": "else"}), service(None)
    found = routing_services(DEPLOYMENT, vllm, [chat, other, external])
    assert found == [chat]
    assert rotation_labels(DEPLOYMENT, vllm, found) == {"app": "vllm", "tier": "gpu"}
    own = [
        {"key": "app", "operator": "In", "values": ["vllm", "chat"]},
        {"key": "track", "operator": "NotIn", "values": ["canary"]},
    ]
    # Without this label its ReplicaSet would keep the pod.
    assert rotation_labels(DEPLOYMENT, home({"matchExpressions": own}), []) == {"app": "vllm"}


def test_a_pod_leaves_only_services_that_select_on_a_label_that_can_come_off() -> None:
    vllm, chat = home({"matchLabels": {"app": "vllm"}}), service({"tier": "gpu"})
    canary = service({"pod-template-hash": "abc"})
    assert separable(DEPLOYMENT, [chat])
    assert not separable(DEPLOYMENT, [])
    assert not separable(DEPLOYMENT, routing_services(DEPLOYMENT, vllm, [chat, canary]))


def test_a_group_leaves_by_a_label_of_its_leader_and_not_by_one_of_its_controller() -> None:
    kind = kind_named("LeaderWorkerSet")
    assert kind is not None
    name = "leaderworkerset.sigs.k8s.io/name"
    template = {"metadata": {"labels": {"role": "leader"}}, "spec": {"containers": []}}
    metadata = {"name": "llm", "uid": "u-1"}
    llm = {"metadata": metadata, "spec": {"leaderWorkerTemplate": {"leaderTemplate": template}}}
    owner = {"uid": "u-1", "controller": True}
    own = service({name: "llm"}, ownerReferences=[owner])
    by_role, by_name = service({name: "llm", "role": "leader"}), service({name: "llm"})
    assert routing_services(kind, llm, [own, by_role]) == [by_role]
    assert rotation_labels(kind, llm, [by_role]) == {"role": "leader"}
    assert separable(kind, [by_role])
    assert not separable(kind, [by_role, by_name])


def test_the_share_of_each_replica_is_told_and_a_starved_one_gets_advice() -> None:
    def getting(name: str, per_s: float) -> Window:
        made = signal("arrivals_per_s", [(10.0 * step, per_s) for step in range(13)], "test")
        assert made is not None
        return Window(name, 120.0, {"arrivals_per_s": made})

    even = shares_of([getting("spare", 2.0)], [getting("vllm-1", 2.0)], 0.0)
    assert even == "requests: spare 50%, vllm-1 50%"
    starved = shares_of([getting("spare", 0.0)], [getting("vllm-1", 4.0)], 0.0)
    assert starved.startswith("requests: spare 0%, vllm-1 100%; clients keep their connections")
    assert "barostat gateway" in starved
    assert shares_of([Window("spare", 120.0)], [getting("vllm-1", 4.0)], 0.0) == ""
    none = alone([getting("spare", 0.0)], [getting("vllm-1", 4.0)], 0.0)
    assert none.startswith("spare got no request, and vllm-1 got 4 requests/s: clients keep")
    assert alone([getting("spare", 0.1)], [getting("vllm-1", 4.0)], 0.0) == ""
    assert alone([getting("spare", 0.0)], [getting("vllm-1", 0.0)], 0.0) == ""
    assert alone([Window("spare", 120.0)], [getting("vllm-1", 4.0)], 0.0) == ""
