"""Whoever is followed goes on being looked at where a later look cannot tell who is meant."""

from __future__ import annotations

from typing import Any

import pytest
from tests.support.little_kubernetes import HOME, NAMESPACE
from tests.support.remedy_runs import ACCESS, Scene, by, on_a_little_kubernetes

from barostat.core.errors import InputError
from barostat.engines.vllm.command_line.config import resolve
from barostat.io.clock import SteadyClock
from barostat.io.kubernetes.client.cluster import Cluster
from barostat.io.kubernetes.recording.live import Options, PodRecorder
from barostat.io.kubernetes.recording.target import Wanted


@pytest.mark.parametrize("gone", ["vllm", "the API server"])
def test_a_later_look_that_fails_is_said_and_costs_nothing(gone: str) -> None:
    async def go(found: Scene) -> None:
        wanted = Wanted((f"deploy/{HOME}",), namespace=NAMESPACE)
        watcher = PodRecorder(
            by(Cluster(ACCESS), found.api), wanted, Options(), SteadyClock(), lambda _: None
        )
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


@pytest.mark.parametrize("form", ["envFrom", "valueFrom", "script"])
def test_what_a_config_map_holds_of_the_command_line_is_read(form: str) -> None:
    async def go(found: Scene) -> tuple[str, ...] | str | None:
        data = {"SEQS": "48", "start.sh": "#!/bin/sh\nexec vllm serve m --max-num-seqs 48\n"}
        found.kube.add("configmaps", {"metadata": {"name": "serving"}, "data": data})
        container: dict[str, Any] = {"args": ["m", "--max-num-seqs", "$(SEQS)"]}
        if form == "envFrom":
            container |= {"envFrom": [{"configMapRef": {"name": "serving"}}]}
        elif form == "valueFrom":
            container |= {
                "env": [
                    {
                        "name": "SEQS",
                        "valueFrom": {"configMapKeyRef": {"name": "serving", "key": "SEQS"}},
                    }
                ]
            }
        else:
            container = {
                "command": ["/s/start.sh"],
                "args": [],
                "volumeMounts": [{"name": "s", "mountPath": "/s"}],
            }
        for pod in found.kube.all("pods"):
            pod["spec"]["containers"][0] |= container
            pod["spec"]["volumes"] = [{"name": "s", "configMap": {"name": "serving"}}]
        wanted = Wanted((f"deploy/{HOME}",), namespace=NAMESPACE)
        watcher = PodRecorder(
            by(Cluster(ACCESS), found.api), wanted, Options(), SteadyClock(), lambda _: None
        )
        await watcher.choose()
        recording = (await watcher.recording()).recording
        return recording.replicas[0].args

    args = on_a_little_kubernetes(go)
    assert args is not None
    assert resolve(args=args).number("max_num_seqs") == 48
