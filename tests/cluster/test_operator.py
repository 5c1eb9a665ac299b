"""The operator, installed by the chart in `observe`: pressure comes on a Deployment, is detected
within 30 s of the first harm and recorded; its neighbours are left alone, and the audit log shows no
write but to the operator's own objects.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import yaml
from dev import chart, setup_helm
from dev.cluster import workloads
from dev.cluster.client import Cluster, Workspace
from dev.cluster.control_plane import AUDIT_LOG
from dev.cluster.images import TWIN_IMAGE
from dev.cluster.kubectl import KubectlError
from dev.cluster.layout import RUN
from tests.cluster.test_mitigate import preempted, pressed_twins

HOME = "barostat"
RELEASE = "watch"
OPERATOR = "watch-barostat-observer"
OWN = {"pressureincidents", "leases", "events", "servinglimits"}


@contextmanager
def installed(cluster: Cluster, space: Workspace, **more: Any) -> Iterator[None]:
    """The chart with its default values, watching that namespace, under the restricted level.
    `more`: other values.
    """
    if not setup_helm.is_installed():
        why = "the Helm library is not set up here: run `make helm`"
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(why)
    repository, _, tag = TWIN_IMAGE.rpartition(":")
    values = {
        "image": {"repository": repository, "tag": tag, "pullPolicy": "Never"},
        "watchNamespace": space.namespace,
        "observer": {"interval": "5s"},
        **more,
    }
    made = chart.documents(values, RELEASE)
    (deployment,) = (one for one in made if one["kind"] == "Deployment")
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    container["command"] = ["barostat"]  # the image's own entrypoint is that of the twin
    level = "pod-security.kubernetes.io/enforce"
    cluster.admin("label", "namespace", HOME, f"{level}=restricted", "--overwrite")
    home = cluster.kubectl("admin", HOME)
    operator = deployment["metadata"]["name"]
    try:
        for namespace, part in _by_namespace(made).items():
            text = yaml.safe_dump_all(part)
            cluster.kubectl("admin", namespace)("apply", "--server-side", "-f", "-", stdin=text)
        home("rollout", "status", f"deploy/{operator}", "--timeout=120s", timeout_s=130)
        yield
    finally:
        rest = [one for one in made if one["kind"] != "CustomResourceDefinition"]
        for namespace, part in _by_namespace(rest).items():
            text = yaml.safe_dump_all(part)
            remove = ("delete", "--ignore-not-found", "--wait=false", "-f", "-")
            cluster.kubectl("admin", namespace)(*remove, stdin=text)
        cluster.admin("label", "namespace", HOME, f"{level}-")


def _by_namespace(made: list[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    """The objects by the namespace that they name; those that name none with the release's own."""
    found: dict[str, list[dict[str, Any]]] = {HOME: []}
    for one in made:
        found.setdefault(one["metadata"].get("namespace", HOME), []).append(one)
    return found


def written(account: str = OPERATOR) -> set[tuple[str, str, str]]:
    """(verb, resource, name) of every write of the operator's account."""
    found = set()
    for line in (RUN / "etc" / AUDIT_LOG).read_text().splitlines():
        entry = json.loads(line)
        own = entry["user"]["username"].endswith(f":{HOME}:{account}")
        if own and entry["verb"] in ("create", "update", "patch", "delete"):
            about = entry["objectRef"]
            found.add((entry["verb"], about["resource"], about.get("name", "")))
    return found


def incidents(space: Workspace) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = space.kubectl.json("get", "pressureincidents")["items"]
    return found


def test_pressure_is_recorded_by_the_installed_chart_and_nothing_else_is_written(
    cluster: Cluster, space: Workspace
) -> None:
    space.apply(workloads.twin("neighbour", replicas=2, serve=["--max-num-seqs", "64"]))
    load = pressed_twins(space, rate_per_s=4.0, replicas=1, gpus=0)
    with installed(cluster, space):
        time.sleep(10.0)
        assert incidents(space) == []
        with load:
            space.until(
                "the engine preempts",
                lambda: max(preempted(space, "app=twin").values()) > 0,
                120,
                0.5,
            )
            harmed_at = time.monotonic()
            space.until("an incident is there", lambda: incidents(space), 60, 0.5)
            took_s = time.monotonic() - harmed_at
            space.until("its status is there", lambda: "status" in incidents(space)[0], 20, 0.5)
        (found,) = incidents(space)
        events = space.kubectl.json("get", "events", "--field-selector", "reason=PressureDetected")
        table = space.kubectl("get", "pi")
        log = cluster.kubectl("admin", HOME)("logs", f"deploy/{OPERATOR}")
    print(f"detected {took_s:.0f} s after the first preemption\n{table}\n{log}")
    assert took_s <= 30.0, log
    assert found["spec"]["targetRef"]["name"] == "twin"
    assert found["spec"]["targetRef"]["kind"] == "Deployment"
    assert found["spec"]["cause"].startswith("kv-"), found
    assert found["status"]["evidence"]
    assert found["status"]["plan"]["change"]
    assert events["items"][0]["involvedObject"]["name"] == "twin"
    writes = written()
    assert writes
    assert {resource for _, resource, _ in writes} <= OWN, writes
    change = json.dumps({"spec": {"cause": "unknown"}})
    with pytest.raises(KubectlError, match="spec never changes"):
        space.kubectl("patch", "pi", found["metadata"]["name"], "--type=merge", "-p", change)
