"""Settings with which an engine's steps take several times what its card needs for them, and what
to set instead.

Source: vLLM 0.32.0 CustomAllreduce (what it says where ranks cannot read each other), CudaPlatform
(which attention backend), logger (VLLM_TRACE_FUNCTION); CUDA's and NCCL's environment variables;
vLLM issues 4760 and 7567 (eager mode), 35987 (GGUF), 8743 (bitsandbytes).
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass

from barostat.core.config import ConfigValue, EngineConfig
from barostat.core.window import Window

RESOLVED_ATTENTION = "resolved_attention_backend"
"""The setting by which a log shows the attention backend, whether chosen by the user or by vLLM."""
EXCHANGE, SOCKETS = "ranks_exchange_over", "TCP sockets"
"""The log settings that show the transport between ranks: one for transports slower than NVLink,
one for NCCL's sockets.
"""
_EVERY_KERNEL = ("CUDA_LAUNCH_BLOCKING", "HIP_LAUNCH_BLOCKING", "AMD_SERIALIZE_KERNEL")
_OWN_KERNELS = re.compile(r"xformers|torch.?sdpa|flex.?attention|triton", re.IGNORECASE)
_SLOW_FORMATS = ("bitsandbytes", "gguf")
_USUAL_CARDS = 8.0
"""Of a node whose cards nobody counted."""
_PCIE_FACTOR = 4.0
"""A step over PCIe beside the same over NVLink, at most; the step model knows the links of most
cards and charges for them already.
"""
_KERNELS_FACTOR = 10.0
"""Kernels that are started one by one, or not made for the card, cost this many times at most:
longer steps have another reason.
"""


@dataclass(frozen=True, slots=True)
class SlowSetting:
    """`effect`: the effect on a step. `instead`: the recommended start arguments. `most`: largest
    slowdown factor of a step. `name`: the argument or variable.
    """

    effect: str
    instead: str
    most: float = math.inf
    name: str = ""


def slow_settings(config: EngineConfig, cards: float | None) -> tuple[SlowSetting, ...]:
    """Return the slow settings in use, the worst first. `cards`: number seen where the engine runs;
    None: unknown.
    """
    return (*_links(config, cards), *_others(config))


def slow_settings_of(window: Window) -> tuple[SlowSetting, ...]:
    """Those of an engine as it was seen."""
    cards = window.fresh("gpu_count")
    return slow_settings(window.config, None if cards is None else cards.last)


def _links(config: EngineConfig, cards: float | None) -> Iterator[SlowSetting]:
    """Yield the first setting that shows the transport between tensor-parallel ranks."""
    ranks, over, peers = (
        config.number("tensor_parallel_size") or 1.0,
        config.get(EXCHANGE),
        config.get("NCCL_P2P_DISABLE"),
    )
    here = cards or _USUAL_CARDS
    if ranks > here:
        on = f"on {here:.0f} cards here" if cards else f"where a usual node has {here:.0f} cards"
        inside = (
            f"--tensor-parallel-size {here:.0f} --pipeline-parallel-size {math.ceil(ranks / here)}"
        )
        effect = (
            f"{ranks:.0f} tensor parallel ranks {on}: every layer waits for the link between nodes"
        )
        yield SlowSetting(
            effect,
            f"with {inside}: layers divided inside a node, stages between nodes",
            name="tensor_parallel_size",
        )
    elif ranks > 1 and over is not None and (over.value != SOCKETS or _alone(config)):
        inside = (
            "with tensor parallelism inside a node, stages between nodes, and RDMA for what is left"
        )
        linked = "on cards with a link of their own, or with fewer ranks and more replicas"
        effect, near = (
            f"tensor parallel ranks exchange over {over.value}: every layer waits for it",
            "PCIe" in str(over.value),
        )
        yield SlowSetting(effect, linked if near else inside, _PCIE_FACTOR if near else math.inf)
    elif ranks > 1 and _is_set(peers):
        instead = "without NCCL_P2P_DISABLE, on cards that reach each other without hanging"
        yield SlowSetting(
            "NCCL_P2P_DISABLE: ranks exchange through the host's memory",
            instead,
            _PCIE_FACTOR,
            "NCCL_P2P_DISABLE",
        )


def _alone(config: EngineConfig) -> bool:
    """True if what exchanges can only be tensor parallel ranks."""
    return all(
        (config.number(name) or 1.0) <= 1
        for name in ("pipeline_parallel_size", "data_parallel_size")
    )


def _others(config: EngineConfig) -> Iterator[SlowSetting]:
    for name in filter(lambda name: _is_set(config.get(name)), _EVERY_KERNEL):
        yield SlowSetting(
            f"{name}: the host waits for every kernel",
            f"without {name}: it is for debugging",
            name=name,
        )
    if _is_set(config.get("VLLM_TRACE_FUNCTION")):
        yield SlowSetting(
            "VLLM_TRACE_FUNCTION: every call is written to a file",
            "without VLLM_TRACE_FUNCTION: it is for debugging",
            name="VLLM_TRACE_FUNCTION",
        )
    if (offloaded := config.number("cpu_offload_gb")) is not None and offloaded > 0:
        effect = f"{offloaded:g} GiB of weights come from the host's memory in every step"
        yield SlowSetting(
            effect,
            "with weights that fit the cards: fewer bits or more cards, without --cpu-offload-gb",
            name="cpu_offload_gb",
        )
    attention, runs_on = (
        config.get("attention_backend") or config.get("VLLM_ATTENTION_BACKEND"),
        config.get(RESOLVED_ATTENTION),
    )
    if attention is not None and all(
        _OWN_KERNELS.match(str(one.value)) for one in (attention, runs_on or attention)
    ):
        instead = (
            "with the backend that vLLM chooses by itself, or FLASH_ATTN or FLASHINFER where "
            "the card has them"
        )
        yield SlowSetting(
            f"attention runs on {attention.value}, not on kernels for this card",
            instead,
            _KERNELS_FACTOR,
            "attention_backend",
        )
    eager = config.get("enforce_eager")
    if eager is not None and eager.value is True:
        effect = "eager mode: every kernel is started by the host (--enforce-eager)"
        yield SlowSetting(
            effect,
            "without --enforce-eager: kernels are started as graphs",
            _KERNELS_FACTOR,
            "enforce_eager",
        )
    form = config.get("quantization")
    if form is not None and str(form.value).lower() in _SLOW_FORMATS:
        effect = f"weights in {form.value}, which is unpacked anew for every step"
        yield SlowSetting(
            effect,
            "with the same bits as AWQ, GPTQ or FP8, which have kernels of their own",
            _KERNELS_FACTOR,
            "quantization",
        )


def _is_set(found: ConfigValue | None) -> bool:
    return found is not None and str(found.value).lower() not in ("0", "false", "")
