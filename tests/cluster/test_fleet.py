"""Two hundred pods of which a few are sick: the sick ones are named.

The pods are real objects on a real API server, bound to a node that no kubelet stands for; their
addresses lead to a stand-in that serves a recorded page of metrics, on a port for each. So listing,
the pod proxy, and a node that gives no logs are real; only the engines are not.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import Any

import pytest
from dev.cluster.client import Cluster, Workspace
from dev.cluster.layout import HOST_ADDRESS

from barostat.shells.cli.main import main

PODS = 200
FIRST_PORT = 21_000
HUNG = 7
KILLED = 11
PENDING = 13

STAND_IN = """
import asyncio, sys
page = sys.stdin.buffer.read()
async def answer(reader, writer, hung):
    try:
        while True:
            head = await reader.readuntil(b"\\r\\n\\r\\n")
            if hung:
                await asyncio.sleep(60)
            path = head.split(b" ")[1]
            body = page if path == b"/metrics" else b'{"version": "0.32.0"}' if path == b"/version" else b""
            writer.write(b"HTTP/1.1 200 OK\\r\\ncontent-length: %d\\r\\n\\r\\n" % len(body) + body)
            await writer.drain()
    except (asyncio.IncompleteReadError, ConnectionError):
        pass
    finally:
        writer.close()
async def serve(host, first, count, hung):
    for i in range(count):
        await asyncio.start_server(lambda r, w, h=i == hung: answer(r, w, h), host, first + i)
    print("ready", flush=True)
    await asyncio.Event().wait()
