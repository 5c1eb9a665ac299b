"""Names that no version has, and the one that is meant."""

from __future__ import annotations

import pytest

from barostat.io.manifests.read import document_of
from barostat.judge.manifest_check.check import check


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ("--log-requests", "--enable-log-requests"),
        ("--expert-parallel", "--enable-expert-parallel"),
        ("--enable-trust-remote-code", "--trust-remote-code"),
        ("--max-model-length", "--max-model-len"),
    ],
)
def test_a_name_with_one_word_too_few_or_too_many_is_told(wrong: str, right: str) -> None:
    (found,) = [
        one
        for one in check([document_of(f"vllm serve a/b {wrong}", "a.sh")]).findings
        if one.rule == "misspelled-flag"
    ]
    assert found.message == f"no vLLM has {wrong}: {right} is what is meant?"


@pytest.mark.parametrize(
    "right",
    [
        "--enable-log-requests",
        "--enable-lora",
        "--no-enable-prefix-caching",
        "--otlp-traces-endpoint=http://a",
    ],
)
def test_a_name_that_some_version_has_is_not(right: str) -> None:
    found = check([document_of(f"vllm serve a/b {right}", "a.sh")]).findings
    assert "misspelled-flag" not in {one.rule for one in found}
