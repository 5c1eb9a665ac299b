"""`barostat mitigate` for workloads that their controller rolls by itself, with the real controllers:
nothing is written; the patch that is printed, applied as printed, reaches every replica and ends the
pressure.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator

import pytest
import yaml
from dev.cluster import controllers
from dev.cluster.client import Cluster, Workspace
from tests.cluster.kinds import BY_HAND, QUICK, Shape, pressed
from tests.cluster.test_mitigate import preempted

pytestmark = pytest.mark.long
FLAG = "--max-num-active-seqs"
ALL_FIT = ("--lever", "max-num-active-seqs=8")
"""As many as the pool holds of the longest request."""


@pytest.fixture(scope="module", params=BY_HAND.values(), ids=lambda shape: shape.kind)
def shape(cluster: Cluster, request: pytest.FixtureRequest) -> Iterator[Shape]:
    """Each kind with its controllers, in turn."""
    found: Shape = request.param
    with controllers.running(cluster, *found.controllers):
        yield found


@pytest.fixture
def space(shape: Shape, cluster: Cluster) -> Iterator[Workspace]:
    """A namespace whose workloads go while their controllers run."""
    with cluster.workspace(f"by-hand-{shape.kind}") as workspace:
        yield workspace


def test_the_printed_patch_is_rolled_by_its_owner_and_ends_the_pressure(
    space: Workspace, shape: Shape, capsys: pytest.CaptureFixture[str]
) -> None:
    found = pressed(space, shape, replicas=2, gpus=0)
    with found.load as load:
        found.until_preempting()
        assert found.mitigate("--autonomy", "act", *ALL_FIT, *QUICK) == 5
        printed = capsys.readouterr().out
        with capsys.disabled():
            print(f"\n{printed}")
        assert "KServe rolls a changed" in printed
        assert found.equals_its_source()
        assert {kind for _, kind, _ in space.written_by("operator")} <= {"configmaps", "events"}
        command = re.search(r"kubectl patch (\S+) twin -n \S+ --type merge", printed)
        assert command is not None, printed
        patch = yaml.safe_load(printed[printed.index("\n# ") :])
        space.kubectl("patch", command[1], "twin", "--type=merge", "-p", json.dumps(patch))
        space.until(
            "every replica runs the change",
            lambda: len(changed(space, shape)) == 2 == len(space.pods(shape.answering)),
            240,
            2.0,
        )
        assert found.equals_its_source(FLAG)
        settled = preempted(space, shape.answering)
        time.sleep(20)
        assert preempted(space, shape.answering) == settled
        with capsys.disabled():
            print(load.counts.summary())


def changed(space: Workspace, shape: Shape) -> list[str]:
    """The pods that are Ready with the flag."""
    return [
        pod.name
        for pod in space.pods(shape.answering)
        if pod.is_ready and FLAG in json.dumps(pod.object["spec"]["containers"])
    ]
