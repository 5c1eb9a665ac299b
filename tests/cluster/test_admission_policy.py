"""The ValidatingAdmissionPolicy made from a limits file, on the real API server: it refuses what it
should and lets pass what it should.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import yaml
from dev.cluster.client import Cluster

from barostat.core.limits import EngineLimits, LimitsSpec, ServingLimits, TargetRef
from barostat.io.manifests.admission_policy import policy_text

ENGINE = EngineLimits(max_num_seqs=64, max_model_len=16384, gpu_memory_utilization=0.92)
# Only this name: other tests make Deployments in the same cluster.
LIMITS = ServingLimits(
    LimitsSpec(TargetRef("apps/v1", "Deployment", "tried-by-policy"), engine=ENGINE), name="chat"
)
WITHIN = [
    "--model=x",
    "--max-num-seqs=64",
    "--max-model-len",
    "8192",
    "--gpu-memory-utilization=0.9",
]
IMAGE = "vllm/vllm-openai:v0.32.0"
CASES: list[tuple[str, dict[str, Any], bool]] = [
    ("within", {"image": IMAGE, "args": WITHIN}, True),
    (
        "in a shell",
        {"image": "x/y:1", "command": ["sh", "-c", f"exec vllm serve {' '.join(WITHIN[1:])}"]},
        True,
    ),
    ("another program", {"image": "nginx:1.27", "args": ["-g", "daemon off;"]}, True),
    ("a router", {"image": "x/vllm-router:1", "args": ["--port", "8000"]}, True),
    ("too many", {"image": IMAGE, "args": [*WITHIN, "--max-num-seqs=65"]}, False),
    ("missing", {"image": IMAGE, "args": WITHIN[:2]}, False),
    ("a unit", {"image": IMAGE, "args": [*WITHIN, "--max-model-len=8k"]}, False),
    (
        "a share above",
        {"image": IMAGE, "args": [*WITHIN[:-1], "--gpu-memory-utilization=0.93"]},
        False,
    ),
    (
        "too long in a shell",
        {
            "image": "x/y:1",
            "command": ["sh", "-c", "vllm serve m --max-model-len 99999 --max-num-seqs 1"],
        },
        False,
    ),
]


def _deployment(container: dict[str, Any], name: str = "tried-by-policy") -> str:
    labels = {"app": "a"}
    spec = {
        "selector": {"matchLabels": labels},
        "template": {
            "metadata": {"labels": labels},
            "spec": {"containers": [{"name": "c", **container}]},
        },
    }
    return json.dumps(
        {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name}, "spec": spec}
    )


def test_every_limit_of_the_engine_is_one_validation() -> None:
    policy, binding = yaml.safe_load_all(policy_text(LIMITS, "limits.yaml"))
    assert len(policy["spec"]["validations"]) == 3
    assert binding["spec"]["policyName"] == policy["metadata"]["name"] == "barostat-chat"
    said = [one["message"] for one in policy["spec"]["validations"]]
    assert any("--max-num-seqs of at most 64 " in message for message in said)


@pytest.mark.parametrize(("name", "container", "passes"), CASES, ids=[case[0] for case in CASES])
def test_the_api_server_decides_as_the_limits_say(
    policy: Callable[[str], str], name: str, container: dict[str, Any], passes: bool
) -> None:
    said = policy(_deployment(container))
    assert ("denied request" not in said) == passes, f"{name}: {said}"


def _object(kind: str, api: str, spec: dict[str, Any], **metadata: Any) -> str:
    return json.dumps(
        {
            "apiVersion": api,
            "kind": kind,
            "metadata": {"name": "tried-by-policy", **metadata},
            "spec": spec,
        }
    )


ENOUGH: dict[str, Any] = {
    "containers": [{"name": "c", "image": IMAGE, "args": WITHIN}],
    "restartPolicy": "Never",
}
BEYOND: dict[str, Any] = {
    "containers": [{"name": "c", "image": IMAGE, "args": [*WITHIN, "--max-num-seqs=65"]}],
    "restartPolicy": "Never",
}
BESIDE: dict[str, Any] = {
    "containers": [{"name": "n", "image": "nginx:1.27"}],
    "initContainers": [{**BEYOND["containers"][0], "restartPolicy": "Always"}],
}
OWNED = [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "a", "uid": "a"}]
DAILY = {"schedule": "0 3 * * *"}
KINDS: list[tuple[str, str, bool]] = [
    ("a pod", _object("Pod", "v1", ENOUGH), True),
    ("a pod beyond", _object("Pod", "v1", BEYOND), False),
    ("a pod that is made anew", _object("Pod", "v1", BEYOND, ownerReferences=OWNED), True),
    ("a sidecar beyond", _object("Pod", "v1", BESIDE), False),
    ("a job", _object("Job", "batch/v1", {"template": {"spec": ENOUGH}}), True),
    ("a job beyond", _object("Job", "batch/v1", {"template": {"spec": BEYOND}}), False),
    (
        "a cron job beyond",
        _object(
            "CronJob",
            "batch/v1",
            {**DAILY, "jobTemplate": {"spec": {"template": {"spec": BEYOND}}}},
        ),
        False,
    ),
]


@pytest.mark.parametrize(("name", "document", "passes"), KINDS, ids=[kind[0] for kind in KINDS])
def test_other_kinds_are_asked_as_well(
    policy: Callable[[str], str], name: str, document: str, passes: bool
) -> None:
    said = policy(document)
    assert ("denied request" not in said) == passes, f"{name}: {said}"


def test_a_workload_of_another_name_is_not_asked(policy: Callable[[str], str]) -> None:
    assert "denied request" not in policy(
        _deployment({"image": IMAGE, "args": ["--model=x"]}, "another")
    )


@pytest.fixture(scope="module")
def policy(cluster: Cluster) -> Iterator[Callable[[str], str]]:
    """Asks the API server, in a dry run, once the policy is in force; it goes afterwards."""
    text = policy_text(LIMITS, "limits.yaml")
    cluster.admin("apply", "-f", "-", stdin=text)

    def ask(document: str) -> str:
        done = cluster.admin.run(
            "create", "--dry-run=server", "-n", "default", "-f", "-", stdin=document
        )
        assert done.returncode == 0 or "denied request" in done.stderr, done.stderr
        return done.stdout + done.stderr

    until = time.monotonic() + 60
    while (
        "denied request" not in ask(_deployment({"image": IMAGE, "args": ["--model=x"]}))
        and time.monotonic() < until
    ):
        time.sleep(1)  # the API server takes a new policy up within seconds
    yield ask
    cluster.admin("delete", "-f", "-", "--ignore-not-found", stdin=text)
