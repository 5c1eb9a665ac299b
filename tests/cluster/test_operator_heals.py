"""The operator in `act`, installed by the chart, with nobody at the keyboard: a burst at a random
time brings two replicas into a thrash that the load of before keeps up. It is detected within 30 s
of the first preemption, healed, verified and recorded. A busy neighbour is left alone.
"""

from __future__ import annotations

import json
import random
import time
from collections.abc import Iterator
from typing import Any

import pytest
from dev.cluster import controllers, workloads
from dev.cluster.client import Cluster, Workspace
from dev.load import Background, Load
from tests.cluster.kinds import (
    BURST,
    DEPLOYMENT,
    SHAPES,
    TIPPING,
    TIPPING_RATE_PER_S,
    Shape,
    pressed,
)
from tests.cluster.release import (
    ACTUATOR,
    HOME,
    OWN,
    installed,
    log,
    pressure_incidents,
    written,
)
from tests.cluster.spent import told
from tests.cluster.test_mitigate import incidents, preempted
from tests.cluster.test_mitigate_kinds import counted

from barostat.core.change import RARE_PER_FINISHED
from barostat.operator.incident import seconds_of

pytestmark = pytest.mark.long
_SHAPES = (DEPLOYMENT, SHAPES["StatefulSet"], SHAPES["LeaderWorkerSet"])


@pytest.fixture(scope="module", params=_SHAPES, ids=lambda shape: shape.kind)
def shape(cluster: Cluster, request: pytest.FixtureRequest) -> Iterator[Shape]:
    """Each kind with its controllers, in turn."""
    found: Shape = request.param
    with controllers.running(cluster, *found.controllers):
        yield found


@pytest.fixture
def space(shape: Shape, cluster: Cluster) -> Iterator[Workspace]:
    """A namespace whose workloads go while their controllers run."""
    with cluster.workspace(f"heals-{shape.kind}") as workspace:
        yield workspace


def neighbour(space: Workspace) -> Background:
    """A healthy workload and the traffic that keeps it busy."""
    space.apply(workloads.twin("neighbour", replicas=2, serve=["--max-num-seqs", "64"]))
    space.wait_ready("deploy/neighbour")
    busy = Load(prompt_tokens=(20, 45), output_tokens=(20, 60), rate_per_s=1.0)
    return Background(space.url("neighbour"), busy, for_s=2400.0)


def left_alone(space: Workspace) -> dict[str, Any]:
    """All of the neighbour that a remedy could touch: the object and its pods."""
    home = space.get("deploy/neighbour")
    pods = [pod.object["metadata"] for pod in space.pods("app=neighbour")]
    marks = {pod["uid"]: (pod.get("labels"), pod.get("annotations")) for pod in pods}
    return {"generation": home["metadata"]["generation"], "pods": marks}


def is_over(space: Workspace) -> bool:
    """The incident has come to its end."""
    (found,) = pressure_incidents(space)
    return found.get("status", {}).get("phase") in ("Healed", "Recovered")


def test_nobody_at_the_keyboard_and_the_workload_is_healed(
    cluster: Cluster, space: Workspace, shape: Shape, capsys: pytest.CaptureFixture[str]
) -> None:
    beside = neighbour(space)
    rate_per_s = TIPPING_RATE_PER_S
    found = pressed(space, shape, replicas=2, gpus=0, rate_per_s=rate_per_s, flags=TIPPING)
    api = shape.own.api
    plural = f"{api.plural}.{api.group}" if api.group else api.plural
    space.kubectl("annotate", f"{plural}/twin", "barostat.dev/autonomy=act")
    before = left_alone(space)
    with (
        installed(cluster, space, actuator={"enabled": True}),
        beside as busy,
        found.load as load,
    ):
        time.sleep(random.uniform(10.0, 40.0))
        assert pressure_incidents(space) == []
        with Background(space.url(shape.service), BURST, for_s=2400.0) as burst:
            space.until(
                "an engine preempts",
                lambda: max(preempted(space, shape.answering).values()) > 0,
                240,
                0.5,
            )
            harmed_at = time.monotonic()
            space.until("an incident is there", lambda: pressure_incidents(space), 120, 0.5)
            took_s = time.monotonic() - harmed_at
            try:
                space.until("the incident is over", lambda: is_over(space), 1000, 5.0)
            finally:
                healed_s = time.monotonic() - harmed_at
                (incident,) = pressure_incidents(space)
                said = log(cluster, ACTUATOR)
                with capsys.disabled():
                    print(f"\n{shape.kind}: detected {took_s:.1f} s after the first preemption")
                    print(
                        f"over {healed_s:.0f} s after it; {load.counts.summary()}; burst: {burst.counts.summary()}"
                    )
                    print(json.dumps(incident["status"], indent=1)[:6000])
                    print(said[-6000:])
            failed = sum(load.counts.failed.values()) + sum(burst.counts.failed.values())
            failed_beside = dict(busy.counts.failed)
        records = incidents(space)
    with capsys.disabled():
        for one in records:
            planned_s = one["timeline"][0]["at"] - seconds_of(incident["spec"]["detectedAt"])
            print(f"looked and planned for {planned_s:.0f} s; {told(one)}")
    assert took_s <= 30.0, said
    status = incident["status"]
    assert status["phase"] == "Healed", status
    (remedied,) = [one for one in status["conditions"] if one["type"] == "Remedied"]
    assert (remedied["status"], remedied["reason"]) == ("True", "Verified")
    done = {one["plan"]["id"]: one for one in records if one["phase"] == "Done"}
    assert status["plan"]["record"] in done
    left_per_s = float(status["after"].get("preemptedPerSecond", "0"))
    assert left_per_s <= RARE_PER_FINISHED * rate_per_s
    assert found.equals_its_source(*(one["plan"]["change"]["name"] for one in done.values()))
    assert not found.equals_its_source()
    assert left_alone(space) == before
    writes = written(ACTUATOR, HOME, space.namespace)
    assert {resource for _, resource, _ in writes} <= shape.writes | OWN, writes
    assert not [one for one in writes if "neighbour" in one[2]], writes
    assert failed <= counted(records)
    assert failed_beside == {}
