"""Architecture and flags -> the caches of each layer on one rank, with the block sizes that this
engine version would choose.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from math import lcm

from barostat.core.errors import InputError
from barostat.kv.architecture import (
    Architecture,
    Chunked,
    Compressed,
    Cross,
    Full,
    Indexer,
    Latent,
    Layer,
    State,
    Window,
)
from barostat.kv.deployment import Deployment
from barostat.kv.dtypes import head_token_bytes, item_bytes, latent_token_bytes
from barostat.kv.layer_spec import LayerSpec

# fp8 rows and one 4-byte scale per 128 numbers. Source: vLLM 0.32.0, DeepseekV32IndexerCache.
_INDEX_SCALE_BYTES = 4
_INDEX_SCALE_GROUP = 128


def rank_heads(total: int, tp: int) -> int:
    """KV heads on one rank; ranks beyond the number of heads hold copies."""
    return max(1, total // tp)


def check_parallelism(model: Architecture, flags: Deployment) -> None:
    """Nothing, where the heads divide over the ranks.

    Errors: InputError with the nearest tensor-parallel size that works.
    """
    bad = flags.tp < 1 or (model.heads and model.heads % flags.tp)
    bad = bad or (
        model.kv_heads
        and model.kv_heads % flags.tp
        and flags.tp % model.kv_heads
        and not model.uses_mla
    )
    for layer in model.layers:
        for cache in layer:
            bad = bad or (isinstance(cache, State) and cache.heads % flags.tp != 0)
    if bad:
        works = [
            size for size in range(1, max(2, 2 * flags.tp + 1))
            if (not model.heads or model.heads % size == 0)
            and (not model.kv_heads or model.uses_mla or model.kv_heads % size == 0 or size % model.kv_heads == 0)
            and all(not isinstance(cache, State) or cache.heads % size == 0 for layer in model.layers for cache in layer)
        ]  # fmt: skip
        nearest = min(works, key=lambda size: (abs(size - flags.tp), -size)) if works else 1
        raise InputError(
            f"{model.heads} attention heads ({model.kv_heads} KV heads) do not divide over "
            f"{flags.tp} ranks; "
            f"the nearest that does is --tp {nearest}",
            "--tp",
        )
    if flags.pp < 1 or flags.pp > len(model.layers):
        raise InputError(
            f"{len(model.layers)} layers cannot be split into {flags.pp} pipeline stages; "
            f"use at most {len(model.layers)}",
            "--pp",
        )
    if flags.dcp > 1 and flags.tp % flags.dcp:
        raise InputError(
            f"--dcp {flags.dcp} must divide --tp {flags.tp}: context parallelism lives "
            "inside the tensor-parallel ranks",
            "--dcp",
        )


def stages(layer_count: int, pp: int) -> list[range]:
    """Which layers each pipeline stage holds.

    Layers left over go to the stages before the last, the last one excluded where it can be: it
    holds the output head.
    Source: vLLM 0.32.0, get_pp_indices.
    """
    base, left = divmod(layer_count, pp)
    sizes = [base] * pp
    for position in range(2, left + 2):
        sizes[-position] += 1
    ranges, start = [], 0
    for size in sizes:
        ranges.append(range(start, start + size))
        start += size
    return ranges


def state_bytes(cache: State, flags: Deployment, model_dtype: str) -> int:
    """Bytes of one request's state in one layer on one rank, unpadded."""
    conv_dtype = model_dtype if flags.mamba_cache_dtype == "auto" else flags.mamba_cache_dtype
    state_dtype = (
        cache.state_dtype if flags.mamba_ssm_cache_dtype == "auto" else flags.mamba_ssm_cache_dtype
    )
    if state_dtype == "auto":
        state_dtype = conv_dtype
    groups = cache.groups if cache.groups % flags.tp == 0 else flags.tp
    steps = (
        cache.conv_kernel
        - 1
        + (flags.num_speculative_tokens if cache.grows_with_speculation else 0)
    )
    conv = (cache.conv_channels + cache.group_channels * groups) // flags.tp * steps
    return conv * item_bytes(conv_dtype) + cache.state_values // flags.tp * item_bytes(state_dtype)


