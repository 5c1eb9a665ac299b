"""A spare that no client reaches is told and ended early: its clients stay with the replica that
left the rotation.
"""

from __future__ import annotations

from typing import Any

from tests.support.remedy_runs import Scene, on_a_little_kubernetes
from tests.unit.io.mitigation.test_rotation_draining import page

from barostat.io.clock import SteadyClock
from barostat.remedy.state import State


def test_a_spare_that_pooled_clients_starve_is_told_and_given_up_early() -> None:
    async def go(found: Scene) -> tuple[State, float]:
        clock = SteadyClock()
        began = clock.now()

        def metrics(pod: Any) -> str:
            if "barostat.dev/spare" in pod["metadata"]["labels"]:
                return page(0.0, 0.0)
            return page(24.0, 5.0 * (clock.now() - began))

        vars(found.kube)["metrics"] = metrics
        ended = await found.run(State(found.plan()))
        assert ended is not None
        assert await found.left() == []
        at = {entry.event: entry.at for entry in ended.timeline}
        return ended, at["RollingBack"] - at["Verifying"]

    ended, took_s = on_a_little_kubernetes(go)
    assert (ended.phase, ended.verified) == ("RolledBack", "inconclusive")
    assert "got no request" in ended.why
    assert "barostat gateway" in ended.why
    assert took_s < 120.0 < ended.plan.bounds.verify_s
