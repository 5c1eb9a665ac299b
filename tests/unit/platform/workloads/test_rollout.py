"""Argo Rollout, with its own template and with that of a Deployment."""

from __future__ import annotations

import copy

from tests.support.kind_samples import (
    FLAG,
    NEW,
    OLD,
    Sample,
    container,
    head,
    replica_set,
    template,
)

from barostat.core.change import ConfigChange
from barostat.judge.manifest_edit.source_patch import own_patch

_HASH = "5d8f7c9b6d"
SAMPLE = Sample(
    {
        **head("Rollout"),
        "spec": {
            "replicas": 1,
            "selector": {"matchLabels": {"app": "chat"}},
            "template": template(app="chat"),
            "strategy": {"canary": {"steps": [{"setWeight": 20}, {"pause": {}}]}},
        },
        "status": {"stableRS": _HASH, "currentPodHash": _HASH, "updatedReplicas": 1},
    },
    {"app": "chat", "rollouts-pod-template-hash": _HASH},
    (replica_set(),),
    {"spec": {"template": {"spec": {"containers": [container([FLAG, NEW])]}}}},
)


def test_what_does_not_wait_for_the_proof_is_changed_by_a_person() -> None:
    item = copy.deepcopy(SAMPLE.item)
    assert SAMPLE.kind.why_not(item) == ""
    for steps in ([], [{"setWeight": 20}, {"pause": {"duration": "1h"}}]):
        item["spec"]["strategy"] = {"canary": {"steps": steps}}
        assert "pause: {}" in SAMPLE.kind.why_not(item)
    item["spec"]["strategy"] = {"blueGreen": {"activeService": "a"}}
    assert "promote" in SAMPLE.kind.why_not(item)


def test_a_template_of_a_deployment_is_changed_there() -> None:
    item, kind = copy.deepcopy(SAMPLE.item), SAMPLE.kind
    deployment = {**head("Deployment", "base"), "spec": {"template": item["spec"].pop("template")}}
    item["spec"]["workloadRef"] = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "base"}
    whole = kind.with_held(item, deployment)
    found = own_patch(
        kind, whole, ConfigChange("argument", FLAG, OLD, NEW), held=kind.held_in(item)
    )
    assert found is not None
    assert found.document["kind"] == "Deployment"
    assert found.document["metadata"]["name"] == "base"
    assert found.document["spec"] == (SAMPLE.patch or {})["spec"]
    assert found.then.startswith("kubectl patch deployments.apps base ")


def test_blue_green_starts_every_replica_again() -> None:
    item = copy.deepcopy(SAMPLE.item)
    item["spec"] |= {"replicas": 3, "strategy": {"blueGreen": {"activeService": "a"}}}
    assert SAMPLE.kind.surge(item) == 3
    item["spec"]["strategy"] = {"canary": {"maxSurge": 0, "maxUnavailable": 1}}
    assert (SAMPLE.kind.surge(item), SAMPLE.kind.unavailable(item)) == (0, 1)
