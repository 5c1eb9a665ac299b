"""The chart's life on a real API server, by the real Helm: lint, a dry run by the server, install
of the first chart that there was, upgrade to this one, `helm test`, uninstall.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from dev import chart, setup_helm
from dev.cluster.client import Cluster, Workspace
from dev.cluster.images import TWIN_IMAGE

FIRST = Path(__file__).parents[1] / "data" / "charts" / "barostat-0.1.0.tgz"
"""The chart as it first was, packed by Helm."""
RELEASE = "life"
OPERATOR = "life-barostat-observer"
WITHIN_S = 120
ALL = {
    "scope": "cluster",
    "observer": {"shards": 3, "replicas": 3, "autonomy": "recommend"},
    "actuator": {"enabled": True, "autonomy": "act", "quietHours": "0 2 * * * 4h"},
    "gateway": {"enabled": True, "target": "deploy/vllm", "limitsConfigMap": "limits"},
    "notifications": {"slackSecret": "slack", "signingSecret": "signing"},
    "alertmanager": {"tokenSecret": "alertmanager"},
}
"""Everything that needs no custom resources of Prometheus' operator."""


@pytest.fixture
def helm() -> Iterator[Any]:
    """Helm's own code, as `make helm` unpacks it."""
    if not setup_helm.is_installed():
        why = "the Helm library is not set up here: run `make helm`"
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(why)
    sys.path.insert(0, str(setup_helm.TARGET))
    import helm_python

    yield helm_python
    sys.path.remove(str(setup_helm.TARGET))


def values(space: Workspace) -> dict[str, Any]:
    repository, _, tag = TWIN_IMAGE.rpartition(":")
    return {
        "image": {"repository": repository, "tag": tag, "pullPolicy": "Never"},
        "watchNamespace": space.namespace,
    }


def adopted(cluster: Cluster, space: Workspace) -> None:
    """CRDs that an earlier release left behind belong to this one: the first chart refuses them
    otherwise.
    """
    owner = (
        f"meta.helm.sh/release-name={RELEASE}",
        f"meta.helm.sh/release-namespace={space.namespace}",
    )
    for crd in cluster.admin("get", "crd", "-o", "name").split():
        if crd.endswith(".barostat.dev"):
            cluster.admin("annotate", crd, *owner, "--overwrite")
            cluster.admin("label", crd, "app.kubernetes.io/managed-by=Helm", "--overwrite")


def runs(space: Workspace) -> None:
    """The operator of the release is rolled out. The image of these tests starts the twin, so the
    command is set here: Helm applies on the server's side and leaves a field alone that it does not
    have.
    """
    change = (
        '{"spec":{"template":{"spec":{"containers":[{"name":"operator","command":["barostat"]}]}}}}'
    )
    space.kubectl("patch", "deploy", OPERATOR, "--type=strategic", "-p", change)
    limit = f"--timeout={WITHIN_S}s"
    space.kubectl("rollout", "status", f"deploy/{OPERATOR}", limit, timeout_s=WITHIN_S + 10)


def asked(own: Any, space: Workspace) -> str:
    """What `helm test` says; of one that failed, what its pod wrote."""
    try:
        return str(own.test(RELEASE, timeout=WITHIN_S, logs=True))
    except Exception as error:
        said = space.kubectl("logs", f"{RELEASE}-barostat-test", "--tail=5")
        log = space.kubectl("logs", f"deploy/{OPERATOR}", "--tail=20")
        raise AssertionError(f"{error}\n{said}\n{log}") from error


Rights = set[tuple[str, str, str]]
"""(verb, API group, resource)."""


def rights(rules: list[dict[str, Any]]) -> Rights:
    return {
        (verb, group, resource)
        for rule in rules
        for group in rule.get("apiGroups", [])
        for resource in rule.get("resources", [])
        for verb in rule["verbs"]
    }


def granted(cluster: Cluster, space: Workspace) -> Rights:
    """What the API server lets the operator do in that namespace, without what everybody may."""
    asked_for = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectRulesReview",
        "spec": {"namespace": space.namespace},
    }
    who = f"--as=system:serviceaccount:{space.namespace}:{OPERATOR}"
    ask = ("create", "--validate=false", "-f", "-", "-o", "json", who)
    found = yaml.safe_load(cluster.admin(*ask, stdin=yaml.safe_dump(asked_for)))
    own = rights(found["status"]["resourceRules"])
    return {one for one in own if not one[1].startswith(("authorization.", "authentication."))}


def of_chart(given: dict[str, Any]) -> Rights:
    """What the chart's roles say."""
    made = chart.documents(given, RELEASE)
    return rights([rule for one in made if "rules" in one for rule in one["rules"]])


def left(cluster: Cluster) -> set[str]:
    """What the release has in the cluster, by kind and name, without Events and Helm's history."""
    kinds = (
        "deployments,services,serviceaccounts,roles,rolebindings,networkpolicies,configmaps,"
        "poddisruptionbudgets,clusterroles,clusterrolebindings,customresourcedefinitions,pods"
    )
    found = cluster.admin.json("get", kinds, "-A")["items"]
    return {
        f"{one['kind']}/{one['metadata']['name']}"
        for one in found
        if RELEASE in one["metadata"]["name"].split("-")
        or one["metadata"]["name"].endswith(".barostat.dev")
        or one["metadata"].get("annotations", {}).get("meta.helm.sh/release-name") == RELEASE
    }


def test_the_chart_is_installed_upgraded_tested_and_uninstalled(
    cluster: Cluster, space: Workspace, helm: Any
) -> None:
    report = helm.lint(str(chart.CHART), strict=True)
    assert report["errors"] == []
    assert [one for one in report["messages"] if one["severity"] > 1] == []

    for one in chart.documents({**values(space), **ALL}, RELEASE):
        given = yaml.safe_dump(one)
        namespace = one["metadata"].get("namespace", space.namespace)
        apply = ("apply", "--server-side", "--dry-run=server", "--force-conflicts", "-f", "-")
        cluster.kubectl("admin", namespace)(*apply, stdin=given)

    own = helm.Config(kubeconfig_path=cluster.kubeconfig("admin"), namespace=space.namespace)
    adopted(cluster, space)
    with own:
        own.install(str(FIRST), RELEASE, values(space), namespace=space.namespace)
        runs(space)
        upgraded = own.upgrade(str(chart.CHART), RELEASE, values(space), namespace=space.namespace)
        runs(space)
        level = "pod-security.kubernetes.io/enforce"
        cluster.admin("label", "namespace", space.namespace, f"{level}=restricted")
        tested = asked(own, space)
        assert granted(cluster, space) == of_chart(values(space))
        log = space.kubectl("logs", f"deploy/{OPERATOR}")
        assert "forbidden" not in log
        assert "no right" not in log
        other = own.install(
            str(chart.CHART), "second", values(space), namespace=space.namespace, dry_run="server"
        )
        assert "CustomResourceDefinition" not in str(other)  # those of the first release serve both
        crd = space.kubectl.json("get", "crd", "pressureincidents.barostat.dev")
        own.uninstall(RELEASE, timeout=WITHIN_S, wait="watcher")
    assert upgraded
    assert "barostat_operator_leading 1" in str(tested)
    plan = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["status"][
        "properties"
    ]["plan"]["properties"]
    assert "effect" in plan  # the upgrade brings the new fields of the CRDs along
    space.until(
        "nothing of the release is left but the CRDs",
        lambda: {one.partition("/")[0] for one in left(cluster)} == {"CustomResourceDefinition"},
        90,
        2.0,
    )
