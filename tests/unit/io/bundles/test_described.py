"""`kubectl describe pod` as the objects that it was printed from."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barostat.io.bundles.described import documents, is_described
from barostat.platform import kubernetes
from barostat.platform.pods import engine_container

AT = 1795163200.0
KILLED = """\
Name:             vllm-llama-x2x9k
Namespace:        inference
Node:             gpu-3/10.0.3.14
Status:           Running
IP:               10.1.2.3
Controlled By:  ReplicaSet/vllm-llama
Init Containers:
  fetch:
    Image:          busybox
    State:          Terminated
      Reason:       Completed
      Exit Code:    0
Containers:
  vllm:
    Container ID:  containerd://abc
    Image:         vllm/vllm-openai:v0.11.0
    Port:          8000/TCP
    Args:
      --model
      meta-llama/Llama-3.1-8B-Instruct
    State:          Waiting
      Reason:       CrashLoopBackOff
    Last State:     Terminated
      Reason:       OOMKilled
      Exit Code:    137
      Started:      Fri, 20 Nov 2026 08:11:09 +0000
      Finished:     Fri, 20 Nov 2026 09:13:00 +0100
    Ready:          False
    Restart Count:  7
    Limits:
      memory:          32Gi
      nvidia.com/gpu:  1
    Liveness:     http-get http://:8000/health delay=30s timeout=1s period=5s #success=1 #failure=3
    Environment:
      HF_TOKEN:  <set to the key 'token' in secret 'hf'>  Optional: false
    Mounts:
      /dev/shm from shm (rw)
Conditions:
  Type              Status
  PodScheduled      True
  Ready             False
Volumes:
  shm:
    Type:       EmptyDir (a temporary directory that shares a pod's lifetime)
    Medium:     Memory
    SizeLimit:  1Gi
QoS Class:        Burstable
Events:
  Type     Reason     Age                 From     Message
  ----     ------     ----                ----     -------
  Warning  Unhealthy  9m (x4 over 10m)    kubelet  Liveness probe failed: Get "http://10.1.2.3:8000/health": context deadline exceeded
  Normal   Killing    9m                  kubelet  Container vllm failed liveness probe, will be restarted
"""
PENDING = """\
Name:             vllm-1
Namespace:        inference
Node:             <none>
Status:           Pending
Containers:
  vllm:
    Image:      vllm/vllm-openai:v0.11.0
    Mounts:     <none>
Conditions:
  Type           Status
  PodScheduled   False
Events:
  Type     Reason            Age   From               Message
  ----     ------            ----  ----               -------
  Warning  FailedScheduling  12m   default-scheduler  0/5 nodes are available: 5 Insufficient nvidia.com/gpu.
"""


def _signals(text: str, pod: str, at: float = AT) -> dict[str, tuple[float, str]]:
    made, problems = kubernetes.signals(documents(text), pod, at)
    assert problems == []
    return {signal.name: (signal.points[-1][1], signal.detail) for signal in made}


def test_the_end_of_a_container_is_read_with_its_limit_and_what_killed_it() -> None:
    found = _signals(KILLED, "vllm-llama-x2x9k")
    assert found["pod_restarts"][0] == 7
    assert found["pod_oom_killed"][0] == 1
    assert "32Gi" in found["pod_oom_killed"][1]
    assert " ago" in found["pod_oom_killed"][1]
    assert found["pod_probe_kills"][0] == 1
    assert found["pod_probe_failures"][0] == 4
    assert found["pod_shm_bytes"][0] == 2**30


def test_how_long_ago_is_not_said_where_nothing_newer_is_recorded() -> None:
    ended_at = AT - 820
    detail = _signals(KILLED, "vllm-llama-x2x9k", ended_at)["pod_oom_killed"][1]
    assert detail == "OOMKilled, exit 137, limit 32Gi"


def test_command_image_node_and_instants_are_those_of_the_pod() -> None:
    (pod,) = documents(KILLED)["pods"]
    container = engine_container(pod)
    assert container is not None
    assert (container.image, container.args) == (
        "vllm/vllm-openai:v0.11.0",
        ("--model", "meta-llama/Llama-3.1-8B-Instruct"),
    )
    assert container.env == {}
    assert pod["spec"]["nodeName"] == "gpu-3"
    ended = pod["status"]["containerStatuses"][0]["lastState"]["terminated"]
    assert (ended["startedAt"], ended["finishedAt"]) == (
        "2026-11-20T08:11:09+00:00",
        "2026-11-20T09:13:00+01:00",
    )


def test_a_pod_without_a_node_waits_for_one_and_its_shared_memory_is_not_guessed() -> None:
    found = _signals(PENDING, "vllm-1")
    assert found["pod_pending"][0] == 1
    assert "Insufficient nvidia.com/gpu" in found["pod_pending"][1]
    assert "pod_shm_bytes" not in found


def test_several_pods_in_one_text_are_several_each_with_its_own_events() -> None:
    both = documents(f"{KILLED}\n\n{PENDING}")
    assert [pod["metadata"]["name"] for pod in both["pods"]] == ["vllm-llama-x2x9k", "vllm-1"]
    assert [event["involvedObject"]["name"] for event in both["events"]] == [
        "vllm-llama-x2x9k"
    ] * 2 + ["vllm-1"]
    assert "events" not in documents(KILLED.partition("Events:")[0])


def test_a_log_is_no_description() -> None:
    assert is_described(KILLED)
    assert not is_described(
        "INFO 11-20 08:11:09 [api_server.py:1839] vLLM API server version 0.11.0\n"
    )


@pytest.mark.parametrize("cut", range(0, len(KILLED), 97))
def test_half_of_it_is_read_as_far_as_it_goes(cut: int) -> None:
    assert len(documents(KILLED[:cut])["pods"]) == bool(cut)


@given(
    st.lists(
        st.sampled_from([*KILLED.splitlines(), "      x", "   :", "Name:", ""])
        | st.text(max_size=40),
        max_size=60,
    )
)
def test_no_text_raises(lines: list[str]) -> None:
    found = documents("\n".join(lines))
    kubernetes.signals(found, "vllm-llama-x2x9k", AT)
