"""Advice that passes the rules itself."""

from __future__ import annotations

import pytest

from barostat.io.manifests.read import document_of
from barostat.judge.manifest_check.check import check
from barostat.lint.rule import Finding


def _findings(text: str, persona: str = "ordinary") -> list[Finding]:
    strict = persona == "pedant"
    document = document_of(text, "a.yaml")
    return list(check([document], persona="pedant" if strict else "ordinary").findings)


def _pod(container: str, spec: str = "") -> str:
    return (
        f"{{kind: Pod, apiVersion: v1, metadata: {{name: a}}, spec: {{{spec} containers: "
        f"[{{name: a, image: 'vllm/vllm-openai:v0.32.0', {container}}}]}}}}\n"
    )


@pytest.mark.parametrize(
    ("model", "sizes", "cards", "fix"),
    [
        ("Qwen/Qwen3-8B", "", 3, "--data-parallel-size 3, or 1 card"),
        ("Qwen/Qwen3-8B", "", 4, "--tensor-parallel-size 4, or 1 card"),
        ("Qwen/Qwen2.5-7B-Instruct", "", 8, "--data-parallel-size 8, or 1 card"),  # 28 heads
        ("Qwen/Qwen3-8B", ", '--tensor-parallel-size=2'", 3, "2 cards"),
    ],
)
def test_idle_cards_are_given_sizes_that_divide_the_heads(
    model: str, sizes: str, cards: int, fix: str
) -> None:
    text = _pod(
        f"args: ['--model', '{model}'{sizes}], resources: {{limits: {{nvidia.com/gpu: {cards}}}}}"
    )
    (found,) = [one for one in _findings(text, "pedant") if one.rule == "idle-cards"]
    assert found.fix == fix


def test_a_pod_for_a_tpu_is_not_told_to_ask_for_a_gpu() -> None:
    label = "nodeSelector: {cloud.google.com/gke-tpu-accelerator: tpu-v5-lite-podslice},"
    text = _pod("args: ['--model', 'Qwen/Qwen3-8B', '--tensor-parallel-size=4']", label)
    assert {one.rule for one in _findings(text)} & {"no-card", "shm-too-small"} == set()
    assert "no-card" in {one.rule for one in _findings(_pod("args: ['--model', 'Qwen/Qwen3-8B']"))}


def test_rdma_may_need_a_privileged_container() -> None:
    common = "args: ['--model', 'Qwen/Qwen3-8B'], securityContext: {privileged: true}"
    rdma = _pod(f"{common}, env: [{{name: NCCL_IB_HCA, value: mlx5}}]")
    assert "privileged" not in {one.rule for one in _findings(rdma)}
    (note,) = [one for one in _findings(rdma, "pedant") if one.rule == "privileged"]
    assert note.severity == "note"
    assert "privileged" in {one.rule for one in _findings(_pod(common))}


def test_cards_that_compose_names_are_no_shares_of_a_card() -> None:
    text = (
        "services: {a: {image: 'vllm/vllm-openai:v0.32.0', command: --model Qwen/Qwen3-8B -tp 2,\n"
        "  deploy: {resources: {reservations: {devices: [{driver: nvidia,\n"
        "    device_ids: ['0', '1', '2'], capabilities: [gpu]}]}}}}}\n"
    )
    (found,) = [one for one in _findings(text) if one.rule == "idle-cards"]
    assert found.message == "the container has 3 cards, the engine takes 2: 1 idle"
    assert found.severity == "warning"
