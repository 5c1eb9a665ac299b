"""Times and quantities; every document shape; and that no JSON makes a reader raise."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barostat.platform import kubernetes
from barostat.platform.objects import ago, instant, items, quantity
from barostat.platform.pods import pods
from barostat.platform.rollout import last_rollout

NOW = instant("2026-11-21T12:00:00Z") or 0.0


@pytest.mark.parametrize(
    ("written", "wanted"),
    [
        ("1970-01-01T00:00:10Z", 10.0),
        ("1970-01-01T00:00:10.250Z", 10.25),
        ("1970-01-01T01:00:10+01:00", 10.0),
        ("1969-12-31T19:00:10.5-0500", 10.5),
        ("1970-01-01T00:00:60Z", 60.0),
        ("1970-13-01T00:00:00Z", None),
        ("9999-99-99T00:00:00+99:99", None),
        ("yesterday", None),
        (None, None),
    ],
)
def test_instants(written: Any, wanted: float | None) -> None:
    assert instant(written) == wanted


@pytest.mark.parametrize(
    ("written", "wanted"),
    [
        ("8Gi", 8.0 * 2**30),
        ("500m", 0.5),
        ("2", 2.0),
        (3, 3.0),
        ("1e3", 1000.0),
        ("1.5G", 1.5e9),
        (True, None),
        ("8 GB", None),
        (None, None),
    ],
)
def test_quantities(written: Any, wanted: float | None) -> None:
    assert quantity(written) == wanted


def test_a_list_an_array_and_a_single_object_read_alike() -> None:
    single = {"kind": "Pod", "metadata": {"name": "a"}}
    assert (
        items({"kind": "List", "items": [single, 3]})
        == items([single])
        == items(single)
        == [single]
    )
    assert items({"kind": "Status"}) == items(None) == items("x") == []


def test_a_document_of_another_shape_is_a_problem() -> None:
    _, problems = kubernetes.signals(
        {"pods": "nothing", "nodes": {"items": [1]}, "events": {"kind": "Status"}}, "a", 0.0
    )
    assert [problem.split(":")[0] for problem in problems] == [
        "kubernetes pods",
        "kubernetes nodes",
        "kubernetes events",
    ]


def test_durations_for_a_person() -> None:
    assert [ago(42), ago(600), ago(9000), ago(400_000), ago(-5)] == [
        "42 s",
        "10 min",
        "2.5 h",
        "5 d",
        "0 s",
    ]


WORDS = st.sampled_from(
    [
        "a",
        "vllm serve x --y 'z",
        "True",
        "False",
        "Pod",
        "8Gi",
        "Xid=79",
        "Pending",
        "2026-11-21T11:00:00Z",
        "5",
        "OOMKilled",
        "Ready",
        "9" * 5000,
    ]
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | WORDS | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=3),
    max_leaves=6,
)
JUNK: list[Any] = [
    None,
    *(pytest.param(junk, marks=pytest.mark.sweep) for junk in (-1, "9" * 5000, [None])),
    {"name": {}},
]

OWNED = {
    "ownerReferences": [{"kind": "ReplicaSet", "name": "rs", "controller": True}],
    "creationTimestamp": "2026-11-21T10:00:00Z",
}
CONTAINER: dict[str, Any] = {
    "name": "vllm",
    "image": "vllm/vllm-openai:v0.32.0",
    "command": ["sh", "-c"],
    "args": ["vllm serve m --max-num-seqs 8"],
    "env": [{"name": "A", "value": "b"}],
    "resources": {"limits": {"memory": "8Gi", "nvidia.com/gpu": 1}},
    "ports": [{"containerPort": 8000}],
    "startupProbe": {"periodSeconds": 10, "failureThreshold": 3},
    "volumeMounts": [{"name": "shm", "mountPath": "/dev/shm"}],
}
SPEC: dict[str, Any] = {
    "nodeName": "n",
    "containers": [CONTAINER],
    "volumes": [{"name": "shm", "emptyDir": {"medium": "Memory", "sizeLimit": "1Gi"}}],
}
ENDED = {
    "terminated": {
        "reason": "Error",
        "exitCode": 137,
        "finishedAt": "2026-11-21T11:00:00Z",
        "message": "x",
    }
}
STATUS: dict[str, Any] = {
    "phase": "Running",
    "conditions": [
        {"type": "Ready", "status": "False", "lastTransitionTime": "2026-11-21T10:00:00Z"}
    ],
    "containerStatuses": [
        {
            "name": "vllm",
            "ready": False,
            "started": False,
            "restartCount": 2,
            "state": {"running": {"startedAt": "2026-11-21T11:00:00Z"}},
            "lastState": ENDED,
        }
    ],
    "initContainerStatuses": [
        {
            "name": "init",
            "restartCount": 1,
            "state": {"waiting": {"reason": "CrashLoopBackOff"}},
            "lastState": ENDED,
        }
    ],
}
REVISION = {"annotations": {"deployment.kubernetes.io/revision": "3"}}
WHOLE: dict[str, Any] = {
    "pods": {
        "kind": "List",
        "items": [
            {"metadata": {"name": "a", "namespace": "i", **OWNED}, "spec": SPEC, "status": STATUS}
        ],
    },
    "events": {
        "items": [
            {
                "reason": "Unhealthy",
                "message": "Liveness probe failed: x",
                "involvedObject": {"kind": "Pod", "name": "a"},
                "count": 3,
                "lastTimestamp": None,
            },
            {
                "reason": "Xid",
                "note": "Xid=79",
                "regarding": {"kind": "Node", "name": "n"},
                "series": {"count": 2, "lastObservedTime": "2026-11-21T11:59:00Z"},
            },
            {
                "reason": "ScalingReplicaSet",
                "message": "Scaled down replica set rs to 1 from 2",
                "eventTime": "2026-11-21T11:59:00Z",
            },
        ]
    },
    "nodes": [
        {
            "metadata": {"name": "n"},
            "spec": {"unschedulable": True, "taints": [{"key": "node.kubernetes.io/unreachable"}]},
            "status": {
                "conditions": [
                    {"type": "Ready", "status": "False", "reason": "x"},
                    {"type": "XidCriticalError", "status": "True", "reason": '{"79":true}'},
                ],
                "capacity": {"nvidia.com/gpu": "8"},
                "allocatable": {"nvidia.com/gpu": "7"},
            },
        }
    ],
    "replicasets": [
        {
            "metadata": {
                "name": "rs",
                "ownerReferences": [{"kind": "Deployment", "name": "d"}],
                **REVISION,
                "creationTimestamp": "2026-11-21T10:00:00Z",
            },
            "spec": {"template": {"spec": SPEC}},
        },
        {
            "metadata": {
                "name": "rs0",
                "ownerReferences": [{"kind": "Deployment", "name": "d"}],
                "creationTimestamp": "2026-11-20T10:00:00Z",
            },
            "spec": {"template": {}},
        },
    ],
    "deployments": {
        "kind": "Deployment",
        "metadata": {"name": "d"},
        "spec": {"replicas": 2},
        "status": {"readyReplicas": 1, "conditions": []},
    },
    "hpas": {
        "items": [
            {
                "metadata": {"name": "h"},
                "spec": {
                    "maxReplicas": 2,
                    "scaleTargetRef": {"name": "d"},
                    "metrics": [{"pods": {"target": {"averageValue": "5"}}}],
                },
                "status": {
                    "desiredReplicas": 2,
                    "currentReplicas": 1,
                    "currentMetrics": [{"pods": {"current": {"averageValue": "9"}}}],
                },
            }
        ]
    },
}
WRITTEN = json.dumps(WHOLE)


def places(node: Any, path: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    """The path of every node below the root."""
    inner = (
        node.items()
        if isinstance(node, dict)
        else enumerate(node)
        if isinstance(node, list)
        else ()
    )
    return [found for key, child in inner for found in [(*path, key), *places(child, (*path, key))]]


def spoiled(damage: list[tuple[tuple[str | int, ...], Any]]) -> dict[str, Any]:
    """WHOLE with other values at some paths; a path that an earlier damage has removed is passed
    over.
    """
    made: dict[str, Any] = json.loads(WRITTEN)
    for path, junk in damage:
        node: Any = made
        for part in path[:-1]:
            node = (
                node.get(part)
                if isinstance(node, dict)
                else node[part]
                if isinstance(node, list) and isinstance(part, int) and part < len(node)
                else None
            )
        if isinstance(node, dict) or (
            isinstance(node, list) and isinstance(path[-1], int) and path[-1] < len(node)
        ):
            node[path[-1]] = junk  # type: ignore[index]
    return made


def test_the_whole_documents_tell_every_fact() -> None:
    made, problems = kubernetes.signals(WHOLE, "a", NOW)
    assert problems == []
    names = {signal.name for signal in made}
    assert {
        "pod_last_exit_code",
        "pod_probe_failures",
        "kernel_xid_fatal",
        "node_gpu_unhealthy",
        "hpa_at_max",
        "rollout_age_s",
        "scale_in_age_s",
    } <= names


def read_all(documents: dict[str, Any]) -> None:
    """Every reader reads the documents; what it makes of them is whole."""
    made, problems = kubernetes.signals(documents, "a", NOW)
    assert all(signal.points for signal in made)
    assert all(isinstance(problem, str) for problem in problems)
    assert len({signal.name for signal in made}) == len(made)
    assert all(isinstance(pod.args, tuple) for pod in pods(documents))
    rollout = last_rollout(documents, "a", NOW)
    assert rollout is None or rollout.detail


@pytest.mark.parametrize("junk", JUNK, ids=lambda junk: repr(junk)[:12])
def test_no_damage_in_one_place_makes_a_reader_raise(junk: Any) -> None:
    for path in places(WHOLE):
        read_all(spoiled([(path, junk)]))


@given(st.lists(st.tuples(st.sampled_from(places(WHOLE)), JSON), min_size=2, max_size=3))
def test_no_damage_in_several_places_makes_a_reader_raise(
    damage: list[tuple[tuple[str | int, ...], Any]],
) -> None:
    read_all(spoiled(damage))


@given(JSON, JSON, JSON)
def test_no_status_of_a_pod_makes_a_reader_raise(state: Any, last: Any, spec: Any) -> None:
    status = {
        "phase": "Running",
        "conditions": state,
        "containerStatuses": [
            {"name": "vllm", "ready": False, "restartCount": 3, "state": state, "lastState": last}
        ],
    }
    container = {"name": "vllm", **(spec if isinstance(spec, dict) else {})}
    pod = {
        "metadata": {"name": "a"},
        "spec": {"nodeName": "n", "containers": [container]},
        "status": status,
    }
    made, _ = kubernetes.signals(
        {"pods": [pod], "nodes": [{"metadata": {"name": "n"}, "status": last}], "events": []},
        "a",
        0.0,
    )
    assert {"pod_not_ready", "pod_restarts"} <= {signal.name for signal in made}
