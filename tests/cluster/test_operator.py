"""The operator, installed by the chart in `observe`: pressure comes on a Deployment, is detected
within 30 s of the first harm and recorded; its neighbours are left alone, and the audit log shows no
write but to the operator's own objects.
"""

from __future__ import annotations

import json
import time

import pytest
from dev.cluster import workloads
from dev.cluster.client import Cluster, Workspace
from dev.cluster.kubectl import KubectlError
from tests.cluster.release import (
    HOME,
    OBSERVER,
    OWN,
    installed,
    log,
    pressure_incidents,
    written,
)
from tests.cluster.test_mitigate import preempted, pressed_twins


def test_pressure_is_recorded_by_the_installed_chart_and_nothing_else_is_written(
    cluster: Cluster, space: Workspace
) -> None:
    space.apply(workloads.twin("neighbour", replicas=2, serve=["--max-num-seqs", "64"]))
    load = pressed_twins(space, rate_per_s=4.0, replicas=1, gpus=0)
    with installed(cluster, space):
        time.sleep(10.0)
        assert pressure_incidents(space) == []
        with load:
            space.until(
                "the engine preempts",
                lambda: max(preempted(space, "app=twin").values()) > 0,
                120,
                0.5,
            )
            harmed_at = time.monotonic()
            space.until("an incident is there", lambda: pressure_incidents(space), 60, 0.5)
            took_s = time.monotonic() - harmed_at
            space.until(
                "its status is there", lambda: "status" in pressure_incidents(space)[0], 20, 0.5
            )
        (found,) = pressure_incidents(space)
        events = space.kubectl.json("get", "events", "--field-selector", "reason=PressureDetected")
        table = space.kubectl("get", "pi")
        said = log(cluster, OBSERVER)
    print(f"detected {took_s:.0f} s after the first preemption\n{table}\n{said}")
    assert took_s <= 30.0, said
    assert found["spec"]["targetRef"]["name"] == "twin"
    assert found["spec"]["targetRef"]["kind"] == "Deployment"
    assert found["spec"]["cause"].startswith("kv-"), found
    assert found["status"]["evidence"]
    assert found["status"]["plan"]["change"]
    assert events["items"][0]["involvedObject"]["name"] == "twin"
    writes = written(OBSERVER, HOME, space.namespace)
    assert writes
    assert {resource for _, resource, _ in writes} <= OWN, writes
    change = json.dumps({"spec": {"cause": "unknown"}})
    with pytest.raises(KubectlError, match="spec never changes"):
        space.kubectl("patch", "pi", found["metadata"]["name"], "--type=merge", "-p", change)
