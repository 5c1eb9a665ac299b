"""`barostat mitigate` for workloads that are no Deployments, with the real controllers: proved, taken
back, killed and resumed, refused. The object afterwards is its source but for the change, and nothing
below its owner was written.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from dev.cluster import controllers
from dev.cluster.client import Cluster, Workspace
from dev.load import Background
from tests.cluster.kinds import QUICK, SHAPES, Pressed, Shape, gpus, pressed
from tests.cluster.spent import told
from tests.cluster.test_kills import first_word, killed
from tests.cluster.test_mitigate import LEVER, incidents

_PARAMETERS = [
    pytest.param(shape, id=kind, marks=[pytest.mark.long] if shape.long else [])
    for kind, shape in SHAPES.items()
]


@pytest.fixture(scope="module", params=_PARAMETERS)
def shape(cluster: Cluster, request: pytest.FixtureRequest) -> Iterator[Shape]:
    """Each kind with its controllers, in turn, and GPUs for two units of one pod's GPU each."""
    found: Shape = request.param
    with controllers.running(cluster, *found.controllers), gpus(cluster, 2 * found.pods_per_unit):
        yield found


@pytest.fixture
def space(shape: Shape, cluster: Cluster) -> Iterator[Workspace]:
    """A namespace whose workloads go while their controllers run."""
    with cluster.workspace(f"kinds-{shape.kind}") as workspace:
        yield workspace


FLAG = "--max-num-active-seqs"


def counted(found: list[dict[str, Any]]) -> int:
    """Requests that the records say were cut at most: none unless a drain came to its bound."""
    return sum(one["progress"].get("cut", {}).get("requests", 0) for one in found)


def nothing_else_failed(found: Pressed, load: Background) -> None:
    """No request failed but those that the records count; an owner that cuts requests off while it
    rolls counts none.
    """
    cut = counted(incidents(found.space))
    assert found.shape.undrained or sum(load.counts.failed.values()) <= cut


@pytest.mark.long
def test_a_remedy_is_proved_on_one_unit_and_reaches_all(
    space: Workspace, shape: Shape, capsys: pytest.CaptureFixture[str]
) -> None:
    found = pressed(space, shape, replicas=1)
    with found.load as load:
        found.until_preempting()
        assert found.mitigate("--autonomy", "act", *QUICK) == 0
        (incident,) = incidents(space)
        with capsys.disabled():
            print(f"\n{told(incident)}; {load.counts.summary()}")
        assert (incident["phase"], incident["cause"]) == ("Done", "kv-preemption-thrash")
        assert found.equals_its_source(FLAG)
        assert not found.equals_its_source()
        found.only_allowed_was_written()
        nothing_else_failed(found, load)


def test_a_remedy_is_refused_for_want_of_a_gpu(
    space: Workspace, shape: Shape, capsys: pytest.CaptureFixture[str]
) -> None:
    found = pressed(space, shape, replicas=2)
    with found.load:
        found.until_preempting()
        assert found.mitigate("--autonomy", "act", *LEVER, *QUICK) == 5
        printed = capsys.readouterr().out
        assert "GPU" in printed or "no node takes" in printed
        assert found.equals_its_source()
        assert not {kind for _, kind, _ in space.written_by("operator")} - {"configmaps", "events"}


@pytest.mark.long
def test_a_remedy_that_does_not_help_is_taken_back_and_says_what_it_cut(
    space: Workspace, shape: Shape
) -> None:
    found = pressed(space, shape, replicas=1)
    with found.load as load:
        found.until_preempting()
        slots = ("--lever", "max-num-seqs=60")  # more slots than ever run change nothing
        short = ("--drain", "10s")
        assert found.mitigate("--autonomy", "act", *slots, *QUICK, *short) == 1
        (incident,) = incidents(space)
        assert (incident["phase"], incident["undo"]) == ("RolledBack", [])
        assert found.equals_its_source()
        found.only_allowed_was_written()
        assert counted(incidents(space)) > 0
        nothing_else_failed(found, load)


@pytest.mark.long
@pytest.mark.parametrize(("verb", "ends"), [("resume", "Done"), ("abort", "RolledBack")])
def test_a_remedy_that_is_killed_is_resumed_or_taken_back(
    space: Workspace, shape: Shape, verb: str, ends: str
) -> None:
    place = ["-n", space.namespace, "--kubeconfig", str(space.cluster.kubeconfig("operator"))]
    found = pressed(space, shape, replicas=1)
    with found.load as load:
        found.until_preempting()
        words = ["mitigate", shape.target, *place, "--autonomy", "act", *QUICK]
        assert killed(words, lambda line: first_word(line) == shape.killed_at) == -9
        (incident,) = incidents(space)
        killed(["incident", verb, incident["id"], *place], lambda _: False)
        (incident,) = incidents(space)
        assert incident["phase"] == ends
        assert found.equals_its_source(*([FLAG] if ends == "Done" else []))
        found.only_allowed_was_written()
        nothing_else_failed(found, load)


@pytest.mark.long
def test_two_units_are_changed_one_after_the_other(
    space: Workspace, shape: Shape, capsys: pytest.CaptureFixture[str]
) -> None:
    found = pressed(space, shape, replicas=2, gpus=0)
    with found.load as load:
        found.until_preempting()
        assert found.mitigate("--autonomy", "act", *QUICK) == 0
        with capsys.disabled():
            print("\n" + "\n".join(told(one) for one in incidents(space)))
        assert found.equals_its_source(FLAG)
        nothing_else_failed(found, load)
        assert found.mitigate("--yes", "--for", "20s", "--sustained", "20s", verb="rollback") == 0
        assert found.equals_its_source()
        found.only_allowed_was_written()
