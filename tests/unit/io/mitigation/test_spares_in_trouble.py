"""Pods that are not as a remedy would have them: evicted ones that stay on the list, companions and preparations that end."""

from __future__ import annotations

import pytest
from tests.support.little_kubernetes import NEW
from tests.support.remedy_runs import Scene, on_a_little_kubernetes

from barostat.remedy.plan import Strategy
from barostat.remedy.state import State


@pytest.mark.parametrize("strategy", ["spare", "in-place"])
def test_a_replica_that_was_evicted_is_not_among_those_that_are_replaced(strategy: Strategy) -> None:
    """Its ReplicaSet neither counts nor releases it: it would be waited for, and home would never be without a pod."""

    async def go(found: Scene) -> None:
        evicted = found.kube.evicted(found.kube.all("pods")[0])
        state = await found.run(State(found.plan(strategy, floor=0 if strategy == "in-place" else 1)))
        assert state is not None
        assert (state.phase, found.value) == ("Done", NEW), found.told
        assert [pod for pod in found.kube.all("pods") if pod["status"]["phase"] == "Failed"] == [evicted]
        assert not [line for line in found.api.writes if line.endswith("-evicted")]

    on_a_little_kubernetes(go)
