"""The engine's resolved settings and the model -> a Deployment, with what had to be assumed on the
way.
"""

from __future__ import annotations

from dataclasses import dataclass

from barostat.catalog.settings.defaults import (
    BLOCK_TOKENS,
    SMALL_CARD_SEQS,
    SMALL_CARD_STEP_TOKENS,
    assumed_default,
)
from barostat.catalog.settings.setting import option_of
from barostat.catalog.settings.table import SETTINGS, bounds_of
from barostat.catalog.vllm_behaviours import behaves
from barostat.catalog.vllm_versions import NEWEST_READ, OLDEST_PLANNED
from barostat.core.config import EngineConfig
from barostat.core.errors import InputError
from barostat.core.version import EngineVersion
from barostat.judge.sizing.modalities import is_on, is_text_only, takes_videos
from barostat.judge.sizing.old_engine_steps import old_step_tokens
from barostat.judge.sizing.speculation import Speculation, speculation_of
from barostat.judge.sizing.state_caching import (
    is_given,
    prefix_caching_default,
    state_chunk_tokens,
    state_mode,
)
from barostat.judge.sizing.whole_items import step_with_items
from barostat.kv.architecture import Architecture, Compressed, Indexer
from barostat.kv.deployment import Adapters, Deployment
from barostat.kv.draft import NO_DRAFT, Draft
from barostat.kv.dtypes import item_bytes
from barostat.kv.model_runner import takes_v2
from barostat.kv.quantization import weight_format

# From this version on, data-centre Blackwell reads sparse latents in fp8 as they are (FlashInfer),
# elsewhere FlashMLA's packed rows with their scales are kept. Source: vLLM's pull request 37252;
# 0.32.0, the CUDA platform's backends by priority; a log of 0.18.0 agrees.
_PLAIN_FP8_LATENTS_SINCE = "0.18.0"


@dataclass(frozen=True, slots=True)
class Sized:
    """A deployment and the sentences that say what it rests on.

    `auto_length`: the model length is to be the longest that fits. `refused`: why the engine ends
    before memory matters, a sentence each.
    """

    flags: Deployment
    assumptions: tuple[str, ...]
    auto_length: bool
    utilization: float
    eager: bool
    draft: Draft = NO_DRAFT
    refused: tuple[str, ...] = ()


