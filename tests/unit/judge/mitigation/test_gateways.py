"""Which pods are the gateway, what a limit comes to there, and when it is not needed any more."""

from __future__ import annotations

from typing import Any

import pytest

from barostat.catalog.signals import signal
from barostat.core.change import ConfigChange
from barostat.core.window import Window
from barostat.judge.mitigation.gateways import (
    SeenGateway,
    at_gateways,
    fronting,
    is_calm,
    live_edge,
    not_ready,
    ready,
    why_none,
)
from barostat.remedy.plan import GatewayRef, LiveEdge

REF = GatewayRef("Deployment", "gw", "x", 8081)
EDGE = LiveEdge((REF,))
CAP = ConfigChange("limits", "request.maxOutputTokens", None, "300")


def pod(
    name: str = "gw-5f-a", *, fronts: str = "", command: list[str] | None = None, **metadata: Any
) -> dict[str, Any]:
    owner = [{"kind": "ReplicaSet", "name": "gw-5f", "controller": True}]
    labels, annotations = (
        {"pod-template-hash": "5f"},
        {"barostat.dev/fronts": fronts} if fronts else {},
    )
    base = {
        "name": name,
        "namespace": "x",
        "labels": labels,
        "annotations": annotations,
        "ownerReferences": owner,
        **metadata,
    }
    container = {
        "name": "g",
        "command": command or [],
        "ports": [{"name": "admin", "containerPort": 9090}],
    }
    return {
        "metadata": base,
        "spec": {"containers": [container]},
        "status": {"conditions": [{"type": "Ready", "status": "True"}]},
    }


@pytest.mark.parametrize("fronts", ["vllm", "other, vllm", "x/vllm"])
def test_a_gateway_says_what_it_stands_before(fronts: str) -> None:
    found = fronting([pod(fronts=fronts), pod("gw-5f-b", fronts=fronts)], "x", "vllm")
    assert list(found) == [GatewayRef("Deployment", "gw", "x", 9090)]
    assert len(ready(found[next(iter(found))])) == 2


@pytest.mark.parametrize(
    ("words", "there"),
    [
        (["barostat", "gateway", "deploy/vllm"], True),
        (["/usr/bin/barostat", "gateway", "deployment/vllm", "-n", "x"], True),
        (["barostat", "gateway", "deploy/vllm", "--namespace=y"], False),
        (["barostat", "gateway", "deploy/other"], False),
        (["barostat", "mitigate", "deploy/vllm"], False),
        (["sh", "-c", "exec barostat gateway deploy/vllm --port 8000"], True),
        (["sh", "-ec", "sleep 2; /opt/bin/barostat gateway 'deploy/vllm' -n x"], True),
        (["sh", "-c", "barostat gateway deploy/vllm -n y && true"], False),
        (["sh", "-c", "barostat diagnose deploy/vllm"], False),
    ],
)
def test_a_gateway_that_follows_the_deployment_stands_before_it(
    words: list[str], there: bool
) -> None:
    assert bool(fronting([pod(command=words)], "x", "vllm")) is there


def test_one_that_goes_and_one_of_another_namespace_are_none() -> None:
    assert not fronting([pod(fronts="vllm", deletionTimestamp="2026-01-01T00:00:00Z")], "x", "vllm")
    assert not fronting([pod(fronts="vllm")], "y", "vllm")
    assert fronting([pod(fronts="y/vllm")], "y", "vllm")


def seen(*limits: int | None, shadow: bool = False, why: str = "", holder: str = "") -> SeenGateway:
    def document(limit: int | None) -> dict[str, Any]:
        request = {} if limit is None else {"maxOutputTokens": limit}
        return {
            "limits": {"spec": {"request": request}},
            "shadow": shadow,
            "override": {"holder": holder} if holder else None,
        }

    return SeenGateway(REF, tuple(map(document, limits)), why)


def test_the_change_is_from_what_the_gateway_holds() -> None:
    assert at_gateways(CAP, [seen(500)]) == ConfigChange(
        "limits", "request.maxOutputTokens", "500", "300"
    )
    assert at_gateways(CAP, [seen(None)]) == CAP
    assert at_gateways(CAP, [seen(200, 500)]) == ConfigChange(
        "limits", "request.maxOutputTokens", "500", "300"
    )
    assert at_gateways(CAP, [seen(300)]) == "deployment/gw in x holds 300 already"


def test_one_that_only_watches_enforces_for_the_incident() -> None:
    assert at_gateways(CAP, [seen(300, shadow=True)]) == CAP
    assert live_edge([seen(300, shadow=True)]).enforces
    assert not live_edge([seen(300)]).enforces


def test_what_does_not_take_a_limit_says_why() -> None:
    assert "no gateway" in why_none([])
    assert (
        why_none([seen(1), seen(2, why="takes a limit from who has its token")])
        == "deployment/gw in x: takes a limit from who has its token"
    )
    assert why_none([seen(1)]) == ""
    assert not_ready([seen(1)], EDGE, "i1") == ""
    assert not_ready([seen(1, holder="i1")], EDGE, "i1") == ""
    assert "held there by somebody" in (not_ready([seen(1, holder="somebody")], EDGE, "i1") or "")
    assert "not there any more" in (not_ready([], EDGE, "i1") or "")
    assert not_ready([seen()], EDGE, "i1") is None


CALM = {
    "kv_usage_ratio": 0.4, "preemptions_per_s": 0.0, "waiting_requests": 0.0, "gateway_refusals_in_window": 0.0,
    "gateway_queued_requests": 0.0,
}  # fmt: skip


def window(**values: float) -> Window:
    made = [
        signal(name, [(at, value) for at in (940.0, 960.0, 990.0)], "s")
        for name, value in values.items()
    ]
    return Window("r", 1000.0, {found.name: found for found in made if found is not None})


def test_calm_is_when_nothing_waits_and_the_pools_are_half_empty() -> None:
    assert is_calm(EDGE, [window(**CALM), window(**CALM)], 930.0)[0]


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("kv_usage_ratio", 0.6, "holds 60% of its pool"),
        ("preemptions_per_s", 0.1, "still preempts"),
        ("waiting_requests", 3.0, "3 requests wait in it"),
        ("gateway_refusals_in_window", 2.0, "2 requests were refused"),
        ("gateway_queued_requests", 4.0, "4 requests wait at the gateway"),
    ],
)
def test_one_replica_that_is_not_calm_is_enough(name: str, value: float, says: str) -> None:
    calm, why = is_calm(EDGE, [window(**CALM), window(**{**CALM, name: value})], 930.0)
    assert (calm, says in why) == (False, True), why


@pytest.mark.parametrize("missing", sorted(CALM))
def test_what_was_not_measured_is_no_calm(missing: str) -> None:
    found = {name: value for name, value in CALM.items() if name != missing}
    assert not is_calm(EDGE, [window(**found)], 930.0)[0]
    assert not is_calm(EDGE, [], 930.0)[0]
    assert not is_calm(EDGE, [window(**CALM)], 995.0)[0]
