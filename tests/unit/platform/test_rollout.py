"""The last rollout, the workload, and its autoscaler."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest

from barostat.core.signal import Signal
from barostat.platform import kubernetes
from barostat.platform.objects import instant
from barostat.platform.rollout import last_rollout
from barostat.platform.template_diff import flags

AT = instant("2026-11-21T12:00:00Z") or 0.0


def replica_set(revision: int, created: str, args: list[str], **container: Any) -> dict[str, Any]:
    return {
        "kind": "ReplicaSet",
        "metadata": {
            "name": f"vllm-rs{revision}",
            "namespace": "inference",
            "creationTimestamp": created,
            "annotations": {"deployment.kubernetes.io/revision": str(revision)},
            "ownerReferences": [{"kind": "Deployment", "name": "vllm", "controller": True}],
        },
        "spec": {
            "template": {
                "spec": {
                    "containers": [
                        {
                            "name": "vllm",
                            "image": "vllm/vllm-openai:v0.31.0",
                            "args": args,
                            **container,
                        }
                    ]
                }
            }
        },
    }


OLD = replica_set(
    4,
    "2026-11-20T12:00:00Z",
    ["--model", "m", "--max-num-seqs", "64", "--api-key", "sk-old", "--enable-prefix-caching"],
    env=[
        {"name": "NCCL_DEBUG", "value": "WARN"},
        {"name": "DB_URL", "value": "x"},
        {"name": "VLLM_API_KEY", "value": "sk-1"},
    ],
    resources={"limits": {"memory": "64Gi"}},
)
NEW = replica_set(
    5,
    "2026-11-21T11:48:00Z",
    ["--model=m", "--max_num_seqs=256", "--api-key", "sk-new", "--max-model-len", "32768"],
    env=[
        {"name": "NCCL_DEBUG", "value": "INFO"},
        {"name": "DB_URL", "value": "y"},
        {"name": "VLLM_API_KEY", "value": "sk-2"},
    ],
    resources={"limits": {"memory": "32Gi"}},
)
DEPLOYMENT: dict[str, Any] = {
    "kind": "Deployment",
    "metadata": {"name": "vllm", "namespace": "inference"},
    "spec": {"replicas": 4},
    "status": {"replicas": 4, "readyReplicas": 3},
}


def pod(owner: str = "vllm-rs5") -> dict[str, Any]:
    return {
        "kind": "Pod",
        "metadata": {
            "name": "vllm-a",
            "namespace": "inference",
            "creationTimestamp": "2026-11-21T11:50:00Z",
            "ownerReferences": [{"kind": "ReplicaSet", "name": owner, "controller": True}],
        },
        "spec": {
            "nodeName": "n",
            "containers": [{"name": "vllm", "image": "vllm/vllm-openai:v0.31.0"}],
        },
    }


def documents(**more: Any) -> dict[str, Any]:
    return {
        "pods": [pod()],
        "replicasets": [NEW, OLD],
        "deployments": {"items": [DEPLOYMENT]},
        **more,
    }


def facts(**more: Any) -> dict[str, Signal]:
    made, problems = kubernetes.signals(documents(**more), "vllm-a", AT)
    assert problems == []
    return {signal.name: signal for signal in made}


def test_what_changed_is_told_flag_by_flag_and_no_secret_is() -> None:
    found = last_rollout(documents(), "vllm-a", AT)
    assert found is not None
    assert (found.age_s, found.revision, found.previous_revision) == (720, 5, 4)
    assert found.changes == (
        "--max-num-seqs 64 -> 256",
        "--api-key (hidden) -> (hidden)",
        "--max-model-len (absent) -> 32768",
        "--enable-prefix-caching on -> (absent)",
        "env NCCL_DEBUG WARN -> INFO",
        "env DB_URL changed",
        "env VLLM_API_KEY changed",
        "limits memory 64Gi -> 32Gi",
    )
    assert not any(secret in found.detail for secret in ("sk-", "x ->"))
    assert found.detail.startswith("revision 5 of vllm: ")


def test_the_rollout_is_a_signal() -> None:
    found = facts()["rollout_age_s"]
    assert found.last == 720
    assert "--max-num-seqs 64 -> 256" in found.detail
    assert facts()["rollout_age_s"].source.endswith(" of deployment/vllm")


def test_an_image_change() -> None:
    newer = copy.deepcopy(NEW)
    newer["spec"]["template"]["spec"]["containers"][0]["image"] = "vllm/vllm-openai:v0.32.0"
    found = last_rollout(documents(replicasets=[OLD, newer]), "vllm-a", AT)
    assert found is not None
    assert found.changes[0] == "image vllm/vllm-openai:v0.31.0 -> vllm/vllm-openai:v0.32.0"


def test_a_pod_of_the_older_revision_is_judged_by_its_own() -> None:
    found = last_rollout(documents(pods=[pod("vllm-rs4")]), "vllm-a", AT)
    assert found is not None
    assert (found.revision, found.changes, found.pending_revision) == (4, (), 5)
    assert "revision 5 is rolling out" in found.detail


def test_a_rollback_dates_from_its_pods_not_from_its_old_replica_set() -> None:
    revived = copy.deepcopy(OLD)
    revived["metadata"]["annotations"]["deployment.kubernetes.io/revision"] = "6"
    found = last_rollout(
        documents(pods=[pod("vllm-rs4")], replicasets=[NEW, revived]), "vllm-a", AT
    )
    assert found is not None
    assert (found.age_s, found.revision, found.previous_revision) == (600, 6, 5)
    assert "--max-num-seqs 256 -> 64" in found.changes


def test_a_restart_changes_nothing_and_a_first_revision_has_no_before() -> None:
    same = copy.deepcopy(NEW)
    same["metadata"]["annotations"]["deployment.kubernetes.io/revision"] = "6"
    same["metadata"]["name"] = "vllm-rs6"
    restart = last_rollout(documents(pods=[pod("vllm-rs6")], replicasets=[NEW, same]), "vllm-a", AT)
    assert restart is not None
    assert "no change" in restart.detail
    first = last_rollout(documents(replicasets=[NEW]), "vllm-a", AT)
    assert first is not None
    assert (first.previous_revision, first.changes) == (None, ())
    assert last_rollout({"pods": [pod()]}, "vllm-a", AT) is None


def test_a_shell_string_is_split() -> None:
    assert flags(
        [
            "sh",
            "-c",
            "vllm serve Qwen/Qwen3-8B --max-num-seqs 8 \\\n -tp 2 --no-enable-log-requests",
        ]
    ) == {
        "model": "Qwen/Qwen3-8B",
        "--max-num-seqs": "8",
        "--tensor-parallel-size": "2",
        "--no-enable-log-requests": "on",
    }


def test_flags_with_json_lists_and_negative_numbers() -> None:
    found = flags(
        [
            "--speculative-config",
            '{"method": "mtp", "n": 2}',
            "--seed",
            "-1",
            "--allowed-origins",
            "a",
            "b",
            "--x=1=2",
        ]
    )
    assert found == {
        "--speculative-config": '{"method": "mtp", "n": 2}',
        "--seed": "-1",
        "--allowed-origins": "a b",
        "--x": "1=2",
    }


def test_replicas_wanted_and_ready() -> None:
    found = facts()
    assert (
        found["replicas_wanted"].last,
        found["replicas_ready"].last,
        found["pods_unschedulable"].last,
    ) == (4, 3, 0)


def hpa(desired: int, most: int, **status: Any) -> dict[str, Any]:
    return {
        "metadata": {"name": "vllm"},
        "spec": {"scaleTargetRef": {"kind": "Deployment", "name": "vllm"}, "maxReplicas": most},
        "status": {"desiredReplicas": desired, "currentReplicas": 4, **status},
    }


LIMITED = {
    "type": "ScalingLimited",
    "status": "True",
    "reason": "TooManyReplicas",
    "message": "the desired replica count is more than the maximum replica count",
}


def test_an_autoscaler_at_its_maximum_that_wants_more() -> None:
    found = facts(hpas=[hpa(4, 4, conditions=[LIMITED])])
    assert (found["hpa_at_max"].last, found["hpa_lagging"].last) == (1, 1)  # 3 of 4 are Ready
    assert "more than the maximum" in found["hpa_at_max"].detail
    assert found["hpa_lagging"].detail == "wants 4, ready 3"


def test_an_autoscaler_at_its_maximum_that_is_content() -> None:
    assert (
        facts(
            hpas=[
                hpa(
                    4,
                    4,
                    conditions=[{**LIMITED, "status": "False", "reason": "DesiredWithinRange"}],
                )
            ]
        )["hpa_at_max"].last
        == 0
    )


def test_the_conditions_of_v1_stand_in_an_annotation() -> None:
    old = hpa(4, 4)
    old["metadata"]["annotations"] = {
        "autoscaling.alpha.kubernetes.io/conditions": json.dumps([LIMITED])
    }
    assert facts(hpas=[old])["hpa_at_max"].last == 1


def test_without_conditions_a_metric_over_its_target_tells() -> None:
    over = hpa(4, 4, currentMetrics=[{"type": "Pods", "pods": {"current": {"averageValue": "12"}}}])
    over["spec"]["metrics"] = [
        {"type": "Pods", "pods": {"target": {"type": "AverageValue", "averageValue": "5"}}}
    ]
    assert facts(hpas=[over])["hpa_at_max"].last == 1


def test_an_autoscaler_of_another_workload_is_not_ours() -> None:
    other = hpa(9, 9, conditions=[LIMITED])
    other["spec"]["scaleTargetRef"]["name"] = "other"
    assert "hpa_at_max" not in facts(hpas=[other])


@pytest.mark.parametrize(
    ("reason", "message", "taken"),
    [
        ("ScalingReplicaSet", "Scaled down replica set vllm-rs5 to 4 from 6", True),
        ("ScalingReplicaSet", "Scaled down replica set vllm-rs5 from 6 to 4", True),
        ("ScalingReplicaSet", "Scaled down replica set vllm-rs4 to 0 from 4", False),
        ("ScalingReplicaSet", "Scaled up replica set vllm-rs5 to 4 from 2", False),
        ("SuccessfulRescale", "New size: 4; reason: All metrics below target", True),
        ("SuccessfulRescale", "New size: 6; reason: cpu resource utilization above target", False),
    ],
)
def test_replicas_taken_away_are_told_from_a_rollout(
    reason: str, message: str, taken: bool
) -> None:
    event = {
        "reason": reason,
        "message": message,
        "involvedObject": {"kind": "Deployment", "name": "vllm"},
        "lastTimestamp": "2026-11-21T11:55:00Z",
    }
    found = facts(events=[event])
    assert ("scale_in_age_s" in found) == taken
    if taken:
        assert found["scale_in_age_s"].last == 300


def test_a_deployment_alone_tells_its_replicas() -> None:
    made, _ = kubernetes.signals(
        {"deployments": DEPLOYMENT, "hpas": hpa(6, 8)}, "http://host:8000", AT
    )
    assert {signal.name: signal.last for signal in made} == {
        "replicas_wanted": 4,
        "replicas_ready": 3,
        "hpa_at_max": 0,
        "hpa_lagging": 1,
    }