def deployment_of(
    model: Architecture,
    config: EngineConfig,
    version: EngineVersion,
    capability: float,
    *,
    is_cpu: bool,
    rocm: bool = False,
    drafter: Architecture | None = None,
) -> Sized:
    """The settings that memory depends on.

    `capability`: the card's compute capability, 0 where it is not known or not NVIDIA's. `rocm`:
    the card is AMD's. `drafter`: of speculative decoding, where known.
    Errors: InputError for values that the engine would refuse.
    """
    _refuse_impossible(config)
    notes: list[str] = []
    if version.beyond(NEWEST_READ):
        notes.append(
            f"vLLM {version} is newer than {NEWEST_READ}, the newest this planner knows: "
            f"planned as {NEWEST_READ}"
        )
    elif version.before(OLDEST_PLANNED):
        notes.append(
            f"vLLM {version} is older than {OLDEST_PLANNED}, the oldest this planner knows: "
            f"planned as {OLDEST_PLANNED}"
        )
    length, auto = _length(model, config, notes)
    too_long = _too_long(model, config, length, notes)
    dtype = _dtype(model, config)
    kv_dtype = _kv_dtype(model, config, version, notes)
    seqs, budget = (
        int(config.number("max_num_seqs") or SMALL_CARD_SEQS),
        int(config.number("max_num_batched_tokens") or SMALL_CARD_STEP_TOKENS),
    )
    if version.before("0.8.0") or not _switch(config, "VLLM_USE_V1", True):
        given = config.get("max_num_batched_tokens")
        is_stated = given is not None and given.provenance != "version-default"
        budget = budget if is_stated else old_step_tokens(model, config, length, version)
    elif not (
        _switch(config, "enable_chunked_prefill", True)
        or behaves("chunked-prefill-forced", version)
    ):
        budget = budget if is_given(config, "max_num_batched_tokens") else max(budget, length)
    budget, ended = (budget, ()) if is_cpu else step_with_items(model, config, version, budget)
    for name in ("max_num_seqs", "max_num_batched_tokens", "gpu_memory_utilization"):
        found = config.get(name)
        if found is not None and not found.certain:
            notes.append(f"{name} {found.value}: {found.source}")
    block_flag = config.number("block_size")
    given_block = config.get("block_size")
    block = (
        int(block_flag)
        if block_flag and given_block and given_block.certain
        else _block(model, version, capability, is_cpu)
    )
    notes += [
        f"--{name.replace('_', '-')} is not counted here: {why}"
        for name, why in _NOT_COUNTED.items()
        if _is_on(config, name)
    ]
    if _is_on(config, "enable_lora"):
        notes.append(
            "the places of LoRA adapters are reckoned as vLLM 0.32.0 lays them out, towers "
            "left out; a stated size of the weights "
            "holds them already; what the kernels work in beside them is not counted"
        )
    speculation = speculation_of(model, config, drafter, version)
    notes.extend(speculation.notes)
    drafts = speculation.draft.tokens
    caching = prefix_caching_default(model, version)
    if caching or is_given(config, "enable_prefix_caching"):
        caching = _switch(config, "enable_prefix_caching", True)
    else:
        notes.append(
            f"prefix caching is off by default for models with states in vLLM {version}; "
            "--enable-prefix-caching costs memory"
        )
    form = weight_format(model.config, model.text, _text(config, "quantization", "") or None, dtype)
    newer = takes_v2(
        model, version, speculation.method, quantized=form.quantized_bytes != form.plain_bytes
    )
    flags = Deployment(
        version=version,
        max_model_len=length,
        max_num_batched_tokens=budget,
        max_num_seqs=seqs,
        tp=int(config.number("tensor_parallel_size") or 1),
        pp=int(config.number("pipeline_parallel_size") or 1),
        dp=int(config.number("data_parallel_size") or 1),
        dcp=int(config.number("decode_context_parallel_size") or 1),
        dtype=dtype,
        kv_cache_dtype=kv_dtype,
        block_size=block,
        async_scheduling=_async(config, version, speculation),
        prefix_caching=caching,
        hybrid_manager=not _switch(config, "disable_hybrid_kv_cache_manager", is_cpu),
        mamba_cache_dtype=_text(config, "mamba_cache_dtype", "auto"),
        mamba_ssm_cache_dtype=_text(config, "mamba_ssm_cache_dtype", "auto"),
        mamba_cache_mode=state_mode(model, config, version, prefix_caching=caching, drafts=drafts),
        state_chunk_tokens=state_chunk_tokens(model),
        num_gpu_blocks_override=_whole(config, "num_gpu_blocks_override"),
        num_speculative_tokens=drafts,
        draft=speculation.draft.layers,
        retained_tokens=speculation.draft.retained_tokens,
        generation="V0"
        if version.before("0.8.0")
        or (version.before("0.11.0") and not _switch(config, "VLLM_USE_V1", True))
        else "V1",
        min_kernel_block_tokens=32 if is_cpu else 16,
        fp8_latent_packed=not (
            10.0 <= capability < 11.0 and version.at_least(_PLAIN_FP8_LATENTS_SINCE)
        ),
        text_only=is_text_only(config),
        videos=takes_videos(config),
        profiles_items=not _switch(config, "skip_mm_profiling", False),
        graph_sizes=_graph_sizes(config),
        largest_graph=_largest_graph(config),
        expert_parallel=_switch(config, "enable_expert_parallel", False),
        rocm=rocm,
        flashinfer_sampler=_said(config, "VLLM_USE_FLASHINFER_SAMPLER"),
        estimates_graphs=_said(config, "VLLM_MEMORY_PROFILER_ESTIMATE_CUDAGRAPHS"),
        adapters=_adapters(config, dtype),
        v2_runner=not is_cpu and _switch(config, "VLLM_USE_V2_MODEL_RUNNER", newer),
    )
    if flags.max_num_batched_tokens < flags.max_num_seqs:
        raise InputError(
            f"{flags.max_num_batched_tokens} is below --max-num-seqs {flags.max_num_seqs}: "
            "the engine refuses to start; raise it to that",
            "--max-num-batched-tokens",
        )
    utilization = config.number("gpu_memory_utilization") or float(
        assumed_default("gpu_memory_utilization", version)
    )
    return Sized(
        flags,
        tuple(notes),
        auto,
        utilization,
        _switch(config, "enforce_eager", False),
        speculation.draft,
        (*too_long, *ended),
    )


