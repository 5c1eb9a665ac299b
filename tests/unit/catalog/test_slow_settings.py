"""Which settings make steps slow, as flags, variables and log lines tell them, and what is set
instead.
"""

# ruff: noqa: E501 (log lines as they are printed)

from __future__ import annotations

import pytest

from barostat.catalog.slow_settings import slow_settings
from barostat.core.config import ConfigValue, EngineConfig
from barostat.engines.vllm.command_line.config import resolve
from barostat.engines.vllm.logs.digest import digest


def told(config: EngineConfig, cards: float | None = None) -> list[str]:
    return [found.effect for found in slow_settings(config, cards)]


def config(**values: str | float | bool) -> EngineConfig:
    return EngineConfig(
        {name: ConfigValue(value, "flag", f"--{name}={value}") for name, value in values.items()}
    )


def logged(line: str, *flags: str) -> EngineConfig:
    return resolve(
        args=("vllm", "serve", "m", *flags), log_settings=digest([line], source="log").settings
    )


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("(VllmWorkerProcess pid=180) WARNING 03-19 08:09:03 custom_all_reduce.py:134] Custom allreduce is disabled because it's not supported on more than two PCIe-only GPUs. To silence this warning, specify disable_custom_all_reduce=True explicitly.", "over PCIe"),
        ("WARNING 10-06 15:56:46 [custom_all_reduce.py:144] Custom allreduce is disabled because your platform lacks GPU P2P capability or P2P test failed. To silence this warning, specify disable_custom_all_reduce=True explicitly.", "through the host's memory"),
        ("(Worker_TP0 pid=9) WARNING 10-06 15:56:46 [custom_all_reduce.py:97] Custom allreduce is disabled because this process group spans across nodes.", "link between nodes"),
        ("node-0:881:1303 [0] NCCL INFO Channel 00/0 : 8[0] -> 0[0] [receive] via NET/Socket/0", "TCP sockets"),
        ("WARNING 05-12 10:00:31 logger.py:202] VLLM_TRACE_FUNCTION is enabled. It will record every function executed by Python. This will slow down the code.", "VLLM_TRACE_FUNCTION"),
        ("INFO 11-20 08:00:00 [utils.py:233] non-default args: {'model': 'm', 'enforce_eager': True}", "eager mode"),
        ("INFO 11-20 08:00:00 [utils.py:233] non-default args: {'model': 'm', 'quantization': 'bitsandbytes'}", "weights in bitsandbytes"),
    ],
)  # fmt: skip
def test_a_log_line_tells_it(line: str, says: str) -> None:
    found = told(logged(line, "--tensor-parallel-size", "8"))
    assert len(found) == 1
    assert says in found[0]


@pytest.mark.parametrize(
    "line",
    [
        "INFO 09-22 20:31:07 [cuda.py:284] Using Flash Attention backend on V1 engine.",
        "INFO 03-20 10:08:32 [cuda.py:317] Using FLASH_ATTN attention backend out of potential backends: ['FLASH_ATTN', 'FLASHINFER', 'TRITON_ATTN', 'FLEX_ATTENTION'].",
        "INFO 03-22 10:54:27 [mm.py:1] Using AttentionBackendEnum.TORCH_SDPA for MMEncoderAttention.",
        "INFO 03-22 10:54:27 [unquantized.py:1] Using TRITON Unquantized MoE backend out of potential backends: ['TRITON', 'FLASHINFER'].",
        "INFO 03-22 10:54:27 [mla.py:1] Using FLASH_ATTN MLA prefill backend.",
        "node-0:881:1303 [0] NCCL INFO Channel 00/0 : 8[0] -> 0[0] [receive] via NET/IB/0/GDRDMA",
        "INFO 02-13 15:54:31 [cuda.py:227] Using XFormers backend.",
        "INFO 03-20 10:08:32 [rocm.py:317] Using Triton Attention backend.",
        "INFO 03-22 10:54:27 [custom_all_reduce.py:60] Custom allreduce is disabled because of missing custom allreduce library",
    ],
)  # fmt: skip
def test_a_line_like_it_tells_nothing(line: str) -> None:
    assert told(logged(line, "--tensor-parallel-size", "8")) == []


@pytest.mark.parametrize(
    ("line", "is_told"),
    [
        ("INFO 09-22 20:31:07 [cuda.py:284] Using Flash Attention backend on V1 engine.", False),
        ("INFO 03-20 10:08:32 [cuda.py:317] Using TRITON_ATTN attention backend out of potential backends: ['TRITON_ATTN', 'FLEX_ATTENTION'].", True),
        ("INFO 03-20 10:08:32 [cuda.py:446] Using AttentionBackendEnum.FLEX_ATTENTION backend.", True),
        ("INFO 03-20 10:08:32 [cuda.py:446] nothing of it", True),
    ],
)  # fmt: skip
def test_attention_that_was_asked_for_counts_unless_the_log_has_another(
    line: str, is_told: bool
) -> None:
    """What vLLM chose by itself is what the card has: nothing to set instead."""
    asked = ("--attention-backend", "TRITON_ATTN")
    assert (
        told(logged(line, *asked))
        == ["attention runs on TRITON_ATTN, not on kernels for this card"]
    ) is is_told
    assert not logged(line, *asked).problems
    assert told(config(VLLM_ATTENTION_BACKEND="XFORMERS")) == [
        "attention runs on XFORMERS, not on kernels for this card"
    ]


@pytest.mark.parametrize(
    "line",
    [
        "INFO 03-20 10:08:33 [fp8.py:205] Using Triton backend for FP8 MoE",
        "INFO 03-20 10:08:33 [mxfp4.py:160] Using Triton backend",
        "INFO 03-20 10:08:33 [modelopt.py:9] Using FlashInfer backend for NVFP4 MoE",
    ],
)
def test_what_experts_run_on_is_not_attention(line: str) -> None:
    assert "resolved_attention_backend" not in logged(line).values


def test_ranks_beyond_the_cards_are_on_other_nodes_and_stages_belong_between_them() -> None:
    found = slow_settings(config(tensor_parallel_size=16), 8.0)
    assert "16 tensor parallel ranks on 8 cards here" in found[0].effect
    assert "--tensor-parallel-size 8 --pipeline-parallel-size 2" in found[0].instead
    assert told(config(tensor_parallel_size=8, pipeline_parallel_size=2), 8.0) == []
    assert (
        "16 tensor parallel ranks where a usual node has 8 cards"
        in told(config(tensor_parallel_size=16))[0]
    )
    assert told(config(tensor_parallel_size=8)) == []


def test_sockets_between_stages_or_replicas_are_no_layers_link() -> None:
    line = "node-0:881:1303 [0] NCCL INFO Channel 00/0 : 8[0] -> 0[0] [receive] via NET/Socket/0"
    assert told(logged(line, "--tensor-parallel-size", "8", "--pipeline-parallel-size", "2")) == []


def test_variables_of_debugging_count_where_they_are_on() -> None:
    env = {"CUDA_LAUNCH_BLOCKING": "1", "NCCL_P2P_DISABLE": "1"}
    found = told(resolve(args=("vllm", "serve", "m", "--tensor-parallel-size", "2"), env=env))
    assert found == [
        "NCCL_P2P_DISABLE: ranks exchange through the host's memory",
        "CUDA_LAUNCH_BLOCKING: the host waits for every kernel",
    ]
    assert (
        told(
            resolve(
                args=("vllm", "serve", "m"),
                env={"CUDA_LAUNCH_BLOCKING": "0", "NCCL_P2P_DISABLE": "1"},
            )
        )
        == []
    )
