"""Quantizations that are not the checkpoint's, and those of which nothing is certain."""

from __future__ import annotations

import pytest

from barostat.io.manifests.read import document_of
from barostat.judge.manifest_check.check import check


def _found(model: str, quantization: str) -> bool:
    text = f"vllm serve {model} --quantization {quantization}\n"
    found = check([document_of(text, "start.sh")]).findings
    return "quantization-differs" in {one.rule for one in found}


@pytest.mark.parametrize(
    ("model", "quantization"),
    [
        ("Qwen/Qwen2.5-7B-Instruct-AWQ", "gptq_marlin"),
        ("TheBloke/x-13B-GPTQ", "awq"),
        ("Qwen/Qwen3-8B", "awq"),
    ],
)
def test_another_form_is_found(model: str, quantization: str) -> None:
    assert _found(model, quantization)


@pytest.mark.parametrize(
    ("model", "quantization"),
    [
        ("Qwen/Qwen2.5-7B-Instruct-AWQ", "awq_marlin"),
        ("Qwen/Qwen3-8B", "fp8"),
        ("me/my-finetune", "awq"),
        ("/models/qwen3-8b", "awq"),
        ("cyankiwi/KAT-Coder-AWQ-INT4", "compressed-tensors"),
    ],
)
def test_what_is_not_certain_is_not(model: str, quantization: str) -> None:
    assert not _found(model, quantization)
