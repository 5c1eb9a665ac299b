"""The manifests of deploy/gateway hold together: names, ports, files and flags, and what a pod may
do.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from barostat.gateway.ext_proc.server import listen_address
from barostat.io.input_files.limits_file import load
from barostat.shells.cli.prevent import gateway

ROOMS = sorted(
    path.parent
    for path in (Path(__file__).resolve().parents[2] / "deploy" / "gateway").glob(
        "*/kustomization.yaml"
    )
)


def _documents(room: Path) -> list[dict[str, Any]]:
    kustomization = yaml.safe_load((room / "kustomization.yaml").read_text())
    found = [
        one
        for name in kustomization["resources"]
        for one in yaml.safe_load_all((room / name).read_text())
    ]
    for made in kustomization["configMapGenerator"]:
        data = {name: (room / name).read_text() for name in made["files"]}
        found.append(
            {
                "apiVersion": "v1",
                "kind": "ConfigMap",
                "metadata": {"name": made["name"]},
                "data": data,
            }
        )
    return found


def _the(room: Path, kind: str) -> dict[str, Any]:
    (found,) = (one for one in _documents(room) if one["kind"] == kind)
    return found


def test_all_are_looked_at() -> None:
    assert [room.name for room in ROOMS] == ["embedded", "envoy", "inference-pool"]


@pytest.mark.parametrize("room", ROOMS, ids=lambda room: room.name)
def test_the_flags_are_those_of_the_verb_and_the_limits_are_limits(room: Path) -> None:
    pod = _the(room, "Deployment")["spec"]["template"]["spec"]
    (ours,) = (container for container in pod["containers"] if container["name"] == "barostat")
    parser = argparse.ArgumentParser()
    gateway.add_parser(parser.add_subparsers())
    asked = parser.parse_args(["gateway", *ours["args"]])
    assert (asked.limits.parent, asked.limits.name) == (
        Path(ours["volumeMounts"][0]["mountPath"]),
        "limits.yaml",
    )
    assert load(room / "limits.yaml").spec.request.max_input_tokens
    assert pod["terminationGracePeriodSeconds"] > asked.drain_timeout
    listening = {asked.port, asked.admin_port}
    if room.name != "embedded":
        listening.add(int(listen_address(asked.ext_proc).rpartition(":")[2]))
    assert {port["containerPort"] for port in ours["ports"]} <= listening
    assert {
        ours[probe]["httpGet"]["port"]
        for probe in ("startupProbe", "livenessProbe", "readinessProbe")
    } <= listening


@pytest.mark.parametrize("room", ROOMS, ids=lambda room: room.name)
def test_a_pod_may_do_nothing_that_it_does_not_need(room: Path) -> None:
    pod = _the(room, "Deployment")["spec"]["template"]["spec"]
    assert pod["automountServiceAccountToken"] is False
    assert pod["securityContext"]["runAsNonRoot"] is True
    for container in pod["containers"]:
        allowed = container["securityContext"]
        assert (
            allowed["allowPrivilegeEscalation"],
            allowed["readOnlyRootFilesystem"],
            allowed["capabilities"],
        ) == (
            False,
            True,
            {"drop": ["ALL"]},
        )
        assert container["resources"]["limits"].keys() == {"memory"}
        assert "readinessProbe" in container
    assert not {one["kind"] for one in _documents(room)} & {
        "Role",
        "ClusterRole",
        "RoleBinding",
        "ClusterRoleBinding",
    }


@pytest.mark.parametrize("room", ROOMS, ids=lambda room: room.name)
def test_what_names_something_names_what_is_there(room: Path) -> None:
    deployment, service = _the(room, "Deployment"), _the(room, "Service")
    pod = deployment["spec"]["template"]
    labels = pod["metadata"]["labels"]
    assert deployment["spec"]["selector"]["matchLabels"] == service["spec"]["selector"] == labels
    ports = {
        port["containerPort"]
        for container in pod["spec"]["containers"]
        for port in container["ports"]
    }
    assert {port["targetPort"] for port in service["spec"]["ports"]} <= ports
    maps = {one["metadata"]["name"] for one in _documents(room) if one["kind"] == "ConfigMap"}
    assert {volume["configMap"]["name"] for volume in pod["spec"]["volumes"]} == maps
    volumes = {volume["name"] for volume in pod["spec"]["volumes"]}
    assert {
        mount["name"]
        for container in pod["spec"]["containers"]
        for mount in container["volumeMounts"]
    } == volumes


def test_the_pool_asks_the_picker_that_is_deployed() -> None:
    (room,) = (room for room in ROOMS if room.name == "inference-pool")
    picker, service = (
        _the(room, "InferencePool")["spec"]["endpointPickerRef"],
        _the(room, "Service"),
    )
    assert picker["name"] == service["metadata"]["name"]
    assert picker["port"]["number"] in {port["port"] for port in service["spec"]["ports"]}
    (backend,) = _the(room, "HTTPRoute")["spec"]["rules"][0]["backendRefs"]
    assert backend["name"] == _the(room, "InferencePool")["metadata"]["name"]


@pytest.mark.skipif(shutil.which("kubectl") is None, reason="kubectl is not here")
@pytest.mark.parametrize("room", ROOMS, ids=lambda room: room.name)
def test_kubectl_makes_the_same_of_it(room: Path) -> None:
    made = subprocess.run(
        ["kubectl", "kustomize", str(room)], capture_output=True, text=True, check=True
    ).stdout
    names = sorted((one["kind"], one["metadata"]["name"]) for one in yaml.safe_load_all(made))
    assert names == sorted((one["kind"], one["metadata"]["name"]) for one in _documents(room))
