"""Whether one more pod finds a node, and what quotas and budgets leave."""

from __future__ import annotations

from typing import Any

import pytest

from barostat.platform.placing import (
    disruption_minimum,
    placeable,
    quota_left,
    requests,
)

TEMPLATE: dict[str, Any] = {
    "metadata": {"labels": {"app": "vllm"}},
    "spec": {
        "containers": [
            {
                "name": "vllm",
                "resources": {
                    "requests": {"cpu": "1"},
                    "limits": {"memory": "4Gi", "nvidia.com/gpu": "1"},
                },
            }
        ]
    },
}


def node(gpus: str = "2", **spec: Any) -> dict[str, Any]:
    return {
        "metadata": {"name": "n", "labels": {"pool": "a"}},
        "spec": spec,
        "status": {
            "allocatable": {"cpu": "4", "memory": "64Gi", "nvidia.com/gpu": gpus, "pods": "10"},
            "conditions": [{"type": "Ready", "status": "True"}],
        },
    }


def pod(phase: str = "Running") -> dict[str, Any]:
    return {"spec": {**TEMPLATE["spec"], "nodeName": "n"}, "status": {"phase": phase}}


def test_a_free_card_is_found_and_a_taken_one_told() -> None:
    assert placeable([TEMPLATE], [node()], [pod()]) == (True, "")
    found, why = placeable([TEMPLATE], [node()], [pod(), pod()])
    assert not found
    assert "0 nvidia.com/gpu free, needs 1" in why
    assert placeable([TEMPLATE], [node()], [pod(), pod("Succeeded")]) == (True, "")


@pytest.mark.parametrize(
    ("nodes", "why"),
    [
        ([], "there is no node"),
        ([node(unschedulable=True)], "cordoned"),
        ([node(taints=[{"key": "gpu", "effect": "NoSchedule"}])], "tainted gpu"),
    ],
)
def test_nodes_that_take_nothing(nodes: list[dict[str, Any]], why: str) -> None:
    found, because = placeable([TEMPLATE], nodes, [])
    assert not found
    assert why in because


def test_a_node_that_node_affinity_rules_out_takes_nothing() -> None:
    term = {"matchExpressions": [{"key": "pool", "operator": "In", "values": ["h100"]}]}
    affinity = {
        "nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}
        }
    }
    found, why = placeable([{"spec": {**TEMPLATE["spec"], "affinity": affinity}}], [node()], [])
    assert (found, why) == (False, "n: is not what node affinity asks for (pool In h100)")


def test_a_sidecar_among_the_init_containers_asks_beside_the_engine() -> None:
    def init(cpu: str, **more: str) -> dict[str, Any]:
        return {"name": "i", "resources": {"requests": {"cpu": cpu}}, **more}

    def asked(*inits: dict[str, Any]) -> float:
        return requests({"spec": {**TEMPLATE["spec"], "initContainers": list(inits)}})["cpu"]

    assert (asked(), asked(init("500m")), asked(init("3"))) == (1.0, 1.0, 3.0)
    assert asked(init("2", restartPolicy="Always")) == 3.0
    assert asked(init("2", restartPolicy="Always"), init("4")) == 6.0
    assert asked(init("4"), init("2", restartPolicy="Always")) == 4.0


def full(**spec: Any) -> dict[str, Any]:
    return {"spec": spec, "status": {"hard": {"pods": "3"}, "used": {"pods": "3"}}}


def priority(how: str, *values: str) -> dict[str, Any]:
    return {
        "scopeSelector": {
            "matchExpressions": [
                {"scopeName": "PriorityClass", "operator": how, "values": list(values)}
            ]
        }
    }