_NOT_COUNTED = {
    "cpu_offload_gb": "that much of the weights stays in the host's memory, and the pool is larger by it",
    "lora_target_modules": "only modules of these names have places for adapters, which take less than planned",
    "enable_tower_connector_lora": "the tower has places for adapters, too",
    "hf_overrides": "the model's configuration is taken as it is published",
    "prefill_context_parallel_size": "a prompt's cache is spread over that many cards",
    "kv_transfer_config": "a connector may switch off what keeps the cache of hybrid models small",
    "compilation_config": "which graphs are recorded",
}
"""Settings that affect memory and are not modelled."""
_OFF = ("0", "0.0", "1", "false", "none", "{}")


def _refuse_impossible(config: EngineConfig) -> None:
    """Errors: InputError naming an argument whose number no engine can have."""
    for name, given in config.values.items():
        bounds = bounds_of(name)
        if bounds is None or given.provenance == "version-default":
            continue
        number = _number(given.value)
        is_auto = SETTINGS[name].kind == "length" and number == -1
        if isinstance(given.value, bool) or number is None or number in bounds or is_auto:
            continue
        raise InputError(f"{given.value} cannot be; a number {bounds} is wanted", option_of(name))


def _number(value: object) -> float | None:
    """The number that a value is, also `nan` and `inf`; None for a word."""
    try:
        return float(str(value))
    except ValueError:
        return None


def _length(model: Architecture, config: EngineConfig, notes: list[str]) -> tuple[int, bool]:
    given = config.get("max_model_len")
    if given is not None and str(given.value).lower() in ("auto", "-1", "-1.0"):
        return model.max_position_tokens or 131072, True
    if given is not None and isinstance(given.value, int | float) and given.value > 0:
        return int(given.value), False
    if (
        given is not None
        and is_given(config, "max_model_len")
        and isinstance(given.value, int | float)
    ):
        raise InputError(
            f"{given.value} cannot be; a number above 0, -1 or auto is wanted", "--max-model-len"
        )
    if not model.max_position_tokens:
        notes.append(
            "neither the config nor a flag says how long a sequence may be: planned for 8192 tokens"
        )
        return 8192, False
    return model.max_position_tokens, False


_LENGTHENS = ("hf_overrides", "rope_scaling", "rope_theta")


def _too_long(
    model: Architecture, config: EngineConfig, length: int, notes: list[str]
) -> tuple[str, ...]:
    """The refusal of a length above the model's own, if nothing allows it. Source: vLLM 0.32.0,
    _get_and_verify_max_len.
    """
    read = model.fields
    own = max(
        model.max_position_tokens,
        *(read.integer(name, 0) for name in ("max_position_embeddings", "model_max_length")),
    )
    if not model.max_position_tokens or length <= own:
        return ()
    above = f"--max-model-len {length:,} is above the model's own {own:,}"
    scaled = next((name for name in config.values if name.partition(".")[0] in _LENGTHENS), None)
    allowed = (
        "VLLM_ALLOW_LONG_MAX_MODEL_LEN"
        if _switch(config, "VLLM_ALLOW_LONG_MAX_MODEL_LEN", False)
        else scaled
    )
    if allowed is not None:
        notes.append(f"{above}: taken, as {allowed} is there")
        return ()
    return (
        f"{above}, which vLLM refuses without --hf-overrides or VLLM_ALLOW_LONG_MAX_MODEL_LEN=1",
    )


def _dtype(model: Architecture, config: EngineConfig) -> str:
    dtype = _text(config, "dtype", "auto")
    if dtype == "auto":
        dtype = "bfloat16" if model.dtype in ("float32", "fp8", "") else model.dtype
    item_bytes(dtype)
    return dtype


