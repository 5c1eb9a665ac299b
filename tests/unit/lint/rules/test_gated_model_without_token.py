"""Who fetches a gated model without a token, and who may have it from elsewhere."""

from __future__ import annotations

import pytest

from barostat.io.manifests.read import document_of
from barostat.judge.manifest_check.check import check


def _found(model: str, more: str = "", image: str = "vllm/vllm-openai:v0.32.0") -> list[str]:
    text = (
        f"{{kind: Pod, apiVersion: v1, metadata: {{name: a}}, spec: {{containers: [{{name: "
        f"a, image: '{image}',"
        f" args: [--model, {model}]{more}}}]}}}}"
    )
    return [
        one.message
        for one in check([document_of(text, "a.yaml")]).findings
        if one.rule == "gated-model-without-token"
    ]


@pytest.mark.parametrize(
    "model",
    [
        "meta-llama/Llama-3.1-8B-Instruct",
        "meta-llama/Meta-Llama-3-8B",
        "google/gemma-3-27b-it",
        "google/gemma-2b",
        "google/gemma-2-9b",
    ],
)
def test_gated_models(model: str) -> None:
    (said,) = _found(model)
    assert said.startswith(f"{model} is gated")


@pytest.mark.parametrize(
    "model",
    [
        "Qwen/Qwen3-8B",
        "/models/meta-llama/Llama-3.1-8B",
        "RedHatAI/Llama-3.1-8B",
        "unsloth/gemma-3-27b-it",
        "google/gemma-4-31b-it",
    ],
)
def test_models_that_everybody_may_have(model: str) -> None:
    assert _found(model) == []


@pytest.mark.parametrize(
    "more",
    [
        ", env: [{name: HF_TOKEN, valueFrom: {secretKeyRef: {name: a, key: b}}}]",
        ", env: [{name: HUGGING_FACE_HUB_TOKEN, valueFrom: {secretKeyRef: {name: a, key: b}}}]",
        ", env: [{name: HF_ENDPOINT, value: 'http://mirror'}]",
        ", envFrom: [{secretRef: {name: a}}]",
        ", volumeMounts: [{name: a, mountPath: /root/.cache/huggingface}]",
    ],
)
def test_who_may_have_it_from_elsewhere(more: str) -> None:
    assert _found("meta-llama/Llama-3.1-8B-Instruct", more) == []


def test_an_image_of_ones_own_may_hold_it() -> None:
    assert _found("meta-llama/Llama-3.1-8B-Instruct", image="example.com/vllm-llama:1") == []
