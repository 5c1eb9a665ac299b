"""A workload's place in a cluster as labels of Prometheus."""

from __future__ import annotations

import re
from typing import Any

import pytest

from barostat.shells.cli.prevent.rules_inputs import labels_of


def pods(*namespaces: str) -> dict[str, Any]:
    return {
        "pods": {
            "items": [
                {"metadata": {"name": f"p{index}", "namespace": name}}
                for index, name in enumerate(namespaces)
            ]
        }
    }


@pytest.mark.parametrize(
    ("target", "pod", "other"),
    [
        ("deploy/vllm", "vllm-6f9c7d5b8-x2x4z", "vllm-large-6f9c7d5b8-x2x4z"),
        ("deploy/vllm", "vllm-6f9c7d5b8-x2x4z", "vllm-router-0"),
        ("rs/vllm-6f9c7d5b8", "vllm-6f9c7d5b8-x2x4z", "vllm-6f9c7d5b8-0"),
        ("lws/vllm", "vllm-0-1", "vllm-router-0"),
        ("leaderworkerset/vllm", "vllm-0", "vllm-a"),
        ("deployment/v.1", "v.1-6f9c7d5b8-x2x4z", "vx1-6f9c7d5b8-x2x4z"),
        ("sts/vllm", "vllm-0", "vllm-router-0"),
        ("statefulset/vllm", "vllm-12", "vllm-a"),
        ("rs/vllm-6f9c7d5b8", "vllm-6f9c7d5b8-x2x4z", "vllm-6f9c7d5b8"),
    ],
)
def test_a_workload_is_its_pods(target: str, pod: str, other: str) -> None:
    found = labels_of(target, pods("inference", "inference"))
    assert found["namespace"] == "inference"
    assert found["pod"][0] == "~"
    assert re.fullmatch(found["pod"][1:], pod)
    assert not re.fullmatch(found["pod"][1:], other)


def test_a_pod_is_itself() -> None:
    assert labels_of("pod/vllm-0", pods("inference")) == {"namespace": "inference", "pod": "vllm-0"}


@pytest.mark.parametrize(
    ("target", "documents"), [("bundle", pods("a")), ("deploy/x", pods("a", "b")), ("deploy/x", {})]
)
def test_where_it_cannot_be_told_there_is_none(target: str, documents: dict[str, Any]) -> None:
    assert labels_of(target, documents) == {}
