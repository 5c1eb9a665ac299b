"""The proxy that makes trouble between a client and an API server: each kind does what it says, and
no more.
"""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from dev.cluster import chaos
from tests.support.small_servers import always, answer, serving

from barostat.io.kubernetes.client.cluster import Cluster
from barostat.io.kubernetes.client.failures import RequestFailed
from barostat.io.kubernetes.client.kubeconfig import ClusterAccess
from barostat.io.kubernetes.client.resources import CONFIG_MAPS

pytestmark = pytest.mark.usefixtures("on_virtual_time")
MADE = answer(
    '{"metadata": {"name": "c", "resourceVersion": "7"}, "data": {"k": "0123456789"}}',
    "201 Created",
    kind="application/json",
)


def create(kind: chaos.Kind | None, within_s: float = 3.0) -> tuple[Any, int]:
    """What comes of a write that this befalls, and how often it arrived."""

    async def go(port: int) -> Any:
        trouble = chaos.Trouble(f"http://127.0.0.1:{port}", lambda _, __: kind, stall_s=1.5)
        async with trouble.listening() as url:
            cluster = Cluster(ClusterAccess(url))
            found = await cluster.create(
                CONFIG_MAPS, {"metadata": {"name": "c"}}, "x", within_s=within_s
            )
            await cluster.close()
            assert [befell for _, _, befell in trouble.passed][:1] == [kind]
            return found

    with serving(always(MADE)) as (port, requests):
        return asyncio.run(go(port)), len(requests)


@pytest.mark.parametrize(
    ("kind", "failure", "uncertain", "arrived"),
    [
        ("reset-before", "reset", True, 0),
        ("reset-after", "reset", True, 1),
        ("cut", "reset", True, 1),
        ("error", "server", True, 0),
        ("error-after", "server", True, 1),
        ("conflict", "conflict", False, 0),
        ("gone", "gone", False, 0),
        ("busy", "throttled", False, 0),
    ],
)
def test_what_goes_wrong(kind: chaos.Kind, failure: str, uncertain: bool, arrived: int) -> None:
    found, requests = create(kind, within_s=0.9)
    assert isinstance(found, RequestFailed)
    assert (found.kind, found.uncertain, requests) == (failure, uncertain, arrived)


@pytest.mark.parametrize("kind", [None, "stall-before", "stall-after"])
def test_what_comes_through(kind: chaos.Kind | None) -> None:
    found, requests = create(kind)
    assert found["metadata"]["name"] == "c"
    assert requests == 1


def test_a_client_that_gives_up_takes_its_request_along() -> None:
    found, requests = create("stall-before", within_s=0.5)
    assert isinstance(found, RequestFailed)
    assert (found.kind, requests) == ("time-out", 0)


def test_the_same_seed_makes_the_same_trouble_and_only_where_it_fits() -> None:
    asked = [
        ("GET", "/api/v1/namespaces/x/pods"),
        ("GET", "/api/v1/namespaces/x/pods/p"),
        ("PATCH", "/apis/apps/v1/namespaces/x/deployments/d"),
    ]
    drawn = [[chaos.seeded(5)(*one) for one in asked for _ in range(1)] for _ in range(2)]
    assert drawn[0] == drawn[1]
    choose = chaos.seeded(6, {"conflict": 0.4, "gone": 0.4, "silence": 0.2})
    found = [{choose(*one) for _ in range(200)} for one in asked]
    assert found == [{"gone", None}, {None}, {"conflict", None}]
    assert {choose("GET", "/api/v1/pods?watch=true") for _ in range(200)} == {
        "gone",
        "silence",
        None,
    }
