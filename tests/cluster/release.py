"""The operator as the chart installs it, for tests on the cluster: installed and removed, what it
wrote, its incidents.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import yaml
from dev import chart, setup_helm
from dev.cluster.client import Cluster, Workspace
from dev.cluster.control_plane import AUDIT_LOG
from dev.cluster.images import TWIN_IMAGE
from dev.cluster.layout import RUN

HOME = "barostat"
RELEASE = "watch"
OBSERVER, ACTUATOR = f"{RELEASE}-barostat-observer", f"{RELEASE}-barostat-actuator"
OWN = frozenset({"pressureincidents", "leases", "events", "servinglimits"})
"""Resources that the operator writes whatever its autonomy is."""


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


def written(account: str, *namespaces: str) -> set[tuple[str, str, str]]:
    """(verb, resource, name) of every write of the operator's account in these namespaces."""
    return written_by(f":{HOME}:{account}", *namespaces)


def written_by(user: str, *namespaces: str) -> set[tuple[str, str, str]]:
    """(verb, resource, name) of every write in these namespaces of users whose name ends so."""
    found = set()
    for line in (RUN / "etc" / AUDIT_LOG).read_text().splitlines():
        entry = json.loads(line)
        about = entry.get("objectRef", {})
        dry = "dryRun" in entry["requestURI"] or entry["verb"] in ("get", "list", "watch")
        own = entry["user"]["username"].endswith(user)
        if own and not dry and about.get("namespace") in namespaces:
            found.add((entry["verb"], about["resource"], about.get("name", "")))
    return found


def log(cluster: Cluster, account: str) -> str:
    """What the operator has told."""
    return cluster.kubectl("admin", HOME)("logs", f"deploy/{account}")


def pressure_incidents(space: Workspace) -> list[dict[str, Any]]:
    """The PressureIncidents of the namespace."""
    found: list[dict[str, Any]] = space.kubectl.json("get", "pressureincidents")["items"]
    return found