def resolved_block_tokens(model: Architecture, flags: Deployment) -> tuple[int, int]:
    """The block size the engine ends up with, and the page its states are padded to (0: no
    padding).

    A hybrid's attention block is raised until its page holds a state.
    Source: vLLM 0.32.0, Platform.update_block_size_for_backend; before 0.11.0 only the state was
    known to fit by hand.
    """
    if not model.is_hybrid:
        return flags.block_size, 0
    caches = [cache for layer in model.layers for cache in layer]
    largest_state = max(
        state_bytes(cache, flags, flags.dtype) for cache in caches if isinstance(cache, State)
    )
    token_bytes = _attention_token_bytes(model, flags)
    if largest_state == 0 or token_bytes == 0:
        return flags.block_size, 0
    smallest = flags.min_kernel_block_tokens
    if flags.state_mode == "all":
        step = lcm(flags.state_chunk_tokens, max(smallest, flags.block_size))
        block = step * -(-largest_state // _int(step * token_bytes))
        return block, _int(block * token_bytes)
    step = max(smallest, flags.block_size)
    if model.uses_mla and flags.version.at_least("0.14.0"):
        step = max(step, 128)
    block = step * -(-largest_state // _int(step * token_bytes))
    block = lcm(smallest, 1) * -(-block // smallest)
    block = max(block, flags.block_size)
    return block, _int(block * token_bytes)


def _attention_token_bytes(model: Architecture, flags: Deployment) -> Fraction:
    """Bytes of one token in one attention layer as used for alignment: the model's main attention."""
    for layer in model.layers:
        for cache in layer:
            if isinstance(cache, Latent):
                return Fraction(latent_token_bytes(flags.kv_cache_dtype, flags.dtype, cache.dim))
    for layer in model.layers:
        for cache in layer:
            if isinstance(cache, Full | Window | Chunked):
                return rank_heads(cache.kv_heads, flags.tp) * head_token_bytes(
                    flags.kv_cache_dtype, flags.dtype, cache.key_dim, cache.value_dim
                )
    return Fraction(0)


def _int(value: Fraction | int) -> int:
    return int(value) if value == int(value) else int(value) + 1


def layer_specs(
    layer: Layer, flags: Deployment, block_tokens: int, state_page_bytes: int
) -> list[LayerSpec]:
    """The caches of one transformer layer on one rank."""
    specs: list[LayerSpec] = []
    for cache in layer:
        match cache:
            case Full():
                specs.append(
                    LayerSpec(
                        "full",
                        block_tokens,
                        _page(cache, flags, block_tokens),
                        shape=_shape(cache, flags),
                    )
                )
            case Window():
                page = _page(cache, flags, block_tokens)
                specs.append(
                    LayerSpec(
                        "window",
                        block_tokens,
                        page,
                        cache.window_tokens,
                        shape=_shape(cache, flags),
                    )
                )
            case Chunked():
                page = _page(cache, flags, block_tokens)
                specs.append(
                    LayerSpec(
                        "chunked",
                        block_tokens,
                        page,
                        cache.chunk_tokens,
                        shape=_shape(cache, flags),
                    )
                )
            case Latent():
                row = _latent_row_bytes(layer, cache, flags)
                leader = "leader" if any(isinstance(other, Indexer) for other in layer) else ""
                specs.append(
                    LayerSpec(
                        "latent",
                        block_tokens,
                        block_tokens * row,
                        role=leader,
                        shape=(1, cache.dim),
                    )
                )
            case Indexer():
                scales = -(-cache.head_dim // _INDEX_SCALE_GROUP) * _INDEX_SCALE_BYTES
                row = (
                    cache.head_dim * item_bytes(flags.dtype)
                    if cache.plain
                    else cache.head_dim + scales
                )
                specs.append(
                    LayerSpec(
                        "latent", block_tokens, block_tokens * row, role="indexer", shape=(1, row)
                    )
                )
            case State():
                page = max(state_page_bytes, state_bytes(cache, flags, flags.dtype))
                states = _states(cache, flags)
                block = flags.max_model_len if flags.state_mode == "none" else block_tokens
                specs.append(LayerSpec("state", block, page, states=states))
            case Cross():
                page = _page(cache, flags, block_tokens)
                specs.append(
                    LayerSpec(
                        "cross",
                        block_tokens,
                        page,
                        encoder_tokens=cache.encoder_tokens,
                        shape=_shape(cache, flags),
                    )
                )
            case Compressed():
                specs.extend(_compressed_specs(cache, flags))
    if flags.retained_tokens:
        kept = flags.retained_tokens
        specs = [
            replace(spec, retained_tokens=kept)
            if spec.kind in ("window", "window-latent")
            else spec
            for spec in specs
        ]
    return specs


def _states(cache: State, flags: Deployment) -> int:
    """Blocks of a state that one request holds: one running; with prefix caching one more to copy
    from, and Mamba-2's checkpoint (0.31). 0: one for every block of tokens.
    """
    if flags.state_mode == "all":
        return 0
    if flags.state_mode == "none":
        return 1 + flags.num_speculative_tokens
    checkpoint = 1 if cache.kind == "mamba2" and flags.version.at_least("0.31.0") else 0
    return 2 + flags.num_speculative_tokens + checkpoint


def _page(cache: Full | Window | Chunked | Cross, flags: Deployment, block_tokens: int) -> int:
    one = head_token_bytes(flags.kv_cache_dtype, flags.dtype, cache.key_dim, cache.value_dim)
    return _int(block_tokens * rank_heads(cache.kv_heads, flags.tp) * one)


def _shape(cache: Full | Window | Chunked | Cross, flags: Deployment) -> tuple[int, ...]:
    return (rank_heads(cache.kv_heads, flags.tp), cache.key_dim, cache.value_dim)


def _latent_row_bytes(layer: Layer, cache: Latent, flags: Deployment) -> int:
    """One token's latent; V0 started each on a multiple of 256 bytes from 0.7.2 until 0.8.0.

    Source: vLLM's pull requests 12676 and 14842.
    """
    row = latent_token_bytes(_latent_dtype(layer, flags), flags.dtype, cache.dim)
    aligned = (
        flags.generation == "V0"
        and flags.version.at_least("0.7.2")
        and flags.version.before("0.8.0")
    )
    return -(-row // 256) * 256 if aligned else row


def _latent_dtype(layer: Layer, flags: Deployment) -> str:
    """fp8 of a sparse MLA layer means the packed row, where the backend packs it."""
    sparse = any(isinstance(cache, Indexer) and not cache.plain for cache in layer)
    return (
        "fp8_ds_mla"
        if sparse and flags.kv_cache_dtype.startswith("fp8") and flags.fp8_latent_packed
        else flags.kv_cache_dtype
    )


# DeepSeek V4. Source: vLLM 0.32.0, DeepseekV4Attention, CompressorStateCache,
# DeepseekSparseSWABackend.
_V4_BLOCK_TOKENS = 256
_V4_ROW_BYTES = 584
_V4_ALIGNMENT_BYTES = 576


def _aligned(size_bytes: int) -> int:
    return -(-size_bytes // _V4_ALIGNMENT_BYTES) * _V4_ALIGNMENT_BYTES


def _compressed_specs(cache: Compressed, flags: Deployment) -> list[LayerSpec]:
    """The caches of one DeepSeek V4 layer: window; latent per `ratio` tokens; compressor states;
    indexer and its compressor's state.
    """
    block = max(_V4_BLOCK_TOKENS, flags.block_size)
    window_block = 64
    specs = [
        LayerSpec(
            "window-latent",
            window_block,
            _aligned(window_block * _V4_ROW_BYTES),
            cache.window_tokens,
            role="window",
        )
    ]
    if cache.ratio <= 1:
        return specs
    overlap = 2 if cache.ratio == 4 else 1
    state_block, reach = (4 if cache.ratio == 4 else 8), overlap * cache.ratio
    if block % cache.ratio:
        raise InputError(
            f"the block size {block} is no multiple of the compression ratio {cache.ratio}",
            "--block-size",
        )
    specs.append(
        LayerSpec(
            "latent",
            block,
            _aligned(block // cache.ratio * _V4_ROW_BYTES),
            role=f"1 of {cache.ratio}",
        )
    )
    specs.append(
        LayerSpec(
            "window-latent",
            state_block,
            _aligned(state_block * 2 * overlap * cache.head_dim * 4),
            reach,
            role="compressor",
        )
    )
    if cache.ratio == 4:
        row = cache.index_head_dim + _INDEX_SCALE_BYTES * -(
            -cache.index_head_dim // _INDEX_SCALE_GROUP
        )
        specs.append(LayerSpec("latent", block, _aligned(block // cache.ratio * row), role="index"))
        index_state = _aligned(state_block * 2 * overlap * cache.index_head_dim * 4)
        specs.append(
            LayerSpec("window-latent", state_block, index_state, reach, role="index compressor")
        )
    return specs