def _kv_dtype(
    model: Architecture, config: EngineConfig, version: EngineVersion, notes: list[str]
) -> str:
    given = _text(config, "kv_cache_dtype", "auto").split(" ")[0].strip("'\"")
    if any(isinstance(cache, Compressed) for layer in model.layers for cache in layer):
        return "fp8_ds_mla"
    if given != "auto":
        return given
    quantization = model.config.get("quantization_config") or model.text.get("quantization_config")
    if isinstance(quantization, dict) and version.at_least("0.12.0"):
        scheme = quantization.get("kv_cache_scheme")
        if isinstance(scheme, dict) and scheme.get("num_bits") == 8 and _is_own(model, config):
            notes.append(
                "the checkpoint brings scales for an fp8 KV cache, and kv_cache_dtype auto "
                "uses them"
            )
            return "fp8"
    return "auto"


def _is_own(model: Architecture, config: EngineConfig) -> bool:
    """False if --quantization names another format than the configuration describes: then the
    file is a sibling checkpoint's, and what it says of the KV cache is not this one's.
    """
    flag = _text(config, "quantization", "")
    stated = weight_format(model.config, model.text, flag or None, "bfloat16")
    return not flag or stated.name == weight_format(model.config, model.text, None, "bfloat16").name


def _block(model: Architecture, version: EngineVersion, capability: float, is_cpu: bool) -> int:
    """The block size of the backend that this version would pick. Source: vLLM 0.19.0 to 0.32.0,
    platform and attention backends.
    """
    if is_cpu:
        return 128
    caches = [cache for layer in model.layers for cache in layer]
    if any(isinstance(cache, Compressed) for cache in caches):
        return 256
    if any(isinstance(cache, Indexer) and not cache.plain for cache in caches):
        return 64
    if any(isinstance(cache, Indexer) for cache in caches):
        return 128
    if model.uses_mla and (version.before("0.12.0") or 10.0 <= capability < 11.0):
        return 64
    return BLOCK_TOKENS


def _async(config: EngineConfig, version: EngineVersion, speculation: Speculation) -> bool:
    """Whether the scheduler runs ahead: as set, else by the version unless the way of speculating
    forbids it.
    """
    return _switch(config, "async_scheduling", version.at_least("0.14.0")) and (
        is_given(config, "async_scheduling") or speculation.keeps_async
    )


def _adapters(config: EngineConfig, dtype: str) -> Adapters | None:
    """The places that --enable-lora keeps, None without it. Errors: InputError for a number that
    cannot be.
    """
    if not _is_on(config, "enable_lora"):
        return None
    stated = _text(config, "lora_dtype", "auto")
    return Adapters(
        places=_whole(config, "max_loras") or 1,
        rank=_whole(config, "max_lora_rank") or 16,
        dtype=dtype if stated == "auto" else stated,
        fully_sharded=_switch(config, "fully_sharded_loras", False),
    )


def _graph_sizes(config: EngineConfig) -> tuple[int, ...]:
    """The batch sizes of graphs, where they are listed; a single one of --cuda-graph-sizes is the
    largest.
    """
    sizes = _numbers(config, "cudagraph_capture_sizes")
    older = _numbers(config, "cuda_graph_sizes")
    return sizes or (older if len(older) > 1 else ())


def _largest_graph(config: EngineConfig) -> int | None:
    older = _numbers(config, "cuda_graph_sizes")
    given = config.number("max_cudagraph_capture_size")
    return int(given) if given is not None else older[0] if len(older) == 1 else None


def _numbers(config: EngineConfig, name: str) -> tuple[int, ...]:
    return tuple(int(word) for word in _text(config, name, "").split() if word.isdecimal())


def _is_on(config: EngineConfig, name: str) -> bool:
    return is_given(config, name) and _text(config, name, "none").lower() not in _OFF


def _switch(config: EngineConfig, name: str, default: bool) -> bool:
    return is_on(config, name, default=default)


def _said(config: EngineConfig, name: str) -> bool | None:
    """A switch as it was given; None if it was not."""
    return _switch(config, name, False) if is_given(config, name) else None


def _text(config: EngineConfig, name: str, default: str) -> str:
    found = config.get(name)
    return default if found is None or found.value in ("", "None") else str(found.value)


def _whole(config: EngineConfig, name: str) -> int | None:
    found = config.number(name)
    return int(found) if found is not None and found > 0 else None
