"""Requests longer than the longest drain: whoever deletes their replica, every one that is cut is
counted, once, and said in the record.
"""

from __future__ import annotations

import pytest
from tests.support.little_kubernetes import BUSY, LittleKubernetes
from tests.support.little_numbered import LittleLeaderWorkerSet, LittleStatefulSet
from tests.support.remedy_runs import Scene, on_a_little_kubernetes

from barostat.remedy.acts import Cut
from barostat.remedy.plan import StepLimits, Strategy
from barostat.remedy.state import State

KINDS: list[type[LittleKubernetes]] = [LittleKubernetes, LittleStatefulSet, LittleLeaderWorkerSet]
SHORT = StepLimits(drain_s=10.0)


@pytest.mark.parametrize("make", KINDS, ids=lambda make: make.kind)
@pytest.mark.parametrize(("replicas", "strategy"), [(1, "spare"), (2, "spare"), (2, "in-place")])
@pytest.mark.parametrize("helps", [True, False], ids=["Done", "RolledBack"])
def test_every_request_that_is_cut_is_counted_once(
    make: type[LittleKubernetes], replicas: int, strategy: Strategy, helps: bool
) -> None:
    async def go(found: Scene) -> None:
        found.kube.floor -= strategy == "in-place"
        found.kube.drain_s = 10_000.0
        if not helps:
            whole = found.kube.metrics
            found.kube.metrics = lambda pod: whole(  # type: ignore[method-assign]
                {**pod, "spec": {"containers": [{"args": ["64"]}]}}
            )
        ended = await found.run(State(found.plan(strategy, bounds=SHORT)))
        assert ended is not None
        assert ended.phase == ("Done" if helps else "RolledBack"), found.told
        assert ended.cut == (await found.recorded()).cut == Cut(found.kube.cut)
        assert found.kube.cut >= BUSY

    on_a_little_kubernetes(go, replicas, 2 * (replicas + 1), make)
