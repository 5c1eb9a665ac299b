"""Engines in a real cluster are read as a bundle would be: by name, by label, all of them; with few
rights, and with fewer.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import pytest
import yaml
from dev.cluster import identities, workloads
from dev.cluster.client import Cluster as Lab
from dev.cluster.client import Workspace

from barostat.core.errors import InputError
from barostat.io.bundles import bundle, bundle_writer
from barostat.io.engine_http.http import Answer
from barostat.io.kubernetes.client.cluster import Cluster
from barostat.io.kubernetes.client.failures import RequestFailed
from barostat.io.kubernetes.client.kubeconfig import find_access
from barostat.io.kubernetes.client.resources import CONFIG_MAPS, DEPLOYMENTS, PODS
from barostat.io.kubernetes.client.sockets import Ran, execute
from barostat.io.kubernetes.client.watching import Changed, Relisted, watch
from barostat.io.kubernetes.recording import live
from barostat.io.kubernetes.recording.pod_route import PodRoute
from barostat.io.kubernetes.recording.target import Wanted
from barostat.judge.diagnosis.diagnose import diagnose
from barostat.judge.evidence.endpoint import Endpoint
from barostat.shells.cli.main import main

OBSERVER = Path(__file__).resolve().parents[2] / "deploy" / "rbac" / "observer.yaml"
TWIN = ("--kv-blocks", "512", "--step-time", "0.05", "--host", "0.0.0.0")
T = TypeVar("T")


@pytest.fixture(scope="module")
def fleet(cluster: Lab, real_vllm: bool) -> Iterator[Workspace]:
    """Two healthy engines (twins, known by their metrics alone) and one that its version's parser
    refuses, with a config file.
    """
    assert real_vllm
    with cluster.workspace("live-targets") as space:
        sick = workloads.vllm(
            "sick", flags=["--config", "/etc/vllm/config.yaml", "--swap-space", "4"]
        )
        pod = workloads.only(sick, "Deployment")["spec"]["template"]["spec"]
        pod["containers"][0]["volumeMounts"].append({"name": "config", "mountPath": "/etc/vllm"})
        pod["volumes"].append({"name": "config", "configMap": {"name": "vllm-config"}})
        settings = {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": "vllm-config"},
            "data": {"config.yaml": "max-num-seqs: 48\n"},
        }
        space.apply([settings, *sick, *workloads.twin("twin", replicas=2, flags=TWIN)])
        space.wait_ready("deploy/twin")
        space.pod("app=sick", lambda found: found.restarts > 0, within_s=180)
        yield space


@pytest.fixture(scope="module")
def observer(cluster: Lab) -> str:
    """A kubeconfig of an account with the role that we ship, and nothing else."""
    return str(cluster.kubeconfig("observer"))


def person(cluster: Lab, namespace: str, account: str, folder: Path) -> str:
    """A kubeconfig for the service account."""
    token = cluster.admin("create", "token", account, "-n", namespace).strip()
    view = json.loads(
        cluster.admin("config", "view", "--raw", "--minify", "--flatten", "-o", "json")
    )
    identities.write_kubeconfig(folder / account, view["clusters"][0]["cluster"], account, token)
    return str(folder / account)


def with_rights(space: Workspace, name: str, rules: list[dict[str, Any]], folder: Path) -> str:
    """A kubeconfig for an account with these rights in the namespace."""
    group = {"apiVersion": "rbac.authorization.k8s.io/v1"}
    space.apply(
        [
            {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name}},
            {**group, "kind": "Role", "metadata": {"name": name}, "rules": rules},
            {
                **group,
                "kind": "RoleBinding",
                "metadata": {"name": name},
                "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": name},
                "subjects": [
                    {"kind": "ServiceAccount", "name": name, "namespace": space.namespace}
                ],
            },
        ]
    )
    return person(space.cluster, space.namespace, name, folder)


def rule(group: str, resources: str, verbs: str) -> dict[str, Any]:
    return {"apiGroups": [group], "resources": resources.split(), "verbs": verbs.split()}


def run(kubeconfig: str, what: Callable[[Cluster], Awaitable[T]]) -> T:
    async def go() -> T:
        cluster = Cluster(find_access(kubeconfig))
        try:
            return await what(cluster)
        finally:
            await cluster.close()

    return asyncio.run(go())


def causes(recording: Any) -> dict[str, str]:
    return {
        replica.name.rpartition("/")[2].rsplit("-", 2)[0]: replica.diagnosis.cause
        for replica in diagnose(recording).replicas
    }


def test_the_sick_one_among_healthy_ones_is_named(
    fleet: Workspace, observer: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert (
        main(
            [
                "diagnose",
                "-A",
                "--kubeconfig",
                observer,
                "--for",
                "3s",
                "--interval",
                "1500ms",
                "-o",
                "json",
            ]
        )
        == 1
    )
    report = json.loads(capsys.readouterr().out)
    found = {
        replica["name"]: replica
        for replica in report["replicas"]
        if replica["name"].startswith(f"{fleet.namespace}/")
    }
    assert len(found) == 3
    sick = [replica for name, replica in found.items() if "/sick-" in name]
    assert [(one["diagnosis"]["cause"], one["diagnosis"]["variant"]) for one in sick] == [
        ("bad-config", "argument")
    ]
    assert "--swap-space" in json.dumps(sick[0]["next"])
    assert all(
        replica["diagnosis"]["cause"].startswith("healthy")
        for name, replica in found.items()
        if "/twin-" in name
    )
    assert not [
        text
        for replica in found.values()
        for text in replica["missing"]
        if text.startswith("cannot")
    ]


@pytest.mark.parametrize(
    ("target", "count"),
    [(["deploy/twin"], 2), (["deployment/sick"], 1), (["-l", "app=twin"], 2), ([], 3)],
)
def test_a_workload_a_label_a_namespace(
    fleet: Workspace,
    observer: str,
    target: list[str],
    count: int,
    capsys: pytest.CaptureFixture[str],
) -> None:
    main(
        [
            "diagnose",
            *target,
            "-n",
            fleet.namespace,
            "--kubeconfig",
            observer,
            "--for",
            "2s",
            "--interval",
            "1s",
            "-o",
            "json",
        ]
    )
    report = json.loads(capsys.readouterr().out)
    assert len(report["replicas"]) == count
    assert fleet.namespace in report["target"]


def test_a_pod_by_its_name(fleet: Workspace, observer: str) -> None:
    name = fleet.pods("app=twin")[0].name
    made = live.record_pods(
        Wanted((f"pod/{name}",), namespace=fleet.namespace, kubeconfig=observer),
        live.Options(for_s=1.0, interval_s=0.5),
    )
    (replica,) = made.recording.replicas
    assert replica.name == name
    assert len(replica.scrapes) >= 2
    assert replica.node


def test_what_is_not_there_is_said_with_what_is(fleet: Workspace, observer: str) -> None:
    with pytest.raises(
        InputError, match=r"deploy/tvin: there is no such Deployment .*there are: sick, twin"
    ):
        live.record_pods(
            Wanted(("deploy/tvin",), namespace=fleet.namespace, kubeconfig=observer), live.Options()
        )
    with pytest.raises(InputError, match="no pod matches"):
        live.record_pods(
            Wanted(selector="app=nobody", namespace=fleet.namespace, kubeconfig=observer),
            live.Options(),
        )


def test_a_collected_target_is_judged_like_the_live_one(
    fleet: Workspace, observer: str, tmp_path: Path
) -> None:
    folder = tmp_path / "logs"
    folder.mkdir()
    wanted = Wanted(namespace=fleet.namespace, all_namespaces=False, kubeconfig=observer)
    made = live.record_pods(wanted, live.Options(for_s=2.0, interval_s=1.0, keep_logs=folder))
    bundle_writer.write(made.recording, tmp_path / "b.tar.gz", made.logs)
    again = bundle.read(tmp_path / "b.tar.gz")
    assert causes(again) == causes(made.recording)
    before, after = diagnose(made.recording), diagnose(again)
    for one, other in zip(before.replicas, after.replicas, strict=True):
        assert one.diagnosis == other.diagnosis
        assert {finding.name: type(finding.verdict) for finding in one.symptoms} == {
            finding.name: type(finding.verdict) for finding in other.symptoms
        }


def test_the_config_file_is_read_from_its_config_map(fleet: Workspace, observer: str) -> None:
    made = live.record_pods(
        Wanted(("deploy/sick",), namespace=fleet.namespace, kubeconfig=observer),
        live.Options(for_s=0.0),
    )
    (replica,) = made.recording.replicas
    assert replica.config_file == {"max-num-seqs": 48}
    assert replica.previous_log is not None


def test_a_missing_right_is_told_with_what_it_would_have_told(
    fleet: Workspace, tmp_path: Path
) -> None:
    poor = with_rights(
        fleet, "poor", [rule("", "pods", "get list"), rule("apps", "deployments", "get")], tmp_path
    )
    recording = live.record_pods(
        Wanted(("deploy/twin",), namespace=fleet.namespace, kubeconfig=poor),
        live.Options(for_s=1.0),
    ).recording
    told = " | ".join(recording.missing)
    for right in (
        "get pods/proxy",
        "get pods/log",
        "list events",
        "list replicasets.apps",
        "list horizontalpodautoscalers.autoscaling",
    ):
        assert f"cannot {right} in {fleet.namespace}: that would have told" in told
    assert "cannot get nodes: that would have told" in told
    report = diagnose(recording)
    assert {replica.diagnosis.cause for replica in report.replicas} == {"unknown"}
    assert all(text in replica.missing for replica in report.replicas for text in recording.missing)


def test_without_a_right_to_list_pods_nothing_can_be_done(
    fleet: Workspace, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    nobody = with_rights(fleet, "nobody", [], tmp_path)
    assert (
        main(
            [
                "diagnose",
                "deploy/twin",
                "-n",
                fleet.namespace,
                "--kubeconfig",
                nobody,
                "--for",
                "1s",
            ]
        )
        == 4
    )
    assert f"cannot list pods in {fleet.namespace}" in capsys.readouterr().err


def test_the_observers_writes_are_refused_with_the_right_that_is_missing(
    fleet: Workspace, observer: str
) -> None:
    name = fleet.pods("app=twin")[0].name
    space = fleet.namespace

    async def writes(cluster: Cluster) -> list[Any]:
        return [
            await cluster.patch(DEPLOYMENTS, "twin", {"spec": {"replicas": 3}}, space, how="merge"),
            await cluster.delete(PODS, name, space),
            await cluster.create(PODS, {}, space, name=name, subresource="eviction"),
            await cluster.create(CONFIG_MAPS, {"metadata": {"name": "x"}}, space),
            await execute(cluster, space, name, "", ["true"], 5.0),
        ]

    rights = [
        found.right if isinstance(found, RequestFailed) else found
        for found in run(observer, writes)
    ]
    assert rights == [
        f"patch deployments.apps in {space}",
        f"delete pods in {space}",
        f"create pods/eviction in {space}",
        f"create configmaps in {space}",
        f"create pods/exec in {space}",
    ]


def test_the_observers_role_holds_no_verb_that_writes() -> None:
    roles = [
        one for one in yaml.safe_load_all(OBSERVER.read_text()) if one["kind"] == "ClusterRole"
    ]
    given = [
        (resource, verb)
        for role in roles
        for one in role["rules"]
        for resource in one["resources"]
        for verb in one["verbs"]
    ]
    assert {verb for _, verb in given} == {"get", "list"}
    assert "secrets" not in {resource for resource, _ in given}
    assert not [1 for resource, verb in given if "*" in (resource, verb)]


def test_a_port_forward_stands_in_where_the_pod_proxy_is_forbidden(
    fleet: Workspace, tmp_path: Path
) -> None:
    forwarder = with_rights(
        fleet,
        "forwarder",
        [rule("", "pods", "get list"), rule("", "pods/portforward", "create get")],
        tmp_path,
    )
    recording = live.record_pods(
        Wanted(("deploy/twin",), namespace=fleet.namespace, kubeconfig=forwarder),
        live.Options(for_s=1.0),
    ).recording
    assert all(len(replica.scrapes) >= 2 for replica in recording.replicas)
    assert all(
        replica.probe is not None and replica.probe.version for replica in recording.replicas
    )


def test_a_port_on_which_nothing_listens_is_told_alike_through_both_ways(fleet: Workspace) -> None:
    name = fleet.pods("app=twin")[0].name
    admin = str(fleet.cluster.kubeconfig("admin"))

    async def ask(cluster: Cluster) -> Any:
        door = PodRoute(cluster, fleet.namespace, name, name, [Endpoint(8001)])
        return await door.ask("/metrics", within_s=5.0)

    assert run(admin, ask).kind == "refused"


def test_exec_gives_output_and_exit_code(fleet: Workspace) -> None:
    name = fleet.pods("app=twin")[0].name
    admin = str(fleet.cluster.kubeconfig("admin"))
    found = run(
        admin,
        lambda cluster: execute(
            cluster, fleet.namespace, name, "", ["sh", "-c", "echo out; echo err >&2; exit 3"], 10.0
        ),
    )
    assert found == Ran("out\n", "err\n", 3)
    absent = run(
        admin, lambda cluster: execute(cluster, fleet.namespace, name, "", ["nvidia-smi"], 10.0)
    )
    assert isinstance(absent, Ran | RequestFailed)
    assert not (isinstance(absent, Ran) and absent.exit_code == 0)


def test_the_pod_proxy_is_no_way_into_the_api(fleet: Workspace) -> None:
    name = fleet.pods("app=twin")[0].name

    async def ask(cluster: Cluster) -> Any:
        return await PodRoute(cluster, fleet.namespace, name, name, [Endpoint(8000)]).ask(
            "/health", within_s=5.0
        )

    found = run(str(fleet.cluster.kubeconfig("admin")), ask)
    assert isinstance(found, Answer)
    assert found.status == 200


def test_server_side_apply_dry_run_and_conflict(fleet: Workspace) -> None:
    admin = str(fleet.cluster.kubeconfig("admin"))
    wanted = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "limits"},
        "data": {"a": "1"},
    }

    async def go(cluster: Cluster) -> list[Any]:
        space = fleet.namespace
        tried = await cluster.patch(CONFIG_MAPS, "limits", wanted, space, how="apply", dry_run=True)
        absent = await cluster.get(CONFIG_MAPS, "limits", space)
        made = await cluster.patch(CONFIG_MAPS, "limits", wanted, space, how="apply")
        other = await cluster.patch(
            CONFIG_MAPS,
            "limits",
            {**wanted, "data": {"a": "2"}},
            space,
            how="apply",
            manager="someone-else",
        )
        stale = await cluster.replace(
            CONFIG_MAPS,
            "limits",
            {**wanted, "metadata": {"name": "limits", "resourceVersion": "1"}},
            space,
        )
        wrong = await cluster.delete(
            CONFIG_MAPS, "limits", space, uid="00000000-0000-0000-0000-000000000000"
        )
        return [tried, absent, made, other, stale, wrong]

    tried, absent, made, other, stale, wrong = run(admin, go)
    assert tried["data"] == {"a": "1"}
    assert absent.kind == "not-found"
    assert [entry["manager"] for entry in made["metadata"]["managedFields"]] == ["barostat"]
    assert [found.kind for found in (other, stale, wrong)] == ["conflict", "conflict", "conflict"]


def test_a_watch_sees_what_changes(fleet: Workspace) -> None:
    admin = str(fleet.cluster.kubeconfig("admin"))

    async def go(cluster: Cluster) -> list[Any]:
        async def change() -> None:
            await asyncio.sleep(0.5)
            await cluster.create(CONFIG_MAPS, {"metadata": {"name": "seen"}}, fleet.namespace)
            await cluster.delete(CONFIG_MAPS, "seen", fleet.namespace)

        task = asyncio.create_task(change())
        found = [
            one
            async for one in watch(
                cluster, CONFIG_MAPS, fleet.namespace, fields="metadata.name=seen", for_s=3.0
            )
        ]
        await task
        return found

    found = run(admin, go)
    assert isinstance(found[0], Relisted)
    assert [one.gone for one in found if isinstance(one, Changed)] == [False, True]


def test_a_token_of_nobody_is_told_as_such(fleet: Workspace, tmp_path: Path) -> None:
    view = json.loads(
        fleet.cluster.admin("config", "view", "--raw", "--minify", "--flatten", "-o", "json")
    )
    identities.write_kubeconfig(
        tmp_path / "stranger", view["clusters"][0]["cluster"], "stranger", "not-a-token"
    )
    found = run(str(tmp_path / "stranger"), lambda cluster: cluster.get(PODS, "p", fleet.namespace))
    assert isinstance(found, RequestFailed)
    assert found.kind == "unauthorized"
