"""How an engine is started, as far as memory is concerned: the flags, the version, the attention
backend's block sizes.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from barostat.catalog.settings.defaults import BLOCK_TOKENS
from barostat.core.version import EngineVersion
from barostat.kv.architecture import Layer

_LOGS_REQUESTS_SINCE_BUILD = 91

# How a state is cached: `none` keeps the running one; `align` one more per request, to copy from;
# `all` one for every block of tokens.
StateMode = Literal["none", "align", "all"]


@dataclass(frozen=True, slots=True)
class Adapters:
    """The places that are kept for LoRA adapters: how many on the card at once, of which largest
    rank.

    `fully_sharded`: both halves are divided over ranks. `dtype`: of their weights.
    """

    places: int
    rank: int
    dtype: str
    fully_sharded: bool = False


@dataclass(frozen=True, slots=True)
class Deployment:
    """One engine's resolved settings (vLLM's own names), defaults already filled in.

    generation: V0 is the engine before 0.8 (and by choice to 0.10).
    min_kernel_block_tokens: smallest block that the attention backend reads.
    num_speculative_tokens: drafts per step.
    draft: the drafter's own layers, on the last pipeline stage.
    retained_tokens: kept behind every window for a chain of drafting modules.
    state_chunk_tokens: a state's block is a multiple of it in mode `all`.
    v2_runner: the newer of the two model runners (kv/model_runner.py).
    fp8_latent_packed: sparse latents in fp8 carry their scales.
    flashinfer_sampler, estimates_graphs: VLLM_USE_FLASHINFER_SAMPLER and
        VLLM_MEMORY_PROFILER_ESTIMATE_CUDAGRAPHS, None if not set.
    graph_sizes: batch sizes of graphs if given; largest_graph: the largest size if given.
    text_only: text alone, of a model of several modalities; videos: False if it takes none.
    profiles_items: the largest image or video is profiled (not with --skip-mm-profiling).
    expert_parallel: each rank has whole experts rather than slices.
    adapters: slots for LoRA adapters, None without.
    rocm: the engine is a build for AMD's cards.
    """

    version: EngineVersion
    max_model_len: int
    max_num_batched_tokens: int
    max_num_seqs: int
    tp: int = 1
    pp: int = 1
    dp: int = 1
    dcp: int = 1
    dtype: str = "bfloat16"
    kv_cache_dtype: str = "auto"
    block_size: int = BLOCK_TOKENS
    async_scheduling: bool = True
    prefix_caching: bool = True
    hybrid_manager: bool = True
    mamba_cache_dtype: str = "auto"
    mamba_ssm_cache_dtype: str = "auto"
    mamba_cache_mode: StateMode | Literal["auto"] = "auto"
    state_chunk_tokens: int = 2048
    num_gpu_blocks_override: int | None = None
    num_speculative_tokens: int = 0
    draft: tuple[Layer, ...] = ()
    retained_tokens: int = 0
    generation: Literal["V0", "V1"] = "V1"
    min_kernel_block_tokens: int = 16
    fp8_latent_packed: bool = True
    v2_runner: bool = False
    flashinfer_sampler: bool | None = None
    estimates_graphs: bool | None = None
    text_only: bool = False
    videos: bool = True
    expert_parallel: bool = False
    rocm: bool = False
    adapters: Adapters | None = None
    graph_sizes: tuple[int, ...] = ()
    largest_graph: int | None = None
    profiles_items: bool = True

    @property
    def in_flight_tokens(self) -> int:
        """Tokens that may be scheduled and not yet settled: what a window's reservation has to
        cover.

        Source: vLLM 0.26.0, VllmConfig.max_in_flight_tokens; before it was one step's budget.
        """
        if self.version.before("0.26.0"):
            return self.max_num_batched_tokens
        if self.async_scheduling and self.v2_runner:
            batches = self.pp + 1
        elif self.async_scheduling and self.pp <= 1:
            batches = 2
        else:
            batches = self.pp
        return batches * self.max_num_batched_tokens

    @property
    def logs_tokens_of_requests(self) -> bool:
        """True if the logged KV cache size is concurrency times length: since 0.20.1 (its 91st
        development build, not the 16th).
        """
        build = re.search(r"dev(\d+)", self.version.text)
        early = (
            self.version.release == (0, 20, 1)
            and build is not None
            and int(build[1]) < _LOGS_REQUESTS_SINCE_BUILD
        )
        return self.generation == "V1" and self.version.at_least("0.20.1") and not early

    @property
    def state_mode(self) -> StateMode:
        """How states are cached, where no flag and no family says: with prefix caching as `align`
        since 0.15.0, else not at all.
        """
        if self.mamba_cache_mode != "auto":
            return self.mamba_cache_mode
        return "align" if self.prefix_caching and self.version.at_least("0.15.0") else "none"
