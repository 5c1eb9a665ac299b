"""A RayService with the real KubeRay operator and the real Ray Serve; the engine of its replicas is a
twin (dev/cluster/ray_llm.py). `diagnose` names the cause; `mitigate` refuses an outage, and writes
serveConfigV2 where a person agrees, which Ray Serve rolls on the same cluster.
"""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Iterator
from typing import Any

import pytest
from dev import setup_ray
from dev.cluster import controllers
from dev.cluster.client import Cluster, Workspace
from tests.cluster.kinds import QUICK, RAY_SERVICE, Pressed, pressed
from tests.cluster.spent import told
from tests.cluster.test_mitigate import incidents

from barostat.shells.cli.main import main

pytestmark = pytest.mark.long
METRICS_PORT = 8080
"""Of Ray's agent in each pod."""
OF_WORKERS = "ray.io/node-type=worker"
ALL_FIT = ("--lever", "max-num-active-seqs=8")
_PREEMPTIONS = re.compile(r"^ray_vllm_num_preemptions_total\{[^}]*\} ([0-9.e+]+)", re.MULTILINE)


@pytest.fixture(scope="module")
def service(cluster: Cluster) -> Iterator[Pressed]:
    """Two replicas under a load that thrashes them."""
    if not setup_ray.is_installed():
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(
            "Ray is not set up here: run `make ray`, then `make cluster-down`"
        )
    with (
        controllers.running(cluster, *RAY_SERVICE.controllers),
        cluster.workspace("ray-service") as space,
    ):
        found = pressed(space, RAY_SERVICE, within_s=300)
        with found.load:
            yield found


def preemptions(space: Workspace) -> dict[str, float]:
    """Preemptions of the replicas in each worker."""
    pages = {pod.name: space.metrics(pod.name, port=METRICS_PORT) for pod in space.pods(OF_WORKERS)}
    return {name: sum(map(float, _PREEMPTIONS.findall(page))) for name, page in pages.items()}


def applications(space: Workspace) -> dict[str, Any]:
    """The application as Ray Serve says that it is, by Ray's dashboard."""
    (head,) = space.pods("ray.io/node-type=head")
    place = f"/api/v1/namespaces/{space.namespace}/pods/{head.name}:8265/proxy"
    said = json.loads(space.kubectl("get", "--raw", f"{place}/api/serve/applications/"))
    chat: dict[str, Any] = said["applications"]["chat"]
    return chat


def engine_settings(space: Workspace) -> dict[str, Any]:
    """`engine_kwargs` of the application once all its replicas run it; empty before."""
    chat = applications(space)
    (config,) = chat["deployed_app_config"]["args"]["llm_configs"]
    replicas = [
        one for deployment in chat["deployments"].values() for one in deployment["replicas"]
    ]
    states = [replica["state"] for replica in replicas]
    wanted = config["deployment_config"]["num_replicas"]
    settled = (chat["status"], states) == ("RUNNING", ["RUNNING"] * wanted)
    settings: dict[str, Any] = config["engine_kwargs"]
    return settings if settled else {}


def clusters(space: Workspace) -> set[str]:
    """The RayClusters' identities."""
    return {one["metadata"]["uid"] for one in space.get("rayclusters")}


def both_preempt(space: Workspace) -> None:
    space.until(
        "every replica preempts",
        lambda: min([*preemptions(space).values(), 99.0]) > 40,
        within_s=150,
        every_s=2.0,
    )


def written_text(service: Pressed) -> str:
    """serveConfigV2 as the object has it."""
    return str(service.home()["spec"]["serveConfigV2"])


def nothing_was_written(service: Pressed) -> None:
    written = service.space.written_by("operator")
    assert {resource for _, resource, _ in written} <= {"configmaps", "events"}, written


