"""The cluster is what the other tests take it for: real vLLM pods, a real kubelet's states, real
rights.
"""

from __future__ import annotations

import json
import urllib.request

import pytest
from dev.cluster import workloads
from dev.cluster.client import Cluster, Workspace
from dev.cluster.kubectl import KubectlError


def test_node_is_ready_and_has_gpus_to_count(cluster: Cluster) -> None:
    # Other tests may have pretended nodes beside the one with a kubelet.
    nodes = [
        node["status"]
        for node in cluster.admin.json("get", "nodes")["items"]
        if "nodeInfo" in node["status"]
    ]
    ready = [
        node
        for node in nodes
        if any(c["type"] == "Ready" and c["status"] == "True" for c in node.get("conditions", []))
    ]
    assert [
        int(node["allocatable"].get("nvidia.com/gpu", 0)) >= 3
        for node in ready
        if node["nodeInfo"]["containerRuntimeVersion"]
    ] == [True]


def test_a_vllm_pod_answers_through_its_service(engines: Workspace) -> None:
    (pod,) = engines.pods("app=vllm")
    assert engines.ready_addresses("vllm") == [pod.ip]
    body = json.dumps(
        {"model": "tiny", "prompt": "one two three", "max_tokens": 8, "ignore_eos": True}
    ).encode()
    request = urllib.request.Request(
        engines.url("vllm") + "/v1/completions", body, {"Content-Type": "application/json"}
    )
    with urllib.request.urlopen(request, timeout=30) as answer:
        assert json.load(answer)["usage"]["completion_tokens"] == 8
    # A second connection, straight to the pod.
    with urllib.request.urlopen(f"http://{pod.ip}:8000/version", timeout=10) as answer:
        assert json.load(answer)["version"].startswith("0.32.0")


def test_metrics_come_through_the_pod_proxy_for_an_observer(engines: Workspace) -> None:
    (pod,) = engines.pods("app=vllm")
    metrics = engines.metrics(pod.name, person="observer")
    assert "vllm:num_requests_running{" in metrics
    assert 'num_gpu_blocks="64"' in metrics


def test_logs_and_exec(engines: Workspace) -> None:
    (pod,) = engines.pods("app=vllm")
    assert "version 0.32.0" in engines.logs(pod.name)
    assert "VLLM::EngineCore" in engines.kubectl(
        "exec", pod.name, "--", "sh", "-c", "cat /proc/[0-9]*/cmdline | tr '\\0' ' '"
    )
    with pytest.raises(KubectlError, match="previous terminated container"):
        engines.logs(pod.name, previous=True)


def test_a_port_forward_reaches_the_engine(engines: Workspace) -> None:
    (pod,) = engines.pods("app=vllm")
    process = engines.kubectl.start(
        "port-forward", f"pod/{pod.name}", ":8000", "--address=127.0.0.1"
    )
    try:
        assert process.stdout is not None
        port = int(process.stdout.readline().split("127.0.0.1:")[1].split()[0])
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=10) as answer:
            assert answer.status == 200
    finally:
        process.kill()
        process.communicate()


@pytest.mark.parametrize(
    ("write", "lacks"),
    [
        (("scale", "deploy/vllm", "--replicas=2"), 'cannot patch resource "deployments/scale"'),
        (("set", "env", "deploy/vllm", "A=b"), 'cannot patch resource "deployments"'),
        (("delete", "pods", "--all"), 'cannot delete resource "pods"'),
        (("create", "configmap", "incident"), 'cannot create resource "configmaps"'),
    ],
    ids=["scale", "patch", "delete", "create"],
)
def test_an_observer_is_refused_every_write(
    engines: Workspace, write: tuple[str, ...], lacks: str
) -> None:
    observer = engines.as_person("observer")
    assert observer.json("get", "pods,deployments,replicasets,events,hpa")["items"]
    with pytest.raises(KubectlError, match=r"(?i)forbidden") as refusal:
        observer(*write)
    assert lacks in str(refusal.value)
    assert len(engines.pods("app=vllm")) == 1


def test_a_surge_pod_without_a_gpu_stays_pending_and_undo_ends_it(engines: Workspace) -> None:
    # The GPUs that the engine under test leaves are taken by pods that only sleep.
    engines.apply(sleepers := _sleepers(replicas=2))
    engines.wait_ready("deploy/sleeper", within_s=60)
    try:
        engines.kubectl("set", "env", "deploy/vllm", "CHANGED=yes")
        surge = engines.pod("app=vllm", lambda pod: pod.waits_for == "Unschedulable", within_s=30)
        (condition,) = [
            c for c in surge.object["status"]["conditions"] if c["type"] == "PodScheduled"
        ]
        assert "1 Insufficient nvidia.com/gpu" in condition["message"]
        engines.kubectl("rollout", "undo", "deploy/vllm")
        engines.wait_ready("deploy/vllm", within_s=60)
        engines.until(
            "only the old pod is left",
            lambda: [pod.is_ready for pod in engines.pods("app=vllm")] == [True],
        )
    finally:
        engines.delete(f"deploy/{workloads.only(sleepers, 'Deployment')['metadata']['name']}")


def test_pods_of_the_twin_are_cheap(space: Workspace) -> None:
    space.apply(workloads.twin(replicas=5, serve=["--max-num-seqs", "64"]))
    space.wait_ready("deploy/twin", within_s=90)
    assert len(space.ready_addresses("twin")) == 5
    metrics = space.metrics(space.pods("app=twin")[0].name)
    assert 'vllm:num_requests_running{engine="0",model_name="tiny"} 0' in metrics


def _sleepers(replicas: int) -> list[workloads.Manifest]:
    """A Deployment of pods that take a GPU and do nothing with it."""
    manifests = workloads.twin("sleeper", replicas=replicas, gpus=1)
    deployment = workloads.only(manifests, "Deployment")
    container = deployment["spec"]["template"]["spec"]["containers"][0]
    container["command"] = ["sleep", "3600"]
    del container["args"], container["readinessProbe"]
    deployment["spec"]["template"]["spec"]["terminationGracePeriodSeconds"] = 0
    return [deployment]
