"""Where `--from` looks: a workload in a cluster, and the step lines of a log before any counter."""

from __future__ import annotations

import argparse
import json
import shutil
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.support.small_servers import answer, serving
from tests.unit.judge.calibration.test_logged_step_times import PACE, logged

from barostat.shells.cli.main import main, parser
from barostat.shells.cli.simulate.from_engine_inputs import Looked, look
from barostat.twin.linear_pace import LinearPace

BUNDLES = Path(__file__).parents[4] / "data/bundles"
THRASH = BUNDLES / "kv-preemption-thrash"
NAMESPACE = "chat"


class Cluster:
    """An API server with one Deployment of two pods, whose engines show what a recorded one did,
    scrape by scrape.
    """

    def __init__(self, busy: str) -> None:
        pages = [path.read_text() for path in sorted((THRASH / "metrics/replica-0").iterdir())]
        idle = [page.replace("vllm:num_requests_waiting{", "vllm:unused{") for page in pages]
        self._pages = {name: iter(pages if name == busy else idle) for name in ("vllm-a", "vllm-b")}
        self._last = dict.fromkeys(self._pages, "")
        self._lock = threading.Lock()
        container = {
            "name": "vllm",
            "image": "vllm/vllm-openai:v0.32.0",
            "args": [
                "m",
                "--max-num-seqs",
                "64",
                "--max-model-len",
                "4096",
                "--no-async-scheduling",
            ],
        }
        owner = {"kind": "ReplicaSet", "name": "vllm-1", "controller": True, "uid": "u1"}
        labels = {"app": "vllm"}
        status = {
            "phase": "Running",
            "conditions": [{"type": "Ready", "status": "True"}],
            "containerStatuses": [
                {"name": "vllm", "ready": True, "restartCount": 0, "state": {"running": {}}}
            ],
        }
        pods: list[dict[str, Any]] = [
            {
                "metadata": {
                    "name": name,
                    "namespace": NAMESPACE,
                    "uid": name,
                    "labels": labels,
                    "ownerReferences": [owner],
                },
                "spec": {"containers": [container], "nodeName": "node"},
                "status": status,
            }
            for name in self._pages
        ]
        deployment = {
            "kind": "Deployment",
            "metadata": {"name": "vllm", "namespace": NAMESPACE, "uid": "d1"},
            "spec": {
                "replicas": 2,
                "selector": {"matchLabels": labels},
                "template": {"metadata": {"labels": labels}, "spec": pods[0]["spec"]},
            },
        }
        owned = {"kind": "Deployment", "name": "vllm", "controller": True, "uid": "d1"}
        replica_set = {
            "metadata": {
                "name": "vllm-1",
                "namespace": NAMESPACE,
                "uid": "u1",
                "labels": labels,
                "ownerReferences": [owned],
            }
        }
        self._documents: dict[str, Any] = {
            f"/apis/apps/v1/namespaces/{NAMESPACE}/deployments/vllm": deployment,
            f"/apis/apps/v1/namespaces/{NAMESPACE}/replicasets": {
                "kind": "ReplicaSetList",
                "items": [replica_set],
            },
            f"/api/v1/namespaces/{NAMESPACE}/pods": {"kind": "PodList", "items": pods},
            **{
                f"/api/v1/namespaces/{NAMESPACE}/pods/{pod['metadata']['name']}": pod
                for pod in pods
            },
        }

    def handle(self, connection: socket.socket, request: str) -> None:
        path = request.split(" ")[1].partition("?")[0]
        if path.endswith("/proxy/metrics"):
            name = path.split("/")[-3].partition(":")[0]
            with self._lock:
                self._last[name] = next(self._pages[name], self._last[name])
                connection.sendall(answer(self._last[name]))
        elif path in self._documents:
            connection.sendall(answer(json.dumps(self._documents[path]), kind="application/json"))
        else:
            connection.sendall(
                answer(
                    '{"kind": "Status", "apiVersion": "v1", "code": 404, "message": "no"}',
                    "404 Not Found",
                    "application/json",
                )
            )


@pytest.fixture
def kubeconfig(tmp_path: Path) -> Iterator[str]:
    with serving(Cluster("vllm-b").handle) as (port, _):
        found = tmp_path / "kubeconfig"
        cluster = {"name": "c", "cluster": {"server": f"http://127.0.0.1:{port}"}}
        context = {"name": "test", "context": {"cluster": "c", "user": "u", "namespace": NAMESPACE}}
        users = [{"name": "u", "user": {"token": "t"}}]
        found.write_text(
            json.dumps(
                {
                    "clusters": [cluster],
                    "contexts": [context],
                    "users": users,
                    "current-context": "test",
                }
            )
        )
        yield str(found)


