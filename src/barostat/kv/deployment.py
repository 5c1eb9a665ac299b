"""How an engine is started, as far as memory is concerned: the flags, the version, the attention backend's block sizes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from barostat.core.version import EngineVersion
from barostat.kv.architecture import Layer

NEWEST_KNOWN = "0.33.0"


@dataclass(frozen=True, slots=True)
class Deployment:
    """One engine's resolved settings (vLLM's own names), defaults already filled in.

    `generation`: V0 is the engine before 0.8 (and by choice to 0.10). `min_kernel_block_tokens`: the smallest block the attention
    backend reads.
    `max_encoder_tokens`: only for models with an encoder. `num_speculative_tokens`: drafts per step. `draft`: the drafter's own
    layers, on the last pipeline stage. `retained_tokens`: kept behind every window for a chain of drafting modules.
    `v2_runner`: the newer model runner keeps pp + 1 batches in flight.
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
    block_size: int = 16
    async_scheduling: bool = True
    prefix_caching: bool = True
    hybrid_manager: bool = True
    mamba_cache_dtype: str = "auto"
    mamba_ssm_cache_dtype: str = "auto"
    num_gpu_blocks_override: int | None = None
    num_speculative_tokens: int = 0
    draft: tuple[Layer, ...] = ()
    retained_tokens: int = 0
    generation: Literal["V0", "V1"] = "V1"
    min_kernel_block_tokens: int = 16
    fp8_latent_packed: bool = True
    v2_runner: bool = True

    @property
    def in_flight_tokens(self) -> int:
        """Tokens that may be scheduled and not yet settled: what a window's reservation has to cover.

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
    def state_mode(self) -> Literal["none", "align"]:
        """How states are cached: `align` keeps a second block per request for prefix caching.

        Prefix caching of states is the default for hybrids in 0.20 and later start-up logs; in 0.19 and before it was not.
        """
        return "align" if self.prefix_caching and self.version.at_least("0.20.0") else "none"