asyncio.run(serve(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])))
"""
PAGE = """# TYPE vllm:num_requests_running gauge
vllm:num_requests_running{engine="0",model_name="m"} 0.0
# TYPE vllm:num_requests_waiting gauge
vllm:num_requests_waiting{engine="0",model_name="m"} 0.0
# TYPE vllm:kv_cache_usage_perc gauge
vllm:kv_cache_usage_perc{engine="0",model_name="m"} 0.0
# TYPE vllm:num_preemptions counter
vllm:num_preemptions_total{engine="0",model_name="m"} 0.0
# TYPE vllm:generation_tokens counter
vllm:generation_tokens_total{engine="0",model_name="m"} 4211.0
# TYPE vllm:prompt_tokens counter
vllm:prompt_tokens_total{engine="0",model_name="m"} 90211.0
# TYPE vllm:request_success counter
vllm:request_success_total{engine="0",finished_reason="length",model_name="m"} 88.0
"""


def pod(index: int) -> dict[str, Any]:
    container = {
        "name": "vllm",
        "image": "docker.io/vllm/vllm-openai:v0.32.0",
        "args": ["org/m", "--port", str(FIRST_PORT + index)],
    }
    spec: dict[str, Any] = {
        "containers": [container],
        "terminationGracePeriodSeconds": 0,
        "tolerations": [{"operator": "Exists"}],
    }
    if index == PENDING:
        spec["nodeSelector"] = {"no": "such-node"}
    else:
        spec["nodeName"] = "paper"
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": f"vllm-{index}", "labels": {"app": "fleet"}},
        "spec": spec,
    }


def now(later_s: float = 0.0) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + later_s))


def status(index: int) -> dict[str, Any]:
    then = now(-60.0)
    state: dict[str, Any] = {
        "state": {"running": {"startedAt": then}},
        "ready": True,
        "restartCount": 0,
    }
    if index == KILLED:
        ended = {
            "terminated": {
                "exitCode": 137,
                "reason": "OOMKilled",
                "startedAt": then,
                "finishedAt": then,
            }
        }
        state = {
            "state": {"waiting": {"reason": "CrashLoopBackOff"}},
            "lastState": ended,
            "ready": False,
            "restartCount": 6,
        }
    container = {"name": "vllm", "image": "x", "imageID": "x", **state}
    ready = [
        {"type": "Ready", "status": "True" if state["ready"] else "False"},
        {"type": "PodScheduled", "status": "True"},
    ]
    return {
        "status": {
            "phase": "Running",
            "podIP": HOST_ADDRESS,
            "podIPs": [{"ip": HOST_ADDRESS}],
            "conditions": ready,
            "containerStatuses": [container],
        }
    }


@pytest.fixture(scope="module")
def fleet(cluster: Cluster) -> Iterator[Workspace]:
    stand_in = subprocess.Popen(
        [sys.executable, "-c", STAND_IN, "0.0.0.0", str(FIRST_PORT), str(PODS), str(HUNG)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert stand_in.stdin is not None
    assert stand_in.stdout is not None
    stand_in.stdin.write(PAGE)
    stand_in.stdin.close()
    assert stand_in.stdout.readline() == "ready\n"
    node = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": "paper"},
        "spec": {"taints": [{"key": "paper", "effect": "NoSchedule"}]},
    }
    cluster.admin("apply", "-f", "-", stdin=json.dumps(node))
    ready = {
        "type": "Ready",
        "status": "True",
        "reason": "Paper",
        "message": "",
        "lastHeartbeatTime": now(),
        "lastTransitionTime": now(),
    }
    cluster.admin(
        "patch",
        "node",
        "paper",
        "--subresource=status",
        "--type=merge",
        "-p",
        json.dumps({"status": {"conditions": [ready]}}),
    )
    try:
        with cluster.workspace("fleet") as space:
            space.until(
                "the namespace has its account",
                lambda: not space.kubectl.run("get", "serviceaccount", "default").returncode,
            )
            space.apply([pod(index) for index in range(PODS)])
            script = "\n".join(
                f"{index} {json.dumps(status(index))}" for index in range(PODS) if index != PENDING
            )
            patch_all(space, script)
            try:
                yield space
            finally:  # no kubelet would ever say that they have ended
                space.kubectl(
                    "delete",
                    "pods",
                    "--all",
                    "--grace-period=0",
                    "--force",
                    "--wait=false",
                    timeout_s=120,
                )
    finally:
        cluster.admin("delete", "node", "paper", timeout_s=60)
        stand_in.kill()
        stand_in.wait()


def patch_all(space: Workspace, script: str) -> None:
    """Every pod has its status: over our own seam, as two hundred kubectls would take minutes."""
    import asyncio

    from barostat.io.kubernetes.client.cluster import Cluster as Api
    from barostat.io.kubernetes.client.failures import RequestFailed
    from barostat.io.kubernetes.client.kubeconfig import find_access
    from barostat.io.kubernetes.client.resources import PODS as RESOURCE

    async def go() -> None:
        api = Api(find_access(str(space.cluster.kubeconfig("admin"))))
        lines = [line.partition(" ") for line in script.splitlines()]
        found = await asyncio.gather(
            *(
                api.patch(
                    RESOURCE,
                    f"vllm-{index}",
                    json.loads(body),
                    space.namespace,
                    how="strategic",
                    subresource="status",
                    within_s=60.0,
                )
                for index, _, body in lines
            )
        )
        await api.close()
        assert not [one for one in found if isinstance(one, RequestFailed)]

    asyncio.run(go())


def test_the_sick_ones_of_two_hundred_are_named(
    fleet: Workspace, capsys: pytest.CaptureFixture[str]
) -> None:
    began = time.monotonic()
    used = time.process_time()
    code = main(
        ["diagnose", "-A", "--kubeconfig", str(fleet.cluster.kubeconfig("observer")), "-o", "json"]
    )
    took_s, cpu_s = time.monotonic() - began, time.process_time() - used
    report = json.loads(capsys.readouterr().out)
    found = {
        replica["name"].rpartition("-")[2]: replica["diagnosis"]
        for replica in report["replicas"]
        if replica["name"].startswith(f"{fleet.namespace}/")
    }
    assert len(found) == PODS
    well = {name for name, diagnosis in found.items() if diagnosis["cause"].startswith("healthy")}
    assert set(found) - well == {str(HUNG), str(KILLED), str(PENDING)}
    assert found[str(KILLED)]["cause"] == "host-oom"
    assert found[str(PENDING)]["cause"] == "scaling-lag"
    assert code == 1
    # For the eye: how long it takes is no test on a machine that others use as well.
    with capsys.disabled():
        print(f"\n{PODS} pods in {took_s:.1f} s, {cpu_s:.1f} s of them work")