@pytest.mark.sweep
@pytest.mark.usefixtures("on_virtual_time")
def test_the_busiest_replica_of_a_workload_stands_for_it_and_is_named(
    kubeconfig: str, capsys: pytest.CaptureFixture[str]
) -> None:
    where = [
        "--from",
        "deploy/vllm",
        "-n",
        NAMESPACE,
        "--kubeconfig",
        kubeconfig,
        "--for",
        "3s",
        "--interval",
        "500ms",
    ]
    assert (
        main(
            [
                "what-if",
                *where,
                "--set",
                "max-num-seqs=8",
                "--runs",
                "1",
                "--duration",
                "30s",
                "-o",
                "json",
            ]
        )
        == 0
    )
    found = json.loads(capsys.readouterr().out)
    assert found["candidates"][0]["settings"]["maxNumSeqs"] == 64
    assert found["candidates"][0]["settings"]["kvBlocks"] == 64
    assert found["traffic"]["requestsPerSecond"] > 0
    (note,) = [note for note in found["notes"] if "replicas" in note]
    assert "has 2 replicas: vllm-b, with" in note
    assert "--from pod/NAME for another" in note


@pytest.mark.usefixtures("on_virtual_time")
@pytest.mark.sweep
def test_tune_and_simulate_look_there_too(
    kubeconfig: str, capsys: pytest.CaptureFixture[str]
) -> None:
    where = ["-n", NAMESPACE, "--kubeconfig", kubeconfig, "--for", "2s", "--interval", "500ms"]
    tune = [
        "tune",
        "--from",
        "pod/vllm-b",
        *where,
        "--slo-ttft-p99",
        "30",
        "--budget",
        "10",
        "--cores",
        "1",
        "--duration",
        "20s",
    ]
    assert main([*tune, "--lever", "max-num-seqs", "-o", "json"]) in (0, 3)
    assert not [note for note in json.loads(capsys.readouterr().out)["notes"] if "replicas" in note]


def test_a_namespace_belongs_to_a_cluster(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["what-if", "--from", str(THRASH), "-n", "chat"]) == 2
    assert "belongs to a target in a cluster" in capsys.readouterr().err
    assert main(["what-if", "--from", str(THRASH), "--log", "vllm.log"]) == 2
    assert "--latency from=FILE" in capsys.readouterr().err


def _bundle(folder: Path, lines: list[str]) -> Path:
    """A recorded engine with another log: that of an engine with 64 blocks of 128 tokens, as its
    own metrics have it.
    """
    made = folder / "bundle"
    shutil.copytree(THRASH, made)
    log = made / "logs/replica-0.log"
    log.write_text("\n".join([*log.read_text().splitlines(), *lines]) + "\n")
    return made


def _looked(source: Path) -> Looked:
    arguments: argparse.Namespace = parser().parse_args(
        ["what-if", "--from", str(source), "--set", "max-num-seqs=8"]
    )
    return look(arguments, str(source), needs_traffic=True)


def test_step_lines_in_a_bundles_log_come_before_its_counters(tmp_path: Path) -> None:
    looked = _looked(_bundle(tmp_path, logged(fraction=True)))
    assert looked.pace is not None
    for load in ((0, 4, 800), (0, 20, 6000), (600, 3, 2000)):
        assert looked.pace.pace.step_ns(*load) == pytest.approx(PACE.step_ns(*load), rel=0.03), load
    assert any("steps in" in note and "replica-0.log" in note for note in looked.told())


def test_a_log_with_few_step_lines_leaves_it_to_the_counters(tmp_path: Path) -> None:
    looked = _looked(_bundle(tmp_path, logged(fraction=True)[:20]))
    assert looked.pace is not None
    assert "between scrapes" in looked.pace.note


def test_a_log_of_one_load_says_that_others_are_open(tmp_path: Path) -> None:
    steady = [
        line
        for line in logged(fraction=True)
        if " 0 context requests" in line and " 20 generation requests" in line
    ][:250]
    looked = _looked(_bundle(tmp_path, steady))
    assert looked.pace is not None
    assert "at one load only" in looked.pace.note
    paces: list[LinearPace] = [looked.pace.pace, *looked.pace.others]
    assert max(pace.step_ns(0, 4, 800) for pace in paces) > 1.2 * min(
        pace.step_ns(0, 4, 800) for pace in paces
    )
