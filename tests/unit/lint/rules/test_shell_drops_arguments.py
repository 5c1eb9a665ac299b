"""What `sh -c` runs, and what it only passes on."""

from __future__ import annotations

import pytest

from barostat.io.manifests.read import document_of
from barostat.judge.manifest_check.check import check


def _lost(command: str) -> bool:
    pod = (
        "{kind: Pod, apiVersion: v1, metadata: {name: a}, spec: {containers: [{name: a, image: "
        f"'vllm/vllm-openai:v0.32.0', {command}}}]}}}}\n"
    )
    found = check([document_of(pod, "a.yaml")]).findings
    return "shell-drops-arguments" in {one.rule for one in found}


@pytest.mark.parametrize(
    "command",
    [
        "command: [sh, -c], args: [vllm, serve, Qwen/Qwen3-8B]",
        "command: [/bin/bash, -lc, vllm serve Qwen/Qwen3-8B], args: [--max-model-len, '4096']",
    ],
)
def test_words_behind_the_script_are_lost(command: str) -> None:
    assert _lost(command)


@pytest.mark.parametrize(
    "command",
    [
        "command: [sh, -c], args: [vllm serve Qwen/Qwen3-8B]",
        "command: [sh, -c, 'vllm serve \"$@\"', '--'], args: [Qwen/Qwen3-8B]",
        "command: [vllm, serve], args: [Qwen/Qwen3-8B, -c, x]",
    ],
)
def test_a_whole_script_or_one_that_takes_parameters_is_not(command: str) -> None:
    assert not _lost(command)
