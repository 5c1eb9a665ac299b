"""The chart, rendered with the real Helm library: minimal rights, restricted pods, the verb's flags,
and what `kubectl apply -k` installs.
"""

from __future__ import annotations

import argparse
import os
import shlex
from typing import Any

import pytest
from dev import chart, setup_helm

from barostat.platform.workloads import kinds
from barostat.shells.cli.mitigate import operator
from barostat.shells.cli.prevent import gateway

ALL: dict[str, Any] = {
    "scope": "cluster",
    "actuator": {"enabled": True, "autonomy": "act", "quietHours": "0 2 * * * 4h", "gatewayTokenSecret": "gw"},
    "gateway": {"enabled": True, "target": "deploy/vllm", "limitsConfigMap": "limits", "adminTokenSecret": "gw"},
    "notifications": {"slackSecret": "s", "alertmanagerSecret": "a", "signingSecret": "h"},
    "alertmanager": {"tokenSecret": "t"},
    "observer": {"selector": "app=vllm", "replicas": 2},
    "serviceMonitor": {"enabled": True},
    "prometheusRule": {"enabled": True},
    "watchNamespace": "inference",
}  # fmt: skip
RECOMMEND = {"observer": {"autonomy": "recommend"}}
EVERY = pytest.mark.parametrize("values", [{}, RECOMMEND, ALL], ids=["default", "recommend", "all"])


@pytest.fixture(autouse=True)
def _helm(monkeypatch: pytest.MonkeyPatch) -> None:
    if not setup_helm.is_installed():
        why = "the Helm library is not set up here: run `make helm`"
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(why)
    monkeypatch.syspath_prepend(str(setup_helm.TARGET))


def of_kind(values: dict[str, Any], kind: str) -> list[dict[str, Any]]:
    return [one for one in chart.documents(values) if one["kind"] == kind]


def pods(values: dict[str, Any]) -> list[dict[str, Any]]:
    return [one["spec"]["template"]["spec"] for one in of_kind(values, "Deployment")]


@EVERY
def test_every_pod_runs_under_restricted_with_a_read_only_root(values: dict[str, Any]) -> None:
    for pod in pods(values):
        assert pod["securityContext"]["runAsNonRoot"] is True
        assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
        for container in pod["containers"]:
            assert container["securityContext"] == {
                "allowPrivilegeEscalation": False,
                "readOnlyRootFilesystem": True,
                "capabilities": {"drop": ["ALL"]},
            }
        assert not any("hostPath" in volume for volume in pod.get("volumes", []))


@EVERY
def test_the_flags_are_those_of_the_verbs(values: dict[str, Any]) -> None:
    parser = argparse.ArgumentParser()
    verbs = parser.add_subparsers()
    operator.add_parser(verbs)
    gateway.add_parser(verbs)
    for pod in pods(values):
        (container,) = pod["containers"]
        asked = parser.parse_args(container["args"])
        ports = {port["containerPort"] for port in container["ports"]}
        assert ports == ({asked.port, asked.admin_port} if "admin_port" in asked else {asked.port})
        mounts = [mount["mountPath"] for mount in container["volumeMounts"]]
        files = [word.partition("=")[2] for word in container["args"] if "-file=" in word]
        assert all(any(name.startswith(mount) for mount in mounts) for name in files)


def test_the_observer_has_no_verb_that_changes_a_workload() -> None:
    for values in ({}, RECOMMEND):
        rules, writes, secrets = chart.granted(values)
        assert (writes, secrets) == (0, 0)
        assert rules < 40
        (deployment,) = of_kind(values, "Deployment")
        args = shlex.join(deployment["spec"]["template"]["spec"]["containers"][0]["args"])
        assert "--max-autonomy=act" not in args


def test_every_kind_of_workload_may_be_read() -> None:
    granted = {
        (group, resource)
        for role in of_kind({}, "Role")
        for rule in role["rules"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        if {"get", "list"} <= {*rule["verbs"]}
    }
    assert {(kind.api.group, kind.api.plural) for kind in kinds()} <= granted


def test_the_guide_says_how_many_rules_write() -> None:
    guide = (chart.ROOT / "docs" / "guide" / "operator.md").read_text()
    for values in ({}, {"actuator": {"enabled": True}}):
        _, writes, secrets = chart.granted(values)
        written = f"{writes} rules write" if writes else "no rule writes"
        read = f"{secrets} read" if secrets else "none reads"
        said = f"{written} to objects other than its own, {read} Secrets"
        assert said in guide, said


@EVERY
def test_no_rule_has_a_wildcard_or_a_secret(values: dict[str, Any]) -> None:
    for one in chart.documents(values):
        for rule in one.get("rules", []):
            assert "*" not in (*rule["verbs"], *rule["resources"], *rule["apiGroups"])
            assert "secrets" not in rule["resources"]


def test_by_default_nothing_is_granted_beyond_the_namespace() -> None:
    kinds = {one["kind"] for one in chart.documents()}
    assert not kinds & {"ClusterRole", "ClusterRoleBinding"}
    assert {"NetworkPolicy", "PodDisruptionBudget", "CustomResourceDefinition"} <= kinds
    assert not kinds & {"ServiceMonitor", "PrometheusRule", "Secret"}


def test_the_actuator_of_a_namespace_sees_whether_a_spare_finds_a_gpu() -> None:
    (role,) = of_kind({"actuator": {"enabled": True}}, "ClusterRole")
    assert role["rules"] == [{"apiGroups": [""], "resources": ["nodes", "pods"], "verbs": ["list"]}]
    assert not of_kind({"actuator": {"enabled": True, "findsRoom": False}}, "ClusterRole")


def test_every_optional_part_is_there_when_it_is_asked_for() -> None:
    kinds = {one["kind"] for one in chart.documents(ALL)}
    assert {"ClusterRole", "ServiceMonitor", "PrometheusRule"} <= kinds
    assert len(of_kind(ALL, "Deployment")) == 2


def test_crds_stay_when_the_release_is_uninstalled() -> None:
    crds = of_kind({}, "CustomResourceDefinition")
    assert {one["spec"]["names"]["kind"] for one in crds} == {"PressureIncident", "ServingLimits"}
    for one in crds:
        assert one["metadata"]["annotations"] == {"helm.sh/resource-policy": "keep"}
    assert of_kind({"crds": {"install": False}}, "CustomResourceDefinition") == []


@pytest.mark.parametrize(
    "values",
    [
        {"observer": {"autonomy": "act"}},
        {"scope": "galaxy"},
        {"imagee": {}},
        {"actuator": {"enabled": "yes"}},
        {"gateway": {"enabled": True}},
    ],
)
def test_helm_refuses_values_that_cannot_be_meant(values: dict[str, Any]) -> None:
    import helm_python

    def installed() -> None:
        with helm_python.Chart.load(str(chart.CHART)) as loaded:
            loaded.validate_schema(loaded.merge_values(values))
        chart.rendered(values)

    with pytest.raises(helm_python.HelmError):
        installed()


def test_what_kubectl_installs_is_the_chart() -> None:
    assert chart.PLAIN.read_text() == chart.plain(), "run python dev/chart.py"
