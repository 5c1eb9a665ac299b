"""What the words of a proposal, and of `--set`, ask for."""

from __future__ import annotations

import pytest

from barostat.core.errors import InputError
from barostat.judge.experiments.lever_words import Asked, asked_in, set_words


@pytest.mark.parametrize(
    ("words", "asked"),
    [
        ("--watermark 0.05", "watermark=0.05"),
        ("watermark=0.05,max_num_seqs=12", "watermark=0.05,max-num-seqs=12"),
        ("--enable-prefix-caching", "enable-prefix-caching=true"),
        ("--no-enable-prefix-caching", "enable-prefix-caching=false"),
        ("remove --num-gpu-blocks-override (now 64)", "num-gpu-blocks-override=off"),
        ("request: {maxInputTokens: 2048}", "edge-input-cap=2048"),
        ("request: {maxOutputTokens: 512}", "edge-output-cap=512"),
        ("edge: {kvTokenBudget: 9216}", "edge-kv-budget=9216"),
        ("replicas: 3", "replicas=3"),
        ("maxReplicas: 3", "replicas=3"),
        ("kubectl scale deployment/vllm -n chat --replicas=<one more than now>", "replicas=+1"),
        ("one more engine like the one at replica-0", "replicas=+1"),
        (
            "--gpu-memory-utilization 0.95 --max-model-len 4096",
            "gpu-memory-utilization=0.95,max-model-len=4096",
        ),
        ("max-num-queued-reqs=off", "max-num-queued-reqs=off"),
        ("tp=2", "tensor-parallel-size=2"),
    ],
)
def test_words_become_settings_and_settings_words(words: str, asked: str) -> None:
    assert set_words(asked_in(words)) == asked
    assert asked_in(asked) == asked_in(words)


def test_left_out_is_no_value() -> None:
    assert asked_in("max-num-active-seqs=off") == (Asked("max-num-active-seqs", None),)


@pytest.mark.parametrize(
    "words",
    [
        "",
        "watermark",
        "=3",
        'resources: {limits: {cpu: "4"}}',
        "kubectl rollout undo deployment/vllm",
        "wait",
    ],
)
def test_what_names_no_setting_is_told(words: str) -> None:
    with pytest.raises(InputError, match="--set"):
        asked_in(words)
