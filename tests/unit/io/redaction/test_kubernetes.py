"""Kubernetes objects without what is nobody's business."""

from __future__ import annotations

import json

from barostat.io.redaction.kubernetes import document
from barostat.platform.pods import pods

SECRET = "q7Zk9XwV3bN8tR2m"
POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {
        "name": "vllm-0",
        "managedFields": [{"manager": SECRET}],
        "annotations": {
            "kubectl.kubernetes.io/last-applied-configuration": json.dumps({"env": SECRET}),
            "vault.example/inject": SECRET,
            "deployment.kubernetes.io/revision": "7",
            "kubernetes.io/change-cause": f"set API_KEY={SECRET}",
        },
    },
    "spec": {
        "nodeName": "n1",
        "imagePullSecrets": [{"name": "registry"}],
        "volumes": [
            {"name": "s", "secret": {"secretName": "hf"}},
            {"name": "shm", "emptyDir": {"medium": "Memory", "sizeLimit": "2Gi"}},
        ],
        "containers": [
            {
                "name": "vllm",
                "image": "vllm/vllm-openai:v0.32.0",
                "command": [
                    "sh",
                    "-c",
                    f"HF_TOKEN={SECRET} vllm serve m --api-key {SECRET} --max-num-seqs 64",
                ],
                "args": ["--api-key", SECRET],
                "env": [
                    {"name": "VLLM_USE_V1", "value": "1"},
                    {"name": "MY_OWN", "value": SECRET},
                    {"name": "VLLM_API_KEY", "value": SECRET},
                    {
                        "name": "HF_TOKEN",
                        "valueFrom": {"secretKeyRef": {"name": "hf", "key": "token"}},
                    },
                ],
                "livenessProbe": {
                    "httpGet": {
                        "path": "/health",
                        "httpHeaders": [{"name": "X-Any", "value": SECRET}],
                    },
                    "periodSeconds": 10,
                },
                "resources": {"limits": {"nvidia.com/gpu": "1", "memory": "64Gi"}},
            }
        ],
    },
    "status": {
        "containerStatuses": [
            {
                "restartCount": 3,
                "lastState": {"terminated": {"exitCode": 137, "reason": "OOMKilled"}},
            }
        ]
    },
}
EVENT = {
    "reason": "Failed",
    "message": f"pull https://u:{SECRET}@registry/x failed: token={SECRET}",
    "count": 3,
    "type": "Warning",
}


def test_no_secret_comes_through_and_the_facts_stay() -> None:
    cleaned = document(
        {
            "kind": "List",
            "items": [
                POD,
                EVENT,
                {"kind": "Secret", "data": {"a": SECRET}, "stringData": {"b": SECRET}},
            ],
        }
    )
    assert SECRET not in json.dumps(cleaned)
    pod = cleaned["items"][0]
    assert pod["metadata"]["annotations"]["deployment.kubernetes.io/revision"] == "7"
    assert set(pod["metadata"]["annotations"]) == {
        "deployment.kubernetes.io/revision",
        "kubernetes.io/change-cause",
    }
    container = pod["spec"]["containers"][0]
    assert container["command"] == [
        "sh",
        "-c",
        "HF_TOKEN=[redacted] vllm serve m --api-key [redacted] --max-num-seqs 64",
    ]
    assert container["env"] == [
        {"name": "VLLM_USE_V1", "value": "1"},
        {"name": "MY_OWN", "value": "[redacted]"},
        {"name": "VLLM_API_KEY", "value": "[redacted]"},
        {"name": "HF_TOKEN", "valueFrom": {"secretKeyRef": {"name": "hf", "key": "token"}}},
    ]
    assert container["livenessProbe"]["periodSeconds"] == 10
    assert pod["spec"]["volumes"] == POD["spec"]["volumes"]  # type: ignore[index]
    assert pod["spec"]["imagePullSecrets"] == [{"name": "registry"}]
    assert pod["status"] == POD["status"]
    assert cleaned["items"][1]["count"] == 3


def test_a_cleaned_pod_still_tells_its_command_line() -> None:
    (pod,) = pods({"pods": {"items": [document(POD)]}})
    assert "--max-num-seqs 64" in " ".join(pod.args)
    assert (pod.name, pod.node) == ("vllm-0", "n1")


def test_what_is_malformed_does_not_stop_the_cleaning() -> None:
    odd = {
        "items": [
            None,
            3,
            {"env": "x", "annotations": [], "args": [1, {"a": None}], "env2": None},
            {"env": [3, {"value": SECRET}]},
        ]
    }
    assert document(odd) == {
        "items": [
            None,
            3,
            {"env": "x", "annotations": [], "args": [1, {"a": None}], "env2": None},
            {"env": [3, {"value": "[redacted]"}]},
        ]
    }


def test_a_key_in_a_list_or_of_digits_is_hidden_and_amounts_are_not() -> None:
    config = {
        "api-key": ["hunter2secret", "second-one"],
        "api_key": 12345678,
        "max-num-batched-tokens": 8192,
        "kvTokenBudget": 7,
        "token": True,
    }
    assert document(config) == {
        "api-key": ["[redacted]", "[redacted]"], "api_key": "[redacted]", "max-num-batched-tokens": 8192, "kvTokenBudget": 7, "token": True,
    }  # fmt: skip
