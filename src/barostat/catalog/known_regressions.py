"""Reported regressions of vLLM with figures: the affected versions and deployments, the cost, and
links to the threads. To add one, add a row.

These are reports, not our own measurements. `bad` is the first version in which it was seen,
`last_bad` the last. Whether later versions are affected is unknown, unless `fixed` names the first
version without it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Harm = Literal["slow", "memory", "cache", "stops", "wrong"]
"""slow: steps take longer. memory: a smaller pool, or out of memory. cache: fewer hits. stops: the
engine does not start, hangs or crashes. wrong: wrong output."""
Trait = Literal["experts", "states", "window", "16-bit", "8-bit", "nvfp4"]
"""What a model is made of: experts, layers with states, sliding windows, and how its weights are
stored."""


@dataclass(frozen=True, slots=True)
class Regression:
    """A regression. `good`: last version known to be unaffected. `times`: factor by which a step
    takes longer, if measured. `instead`: the workaround in the reports.

    A deployment is affected if all of these match (empty: any). `models`: a part of the model's
    name, lower case. `traits`: the model has all of them. `cards`: the card's name begins with one.
    `settings`: these arguments have these values (None: are given). `ranks`: at least this many
    GPUs. `threads`: owner/repository#number.
    """

    name: str
    harm: Harm
    good: str
    bad: str
    last_bad: str
    text: str
    threads: tuple[str, ...]
    times: float | None = None
    fixed: str = ""
    instead: str = ""
    models: tuple[str, ...] = ()
    traits: tuple[Trait, ...] = ()
    cards: tuple[str, ...] = ()
    settings: Mapping[str, str | None] = field(default_factory=dict)
    ranks: int = 1


_HOPPER = ("H100", "H200", "GH200")
_BLACKWELL = ("B200", "B300", "GB200", "GB300")

REGRESSIONS: tuple[Regression, ...] = (
    Regression(
        "experts-slow-fp8-0.12", "slow", "0.10.2", "0.12.0", "0.12.0",
        "Qwen3-235B-A22B in FP8 on four H200: 28 tokens/s for a request instead of 60",
        ("vllm-project/vllm#31030",), 2.1, models=("qwen3-235b",), traits=("8-bit",), cards=("H200",),
    ),
    Regression(
        "deepseek-slow-amd-0.12", "slow", "0.11.1", "0.12.0", "0.12.0",
        "DeepSeek-V3 on AMD cards: the first token comes much later",
        ("vllm-project/vllm#30064",), models=("deepseek-v3", "deepseek-r1"), cards=("MI",),
    ),
    Regression(
        "gpt-oss-memory-0.14", "memory", "0.11.2", "0.14.1", "0.14.1",
        "gpt-oss-120b no longer starts on one H100 at a utilisation of 0.97: out of memory",
        ("vllm-project/vllm#33155",), models=("gpt-oss-120b",), cards=("H100",),
    ),
    Regression(
        "minimax-slow-0.15", "slow", "0.14.0", "0.15.1", "0.15.1",
        "MiniMax-M2 under high load with large requests: lower throughput on H100 and H200",
        ("vllm-project/vllm#35048",), models=("minimax-m2",), cards=_HOPPER,
    ),
    Regression(
        "gpt-oss-slow-hopper-0.17", "slow", "0.16.0", "0.17.0", "0.19.0",
        "gpt-oss-120b on four H200: 16 % fewer tokens/s with 300 clients, 8 % with 50",
        ("vllm-project/vllm#40838",), 1.2, models=("gpt-oss",), cards=_HOPPER,
    ),
    Regression(
        "arm-image-slow-0.18", "slow", "0.17.0", "0.18.0", "0.18.0",
        "the image for GB200 (aarch64): about 10 % less throughput",
        ("verl-project/verl#5964",), 1.1, cards=("GB200",),
    ),
    Regression(
        "experts-slow-0.20", "slow", "0.19.1", "0.20.0", "0.21.1",
        "experts in 16 bits run on FlashInfer instead of Triton: Mixtral-8x7B on H200 21 % longer a token "
        "and 59 % longer to the first one, DeepSeek-V2 5 % and 23 %",
        ("vllm-project/vllm#41306", "vllm-project/vllm#43096"), 1.21, fixed="0.32.0",
        instead="--moe-backend triton", traits=("experts", "16-bit"), cards=_HOPPER,
    ),
    Regression(
        "graphs-overcharged-0.20", "memory", "0.19.0", "0.20.0", "0.22.0",
        "the estimate for CUDA graphs grows with their number: MiniMax-M2.5 in NVFP4 on B200 had 245,840 "
        "tokens of KV cache instead of 769,888",
        ("vllm-project/vllm#45178", "vllm-project/vllm#45197"), traits=("nvfp4",), cards=_BLACKWELL,
        instead="VLLM_MEMORY_PROFILER_ESTIMATE_CUDAGRAPHS=0",
    ),
    Regression(
        "minimax-slow-amd-0.21", "slow", "0.18.0", "0.21.0", "0.21.0",
        "MiniMax-M2.5 in FP8 on MI325X: 1,600 tokens/s a GPU instead of 2,600",
        ("vllm-project/vllm#43029",), 1.6, models=("minimax-m2",), cards=("MI325",),
    ),
    Regression(
        "kimi-slow-amd-0.21", "slow", "0.18.0", "0.21.0", "0.21.0",
        "Kimi-K2.5 and K2.6 on MI355X: 38 % less throughput, from AITER's fused experts",
        ("vllm-project/vllm#43153",), 1.6, models=("kimi-k2",), cards=("MI355",),
        instead="VLLM_ROCM_USE_AITER_MOE=0 with --enable-expert-parallel (13 % short of before)",
    ),
    Regression(
        "gpt-oss-slow-blackwell-0.22", "slow", "0.21.0", "0.22.0", "0.22.0",
        "gpt-oss with FlashInfer 0.6.11 and later: slower, measured on one GPU of a GB300",
        ("vllm-project/vllm#44808",), models=("gpt-oss",), cards=_BLACKWELL,
    ),
    Regression(
        "gguf-crash-0.22", "stops", "0.21.0", "0.22.0", "0.22.0",
        "GGUF checkpoints on T4: the engine crashes at the first request",
        ("vllm-project/vllm#44379", "vllm-project/vllm#45293"), models=("gguf",), cards=("T4",),
    ),
    Regression(
        "qwen36-slow-0.24", "slow", "0.23.0", "0.24.0", "0.26.0",
        "Qwen3.6-35B-A3B in FP8, 40 requests at once: 1,000 tokens/s instead of 5,000. The card is not "
        "stated, and vllm-project/vllm#57680 finds 0.24 and 0.26 fast on an H100",
        ("vllm-project/vllm#51663",), models=("qwen3.6-35b-a3b",), traits=("8-bit",),
    ),
    Regression(
        "relu2-experts-slow-0.24", "slow", "0.23.0", "0.24.0", "0.26.0",
        "experts without a gate (Nemotron-3) in 16 bits on Blackwell: 21 % longer a token; prompts are 19 % faster",
        ("vllm-project/vllm#53472",), 1.21, models=("nemotron-3",), traits=("experts", "16-bit"), cards=_BLACKWELL,
        instead="--moe-backend flashinfer_cutlass",
    ),
    Regression(
        "qwen36-nvfp4-hangs-0.25", "stops", "0.19.2", "0.25.0", "0.25.0",
        "Qwen3.6-35B-A3B in NVFP4 on B300: two to three times slower, and hangs beyond eight requests",
        ("vllm-project/vllm#48718",), 2.5, models=("qwen3.6-35b-a3b",), traits=("nvfp4",), cards=("B300",),
    ),
    Regression(
        "graphs-overcharged-states-0.26", "memory", "0.25.1", "0.26.0", "0.26.0",
        "hybrid models with states: a transient of profiling is charged as graphs, 18 to 24 % less KV cache",
        ("vllm-project/vllm#50780",), traits=("states",), instead="VLLM_MEMORY_PROFILER_ESTIMATE_CUDAGRAPHS=0",
    ),
    Regression(
        "deepseek-v4-nodes-hang-0.26", "stops", "0.25.0", "0.26.0", "0.28.0",
        "DeepSeek-V4-Pro over two nodes of eight H100: the start hangs without an error",
        ("vllm-project/vllm#53894",), models=("deepseek-v4",), cards=("H100",), ranks=16,
    ),
    Regression(
        "lmcache-wrong-output-0.26", "wrong", "0.25.1", "0.26.0", "0.26.0",
        "LMCache's in-process connector returns wrong KV data where keys and values share a block, and "
        "corrupts shared prefixes of hybrid models",
        ("LMCache/LMCache#4463", "LMCache/LMCache#4247"), settings={"kv_transfer_config": "LMCache"},
    ),
    Regression(
        "gemma4-hangs-0.26", "stops", "0.19.0", "0.26.0", "0.26.0",
        "Gemma-4-26B-A4B on B200: the start hangs in the kernel of its experts, whose width is no multiple of 128",
        ("vllm-project/vllm#51492",), models=("gemma-4-26b",), cards=("B200", "GB200"), instead="--moe-backend triton",
    ),
    Regression(
        "qwen35-slow-0.27", "slow", "0.26.0", "0.27.0", "0.27.0",
        "Qwen3.5-122B-A10B, quantized, on four RTX 3090: slower than 0.26",
        ("vllm-project/vllm#53241",), models=("qwen3.5-122b",), cards=("RTX 3090",),
    ),
    Regression(
        "deepseek-v4-gb10-0.27", "stops", "0.26.0", "0.27.0", "0.27.0",
        "DeepSeek-V4-Flash on GB10 does not load (Unknown SF transformation) until DeepGEMM is replaced",
        ("vllm-project/vllm#51758",), models=("deepseek-v4",), cards=("GB10",),
    ),
    Regression(
        "gb10-nodes-stall-0.27", "stops", "0.26.0", "0.27.0", "0.27.0",
        "four GB10 with tensor parallelism over nodes: the engine stalls after a minute without requests",
        ("vllm-project/vllm#51921",), cards=("GB10",), ranks=4,
    ),
    Regression(
        "offloading-states-dies-0.27", "stops", "0.26.0", "0.27.1", "0.27.1",
        "hybrid models with prefix caching and KV offloaded to the host: the engine dies when blocks come back",
        ("vllm-project/vllm#53505", "syv-ai/qwen38-27b-rtx3090#25"), fixed="0.28.0", traits=("states",),
        settings={"kv_transfer_config": "OffloadingConnector"},
    ),
    Regression(
        "host-memory-0.28", "stops", "0.27.1", "0.28.0", "0.28.0",
        "a quantized model takes all memory of the host while it starts; the report names no rule for which",
        ("vllm-project/vllm#54237",),
    ),
    Regression(
        "activations-0.29", "memory", "0.28.0", "0.29.0", "0.29.0",
        "1.13 GiB more activations (A40, Qwen2.5-Coder-32B in AWQ): 5 % less KV cache, and models at the edge "
        "run out of memory when they start",
        ("runpod-workers/worker-vllm#344",),
    ),
    Regression(
        "revision-not-found-0.29", "stops", "0.28.0", "0.29.0", "0.29.0",
        "the pinned revision of the model's repository is asked of its tokenizer's: Revision Not Found",
        ("vllm-project/vllm#56092", "runpod-workers/worker-vllm#344"), settings={"tokenizer": None},
    ),
    Regression(
        "qwen36-slow-hopper-0.29", "slow", "0.26.0", "0.29.0", "0.29.0",
        "Qwen3.6-35B-A3B in FP8 on an H100: 23.9 ms a token instead of 6.7, with one client and with twelve",
        ("vllm-project/vllm#57680",), 3.5, models=("qwen3.6-35b-a3b",), traits=("8-bit",), cards=_HOPPER,
    ),
    Regression(
        "nvfp4-cache-memory-0.29", "memory", "0.29.0", "0.29.1", "0.29.1",
        "an NVFP4 cache at a utilisation of 0.98: out of memory while graphs are captured; 0.97 starts",
        ("vllm-project/vllm#57475",), settings={"kv_cache_dtype": "nvfp4"},
    ),
)  # fmt: skip
