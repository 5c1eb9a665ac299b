"""What `what-if --set` asks for."""

from __future__ import annotations

import pytest

from barostat.core.errors import InputError
from barostat.core.proposed_change import Scale, SetEdgeLimit, SetFlag, UnsetFlag
from barostat.judge.advice.change_text import as_set_option
from barostat.judge.experiments.candidates import ScaleLoad, TrialChange
from barostat.shells.cli.simulate.set_option import changes_in


@pytest.mark.parametrize(
    ("words", "changes"),
    [
        ("--watermark 0.05", (SetFlag("watermark", 0.05),)),
        (
            "watermark=0.05,max_num_seqs=12",
            (SetFlag("watermark", 0.05), SetFlag("max_num_seqs", 12)),
        ),
        ("--enable-prefix-caching", (SetFlag("enable_prefix_caching", True),)),
        ("enable-prefix-caching=on", (SetFlag("enable_prefix_caching", True),)),
        ("--no-enable-prefix-caching", (SetFlag("enable_prefix_caching", False),)),
        (
            "remove --num-gpu-blocks-override (now 64)",
            (UnsetFlag("num_gpu_blocks_override"),),
        ),
        ("request: {maxInputTokens: 2048}", (SetEdgeLimit("request.maxInputTokens", 2048),)),
        ("request: {maxOutputTokens: 512}", (SetEdgeLimit("request.maxOutputTokens", 512),)),
        ("edge: {kvTokenBudget: 9216}", (SetEdgeLimit("edge.kvTokenBudget", 9216),)),
        ("edge-admission-budget=9216", (SetEdgeLimit("edge.kvTokenBudget", 9216),)),
        ("edge-input-cap=off", ()),
        ("replicas: 3", (Scale(3),)),
        ("maxReplicas: 3", (Scale(3),)),
        ("replicas=+2", (Scale(None, more=2),)),
        ("load=1.5", (ScaleLoad(1.5),)),
        ("load=2,input=3x", (ScaleLoad(2.0), ScaleLoad(input_times=3.0))),
        ("output=1.5x", (ScaleLoad(output_times=1.5),)),
        (
            "--gpu-memory-utilization 0.95 --max-model-len 4096",
            (SetFlag("gpu_memory_utilization", 0.95), SetFlag("max_model_len", 4096)),
        ),
        ("max-num-queued-reqs=off", (UnsetFlag("max_num_queued_reqs"),)),
        ("tp=2", (SetFlag("tensor_parallel_size", 2),)),
        ("kv-cache-dtype=fp8", (SetFlag("kv_cache_dtype", "fp8"),)),
    ],
)
def test_each_form_is_read_as_a_change(words: str, changes: tuple[TrialChange, ...]) -> None:
    assert changes_in(words) == changes


@pytest.mark.parametrize(
    "change",
    [
        SetFlag("watermark", 0.05),
        SetFlag("enable_prefix_caching", False),
        UnsetFlag("num_gpu_blocks_override"),
        SetEdgeLimit("edge.kvTokenBudget", 9216),
        Scale(3),
        Scale(None),
    ],
)
def test_a_change_as_a_report_prints_it_is_read_back(
    change: SetFlag | UnsetFlag | SetEdgeLimit | Scale,
) -> None:
    assert changes_in(str(as_set_option(change))) == (change,)


@pytest.mark.parametrize(
    "words",
    [
        "",
        "watermark",
        "=3",
        'resources: {limits: {cpu: "4"}}',
        "kubectl rollout undo deployment/vllm",
        "wait",
        "request: {maxStreams: 3}",
        "replicas=0",
        "load=nan",
        "edge-input-cap=1.5",
    ],
)
def test_another_form_is_refused_with_the_words(words: str) -> None:
    with pytest.raises(InputError, match="--set"):
        changes_in(words)