def test_the_cause_is_named_by_the_metrics_of_rays_agents(
    service: Pressed, capsys: pytest.CaptureFixture[str]
) -> None:
    space = service.space
    both_preempt(space)
    place = ["-n", space.namespace, "--kubeconfig", str(space.cluster.kubeconfig("observer"))]
    assert main(["diagnose", "rayservice/twin", *place, "--for", "20s"]) == 1
    printed = capsys.readouterr().out
    with capsys.disabled():
        print(f"\n{printed}")
    assert "kv-preemption-thrash" in printed
    assert "2 replicas" in printed
    assert "rayservice/twin" in printed


def test_a_changed_ray_cluster_would_want_as_many_gpus_again(
    service: Pressed, capsys: pytest.CaptureFixture[str]
) -> None:
    space = service.space
    place = ["-n", space.namespace, "--kubeconfig", str(space.cluster.kubeconfig("observer"))]
    assert main(["check", "--live", "rayservice/twin", "--profile", "strict", *place]) == 1
    printed = capsys.readouterr().out
    with capsys.disabled():
        print(f"\n{printed}")
    assert "a second RayCluster with 2 cards beside the first" in " ".join(printed.split())


def test_one_replica_would_be_an_outage(
    service: Pressed, capsys: pytest.CaptureFixture[str]
) -> None:
    space = service.space
    text = written_text(service)
    one = text.replace("num_replicas: 2", "num_replicas: 1")
    patch = json.dumps({"spec": {"serveConfigV2": one}})
    space.kubectl("patch", "rayservice", "twin", "--type=merge", "-p", patch)
    space.until("one replica runs", lambda: engine_settings(space), 120, 2.0)
    assert service.mitigate("--autonomy", "act", *ALL_FIT, *QUICK) == 5
    printed = capsys.readouterr().out
    with capsys.disabled():
        print(f"\n{printed}")
    assert "Ray Serve stops the one replica before it starts the next" in printed
    assert written_text(service) == one
    nothing_was_written(service)
    patch = json.dumps({"spec": {"serveConfigV2": text}})
    space.kubectl("patch", "rayservice", "twin", "--type=merge", "-p", patch)
    space.until("two replicas run", lambda: engine_settings(space), 120, 2.0)


def test_nobody_but_a_person_may_let_all_replicas_have_it_unproved(
    service: Pressed, capsys: pytest.CaptureFixture[str]
) -> None:
    both_preempt(service.space)
    assert service.mitigate("--autonomy", "act", *ALL_FIT, *QUICK) == 5
    printed = capsys.readouterr().out
    assert "before the load proves it: that takes a person's yes" in printed, printed
    nothing_was_written(service)


def test_ray_serve_rolls_it_on_the_same_cluster_and_the_load_proves_it(
    service: Pressed, capsys: pytest.CaptureFixture[str]
) -> None:
    space = service.space
    both_preempt(space)
    text, before, began = written_text(service), clusters(space), time.monotonic()
    assert service.mitigate("--yes", *ALL_FIT, *QUICK) == 0
    printed = capsys.readouterr().out
    with capsys.disabled():
        print(f"\n{printed}\n{time.monotonic() - began:.0f} s; {service.load.counts.summary()}")
    assert "no replica proves the change before the others get it" in printed
    (record,) = (one for one in incidents(space) if one["phase"] != "Refused")
    with capsys.disabled():
        print(told(record))
    assert record["phase"] == "Done"
    assert written_text(service) == text.replace(
        "        max_num_seqs: 64\n", "        max_num_seqs: 64\n        max_num_active_seqs: 8\n"
    )
    assert engine_settings(space)["max_num_active_seqs"] == 8
    service.only_allowed_was_written()
    assert service.mitigate("--for", "20s", verb="verify") in (0, 3)
    assert service.mitigate("--yes", "--for", "20s", "--sustained", "20s", verb="rollback") == 0
    assert written_text(service) == text
    assert "max_num_active_seqs" not in engine_settings(space)
    assert clusters(space) == before
    service.only_allowed_was_written()
