"""What ends a vLLM pod on a real kubelet, and that the bundle which kubectl gives of it is named
right.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from dev.cluster import bundle as cluster_bundle
from dev.cluster import workloads
from dev.cluster.client import Pod, Workspace

from barostat.core.diagnosis import Diagnosis
from barostat.io.bundles import bundle
from barostat.judge.diagnosis.diagnose import diagnose

pytestmark = pytest.mark.usefixtures("real_vllm")


def test_host_memory_limit_ends_in_a_genuine_oom_kill(space: Workspace, tmp_path: Path) -> None:
    # Far less than it takes. Near to what it takes an engine that has just been read from disk
    # pages its own code in and out for minutes.
    space.apply(workloads.vllm(memory="300Mi"))
    pod = space.pod("app=vllm", lambda pod: bool(pod.last_end), within_s=240)
    assert (pod.last_end["reason"], pod.last_end["exitCode"]) == ("OOMKilled", 137)
    _is_named(space, tmp_path, "host-oom", "cgroup")


def test_an_unknown_argument_is_a_crash_loop_with_its_reason_in_the_log(
    space: Workspace, tmp_path: Path
) -> None:
    space.apply(workloads.vllm(flags=[*workloads.SIZE_FLAGS, "--swap-space", "4"]))
    pod = space.pod("app=vllm", _loops, within_s=150)
    assert (pod.last_end["reason"], pod.last_end["exitCode"]) == ("Error", 2)
    assert "unrecognized arguments: --swap-space" in space.logs(pod.name, previous=True)
    found = _is_named(space, tmp_path, "bad-config", "argument")
    assert "--swap-space" in found.summary


def test_64_mib_of_shared_memory_are_too_few(space: Workspace, tmp_path: Path) -> None:
    # Where worker and core are processes of their own, as with more than one GPU, they talk through
    # shared memory.
    space.apply(
        workloads.vllm(
            shm=None, flags=[*workloads.SIZE_FLAGS, "--distributed-executor-backend", "mp"]
        )
    )
    pod = space.pod("app=vllm", lambda pod: bool(pod.last_end), within_s=150)
    assert pod.last_end["exitCode"] == 1
    _is_named(space, tmp_path, "bad-config", "shm")


def test_a_service_named_vllm_ends_its_pods_by_service_links(
    space: Workspace, tmp_path: Path
) -> None:
    manifests = workloads.vllm()
    del workloads.only(manifests, "Deployment")["spec"]["template"]["spec"]["enableServiceLinks"]
    # The variables of a Service are those that exist when the pod starts.
    space.apply([workloads.only(manifests, "Service")])
    space.apply(manifests)
    pod = space.pod("app=vllm", lambda pod: bool(pod.last_end), within_s=150)
    assert pod.last_end["exitCode"] == 1
    _is_named(space, tmp_path, "bad-config", "argument")


def test_a_pod_without_a_gpu_to_be_had_is_pending(space: Workspace, tmp_path: Path) -> None:
    manifests = workloads.vllm()
    container = workloads.only(manifests, "Deployment")["spec"]["template"]["spec"]["containers"][0]
    container["resources"]["limits"]["nvidia.com/gpu"] = "8"
    space.apply(manifests)
    space.pod("app=vllm", lambda pod: pod.waits_for == "Unschedulable", within_s=30)
    _is_named(space, tmp_path, "scaling-lag", "pending")


def _loops(pod: Pod) -> bool:
    return pod.restarts >= 1 and pod.waits_for == "CrashLoopBackOff"


def _is_named(space: Workspace, folder: Path, cause: str, variant: str) -> Diagnosis:
    """The one diagnosis of the namespace's bundle, after it has been found to be this one."""
    report = diagnose(bundle.read(cluster_bundle.write(space, folder / "bundle")))
    (replica,) = report.replicas
    assert (replica.diagnosis.cause, replica.diagnosis.variant) == (cause, variant), replica
    return replica.diagnosis
