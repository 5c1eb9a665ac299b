"""The fix names a tag that the image can have: only vLLM's own are tagged with its version."""

from __future__ import annotations

import pytest

from barostat.io.manifests.read import document_of
from barostat.judge.manifest_check.check import check


@pytest.mark.parametrize(
    ("image", "fix"),
    [
        ("vllm/vllm-openai:latest", "a version, such as v0.32.0"),
        ("docker.io/vllm/vllm-openai", "a version, such as v0.32.0"),
        ("lmcache/vllm-openai:latest", "a tag that stays, or a digest"),
        ("registry.example/vllm/vllm-openai:latest", "a tag that stays, or a digest"),
    ],
)
def test_the_fix_is_a_tag_that_the_image_has(image: str, fix: str) -> None:
    found = check(
        [document_of(f"docker run --gpus all {image} --model Qwen/Qwen3-8B\n", "run.sh")]
    ).findings
    assert [one.fix for one in found if one.rule == "floating-tag"] == [fix]


@pytest.mark.parametrize(
    ("image", "confidence"),
    [("vllm/vllm-openai:latest", "medium"), ("lmcache/vllm-openai:latest", "low")],
)
def test_which_vllm_a_tag_that_moves_brings_is_known_of_the_projects_own_images(
    image: str, confidence: str
) -> None:
    found = check(
        [
            document_of(
                f"docker run --gpus all {image} --model Qwen/Qwen3-8B --swap-space 4\n", "run.sh"
            )
        ]
    ).findings
    (unknown,) = (one for one in found if one.rule == "unknown-flag")
    assert unknown.confidence == confidence
    assert ("the newest vLLM" in unknown.message) is (confidence == "medium")
