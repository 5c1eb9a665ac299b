"""CUDA graphs: how many the engine captures, their memory, and the engine's estimate of it.

batch sizes  1 2 4 8 16 .. 248 | 256 272 .. largest      captured layer by layer (piecewise) for
every size,
'- up to max_num_seqs x (1 + drafts) -'     and whole, for decode-only batches

Since 0.20.0 the engine captures the two largest graphs of each kind before it sizes the pool, and
charges the first plus the second times the number of the others.
VLLM_MEMORY_PROFILER_ESTIMATE_CUDAGRAPHS enables this from 0.18.0 on, and disables it later.

Source: vLLM 0.18.0 to 0.32.0, VllmConfig._set_cudagraph_sizes,
GPUModelRunner.profile_cudagraph_memory, Worker.determine_available_memory.
"""

from __future__ import annotations

from barostat.core.units import MIB, ceil_div
from barostat.kv.architecture import Architecture
from barostat.kv.deployment import Deployment

_COUNTED_SINCE = "0.20.0"
_COUNTED_IF_ASKED_SINCE = "0.18.0"
_COUNTED_ON_AMD_SINCE = "0.26.0"
_V2_COUNTED_SINCE = "0.29.0"
_LARGEST_CAPTURE, _LARGEST_CAPTURE_BLACKWELL = 512, 1024

# What a graph takes for each layer. Fourteen logs of 0.19 to 0.28 that state the estimate and the
# number of graphs: 0.14 MiB on Hopper (two models), 0.17 to 0.29 elsewhere (Ampere, Ada, consumer
# Blackwell; dense, experts and states alike). An estimate counts 1 MiB at the least.
_LAYER_BYTES_HOPPER, _LAYER_BYTES = 0.14 * MIB, 0.23 * MIB
_LEAST_BYTES = 1 * MIB
# FlashInfer's workspace is first allocated while graphs are recorded, so that the estimate has it.
# Source: vLLM 0.32.0, VLLM_FLASHINFER_WORKSPACE_BUFFER_SIZE; logs of 0.20.0 with two graphs say
# 0.36 to 0.43 GiB.
_FLASHINFER_BYTES = 394 * MIB


def counts_graphs(flags: Deployment) -> bool:
    """True if the budget is charged for graphs."""
    if flags.estimates_graphs is False:
        return False
    if flags.v2_runner:
        return flags.version.at_least(_V2_COUNTED_SINCE)
    if flags.rocm:
        return flags.version.at_least(_COUNTED_ON_AMD_SINCE)
    return flags.version.at_least(
        _COUNTED_IF_ASKED_SINCE if flags.estimates_graphs else _COUNTED_SINCE
    )


def attends_with_flashinfer(model: Architecture, flags: Deployment, capability: float) -> bool:
    """True if attention is FlashInfer's: on data-centre Blackwell, and with an fp8 cache on
    cards without FlashAttention 3.

    Source: vLLM 0.32.0, CudaPlatformBase.get_valid_backends; logs of 0.20 to 0.27 on RTX 3090, RTX
    5090 and GB10.
    """
    if (
        model.uses_mla or capability < 7.5 or "Gemma4" in model.name
    ):  # Gemma 4's heads of two widths: Triton
        return False
    return 10.0 <= capability < 11.0 or (
        flags.kv_cache_dtype.startswith("fp8") and not 9.0 <= capability < 10.0
    )


def capture_sizes(flags: Deployment, *, capability: float = 0.0) -> list[int]:
    """Return the batch sizes that get a graph: as given, else 1, 2, 4, then every 8 to 256 and
    every 16 beyond, up to the largest given or twice what all sequences ask for at once.
    """
    budget = flags.max_num_batched_tokens
    if flags.graph_sizes:
        return sorted({size for size in flags.graph_sizes if size <= budget})
    most = _LARGEST_CAPTURE_BLACKWELL if 10.0 <= capability < 11.0 else _LARGEST_CAPTURE
    step = 1 + flags.num_speculative_tokens
    largest = (
        min(2 * flags.max_num_seqs * step, most)
        if flags.largest_graph is None
        else flags.largest_graph
    )
    largest = min(largest, budget)
    return [
        size
        for size in (1, 2, 4, *range(8, 256, 8), *range(256, largest + 1, 16))
        if size <= largest
    ]


def recorded_graphs(model: Architecture, flags: Deployment, capability: float) -> tuple[int, int]:
    """Return how many graphs the engine records layer by layer, and whole.

    With drafts both are of whole requests. FlashInfer's attention takes no drafts within a whole
    graph, except on data-centre Blackwell: then there is none.
    """
    step = 1 + flags.num_speculative_tokens
    sizes = capture_sizes(flags, capability=capability)
    if not sizes:
        return 0, 0
    if (
        step > 1
        and attends_with_flashinfer(model, flags, capability)
        and not 10.0 <= capability < 11.0
    ):
        return len(sizes), 0
    whole = sorted({ceil_div(size, step) * step for size in sizes} & set(range(sizes[-1] + 1)))
    return len(whole), sum(size <= flags.max_num_seqs * step for size in whole)


def charged_bytes(model: Architecture, flags: Deployment, capability: float) -> float:
    """Return the engine's own estimate of the graphs' memory."""
    layers = len(model.layers) / flags.pp
    each = max(
        _LEAST_BYTES, layers * (_LAYER_BYTES_HOPPER if 9.0 <= capability < 12.0 else _LAYER_BYTES)
    )
    workspace = _FLASHINFER_BYTES if attends_with_flashinfer(model, flags, capability) else 0.0
    return sum(recorded_graphs(model, flags, capability)) * each + workspace
