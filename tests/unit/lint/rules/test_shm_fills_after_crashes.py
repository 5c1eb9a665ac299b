"""Which engines' workers fill a small /dev/shm with what crashes leave there."""

from __future__ import annotations

import pytest

from barostat.io.manifests.read import document_of
from barostat.judge.manifest_check.check import check

POD = """
kind: Pod
apiVersion: v1
metadata: {name: a}
spec:
  volumes: [{name: shm, emptyDir: {medium: Memory, sizeLimit: SIZE}}]
  containers:
  - name: a
    image: vllm/vllm-openai:v0.32.0
    args: [--model, MODEL, ARGS]
    resources: {limits: {nvidia.com/gpu: 8}}
    volumeMounts: [{name: shm, mountPath: /dev/shm}]
"""
MOE, DENSE = "deepseek-ai/DeepSeek-R1", "Qwen/Qwen3-8B"
DATA, EXPERT = "--data-parallel-size, '8'", "--enable-expert-parallel"


def found(model: str, args: str, size: str) -> list[tuple[str, str]]:
    text = POD.replace("SIZE", size).replace("MODEL", model).replace("ARGS", args)
    return [
        (one.rule, one.message)
        for one in check([document_of(text, "a.yaml")]).findings
        if one.rule.startswith("shm-")
    ]


@pytest.mark.parametrize(
    ("model", "args", "size", "rules"),
    [
        (MOE, f"{DATA}, {EXPERT}", "2Gi", ["shm-fills-after-crashes"]),
        (MOE, DATA, "2Gi", ["shm-fills-after-crashes"]),
        (MOE, f"{EXPERT}, --tensor-parallel-size, '8'", "1Gi", ["shm-fills-after-crashes"]),
        (MOE, f"{DATA}, {EXPERT}", "16Gi", []),
        (MOE, f"{DATA}, {EXPERT}", "64Mi", ["shm-too-small"]),
        (MOE, "--tensor-parallel-size, '8'", "2Gi", []),
        (DENSE, DATA, "2Gi", []),
        (DENSE, DATA, "64Mi", []),
        ("org/unknown", DATA, "2Gi", []),
    ],
)
def test_experts_that_are_spread_over_ranks_need_room_for_what_crashes_leave(
    model: str, args: str, size: str, rules: list[str]
) -> None:
    assert [rule for rule, _ in found(model, args, size)] == rules


def test_the_finding_names_workers_and_kind_of_parallelism() -> None:
    ((_, message),) = found(MOE, f"{DATA}, {EXPERT}", "2Gi")
    assert message.startswith("/dev/shm has 2 GiB for 8 workers of data and expert parallelism:")