@pytest.mark.parametrize(
    ("scoped", "counts"),
    [
        ({}, True),
        ({"scopes": ["NotTerminating"]}, True),
        ({"scopes": ["Terminating"]}, False),
        ({"scopes": ["NotBestEffort"]}, True),
        ({"scopes": ["BestEffort"]}, False),
        ({"scopes": ["NotTerminating", "BestEffort"]}, False),
        (priority("In", "serving"), True),
        (priority("In", "batch"), False),
        (priority("Exists"), True),
        (
            {
                "scopeSelector": {
                    "matchExpressions": [
                        {"scopeName": "CrossNamespacePodAffinity", "operator": "Exists"}
                    ]
                }
            },
            False,
        ),
    ],
)
def test_a_quota_counts_the_pods_of_its_scope_alone(scoped: dict[str, Any], counts: bool) -> None:
    template = {"spec": {**TEMPLATE["spec"], "priorityClassName": "serving"}}
    assert (quota_left(template, [full(**scoped)]) == 0) is counts


def test_selectors_and_tolerations_count() -> None:
    picky = {"spec": {**TEMPLATE["spec"], "nodeSelector": {"pool": "b"}}}
    assert not placeable([picky], [node()], [])[0]
    patient = {"spec": {**TEMPLATE["spec"], "tolerations": [{"operator": "Exists"}]}}
    assert placeable([patient], [node(taints=[{"key": "gpu", "effect": "NoSchedule"}])], [])[0]


def test_quotas() -> None:
    quota = {
        "status": {
            "hard": {"requests.nvidia.com/gpu": "3", "pods": "50"},
            "used": {"requests.nvidia.com/gpu": "3", "pods": "4"},
        }
    }
    assert quota_left(TEMPLATE, [quota]) == 0
    assert (
        quota_left(
            TEMPLATE,
            [{"status": {"hard": {"limits.memory": "10Gi"}, "used": {"limits.memory": "1Gi"}}}],
        )
        == 2
    )
    assert quota_left(TEMPLATE, []) > 100


def test_disruption_budgets() -> None:
    def budget(**spec: Any) -> dict[str, Any]:
        return {"spec": {"selector": {"matchLabels": {"app": "vllm"}}, **spec}}

    assert disruption_minimum(TEMPLATE, 4, [budget(minAvailable="50%")]) == 2
    assert disruption_minimum(TEMPLATE, 4, [budget(maxUnavailable=1)]) == 3
    assert (
        disruption_minimum(
            TEMPLATE, 4, [{"spec": {"selector": {"matchLabels": {"app": "x"}}, "minAvailable": 4}}]
        )
        == 0
    )


def test_a_disruption_budget_counts_whichever_way_it_selects() -> None:
    def kept(**selector: Any) -> int:
        return disruption_minimum(TEMPLATE, 4, [{"spec": {"minAvailable": 3, **selector}}])

    def expressed(operator: str, *values: str) -> dict[str, Any]:
        return {"matchExpressions": [{"key": "app", "operator": operator, "values": list(values)}]}

    assert kept(selector={}) == 3, "every pod of the namespace"
    assert kept() == 0, "none"
    assert (kept(selector=expressed("In", "vllm", "x")), kept(selector=expressed("In", "x"))) == (
        3,
        0,
    )
    assert (kept(selector=expressed("NotIn", "x")), kept(selector=expressed("NotIn", "vllm"))) == (
        3,
        0,
    )
    assert (kept(selector=expressed("Exists")), kept(selector=expressed("DoesNotExist"))) == (3, 0)
    assert kept(selector={**expressed("Exists"), "matchLabels": {"app": "x"}}) == 0


def test_a_quota_may_count_what_a_spare_is_made_of() -> None:
    quota = {
        "status": {"hard": {"count/deployments.apps": "2"}, "used": {"count/deployments.apps": "2"}}
    }
    assert quota_left(TEMPLATE, [quota]) > 0
    assert quota_left(TEMPLATE, [quota], ("count/deployments.apps",)) == 0
    not_counted_yet = {"spec": {"hard": {"pods": "0"}}}
    assert quota_left(TEMPLATE, [not_counted_yet]) == 0
