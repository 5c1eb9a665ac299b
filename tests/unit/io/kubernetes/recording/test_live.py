"""Whoever is followed goes on being looked at where a later look cannot tell who is meant."""

from __future__ import annotations

import pytest
from tests.support.little_kubernetes import HOME, NAMESPACE
from tests.support.remedy_runs import ACCESS, Scene, by, on_a_little_kubernetes

from barostat.core.errors import InputError
from barostat.io.clock import SteadyClock
from barostat.io.kubernetes.client.cluster import Cluster
from barostat.io.kubernetes.recording.live import Options, PodRecorder
from barostat.io.kubernetes.recording.target import Wanted


@pytest.mark.parametrize("gone", ["vllm", "the API server"])
def test_a_later_look_that_fails_is_said_and_costs_nothing(gone: str) -> None:
    async def go(found: Scene) -> None:
        wanted = Wanted((f"deploy/{HOME}",), namespace=NAMESPACE)
        watcher = PodRecorder(by(Cluster(ACCESS), found.api), wanted, Options(), SteadyClock(), lambda _: None)
        await watcher.choose()
        known = dict(watcher.scrapers)
        assert known
        if gone == "vllm":
            del found.kube.objects["deployments", HOME]
            with pytest.raises(InputError, match="no such Deployment"):
                await watcher.choose()
        else:
            found.api.choose = lambda _method, _target: "gone"
        await watcher.choose_again()
        await watcher.choose_again()
        assert watcher.scrapers == known
        assert len(watcher.selection.problems) == 1

    on_a_little_kubernetes(go)
