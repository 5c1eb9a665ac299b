"""Bytes of weights on one GPU: parameters by component, their format, how parallelism divides them,
and what the engine prepares.

While it loads, the engine makes tables of rotary angles and takes latent projections apart; both
count as weights in its log ("Model loading took"). Source: vLLM 0.32.0, rotary_embedding.get_rope
and its classes, MLACommonImpl.process_weights_after_loading; before 0.8 MLACommonImpl with matrix
absorption.
"""

from __future__ import annotations

from dataclasses import dataclass

from barostat.core.units import ceil_div
from barostat.kv.architecture import Architecture, Chunked, Compressed, Full, Latent, Window
from barostat.kv.build_specs import stages
from barostat.kv.config_json import ConfigJson
from barostat.kv.parameters import Weights, decoder_weights, embedding_weights, ties_embeddings
from barostat.kv.profiled.towers import splits_tower, tower_weights
from barostat.kv.quantization import WeightFormat

# vLLM pads the vocabulary to a multiple of this, and each rank takes an equal part. Source: vLLM
# 0.32.0, DEFAULT_VOCAB_PADDING_SIZE.
_VOCAB_PADDING = 64

# Positions of an image or a video run ahead of the tokens: the table is this many times as long.
_MULTIMODAL_POSITIONS = 4
# Published Gemma 3 models of several modalities stretch their global layers by this; configs in
# short form leave it out.
_GEMMA3_STRETCH = 8.0
# What is kept in float32 whatever the model's dtype is: DeepSeek V4's tables of angles and residual
# mixing.
_WIDE_BYTES = 4


@dataclass(frozen=True, slots=True)
class WeightBytes:
    """Bytes on the GPU of each pipeline stage, and by component on the largest. `parameters`: of
    the whole model.
    """

    by_stage: tuple[int, ...]
    by_component: dict[str, int]
    parameters: int

    @property
    def largest(self) -> int:
        """Bytes of the largest pipeline stage."""
        return max(self.by_stage)


def weight_bytes(
    model: Architecture,
    form: WeightFormat,
    tp: int,
    pp: int,
    *,
    dp: int = 1,
    absorbs_latents: bool = False,
    text_only: bool = False,
) -> WeightBytes:
    """The bytes each stage's GPUs hold once the model is loaded.

    `dp`: data-parallel ranks, over which a mixture's experts are spread (see `_held`).
    `absorbs_latents`: as engines before 0.8, which multiply the latents' projections into their
    neighbours (see `latent_copies`). `text_only`: started for text alone, the engine loads no
    tower.
    """
    embedding = embedding_weights(model)
    padded = embedding + (-model.vocab_size % _VOCAB_PADDING) * model.hidden_size
    tied = ties_embeddings(model)
    tower = 0 if text_only else tower_weights(model)
    parameters = embedding * (1 if tied else 2) + tower
    by_stage: list[int] = []
    largest: dict[str, int] = {}
    ranges = stages(len(model.layers), pp)
    of_layer = decoder_weights(model)
    for number, layers in enumerate(ranges):
        parts: dict[str, float] = {}
        for index in layers:
            for weights in of_layer[index]:
                parameters += weights.count
                parts[weights.component] = parts.get(weights.component, 0.0) + _held(
                    weights, tp, dp
                ) * form.bytes_of(weights.component)
        parts["prepared"] = rotary_bytes(model, form.plain_bytes) + latent_copies(
            model, len(layers), form, tp, absorbs=absorbs_latents
        )
        parts["prepared"] += _mixing_bytes(model) * len(layers)
        first, last = number == 0, number == len(ranges) - 1
        if first or (last and tied):
            parts["embedding"] = ceil_div(padded, tp) * form.bytes_of("embedding")
        if last and not tied:
            parts["head"] = ceil_div(padded, tp) * form.bytes_of("head")
        if first and tower:
            parts["tower"] = (tower / tp if splits_tower(model) else tower) * form.bytes_of("tower")
        total = int(sum(parts.values()))
        if not by_stage or total > max(by_stage):
            largest = {name: int(size) for name, size in parts.items()}
        by_stage.append(total)
    return WeightBytes(tuple(by_stage), largest, parameters)


def _held(weights: Weights, tp: int, dp: int) -> float:
    """Parameters on one GPU: experts are divided over the ranks of all data-parallel engines, the
    rest over those of one.

    With expert parallelism each rank has whole experts, without it a slice of each. Source: vLLM
    0.32.0, FusedMoEParallelConfig.make and flatten_tp_across_dp_and_pcp.
    """
    return weights.on_rank(tp * dp if weights.component == "experts" else tp)


def module_bytes(
    model: Architecture, index: int, count: int, form: WeightFormat, tp: int, dp: int = 1
) -> tuple[int, int]:
    """The bytes on one GPU of `count` drafting modules shaped like layer `index`: quantised as the
    model is, and in its plain dtype.

    A module is a layer and a projection from two hidden states to one; embedding and head are the
    model's own.
    """
    low = high = 0.0
    for weights in decoder_weights(model)[index]:
        on_rank = _held(weights, tp, dp)
        low += on_rank * form.bytes_of(weights.component)
        high += on_rank * form.plain_bytes
    joined = 2 * model.hidden_size**2 * form.plain_bytes
    return int((low + joined) * count), int((high + joined) * count)


def rotary_bytes(model: Architecture, item_bytes: int) -> int:
    """Bytes of the tables of angles on each GPU: one per width and scaling, shared by the layers
    that have it.
    """
    config = model.fields
    positions = (
        config.integer("max_position_embeddings", 0)
        or model.max_position_tokens
        or (131072 if "Gemma3" in model.name else 0)
    )
    caches = {cache for layer in model.layers for cache in layer}
    if compressed := [
        cache for cache in caches if isinstance(cache, Compressed)
    ]:  # one for windows, one for what is compressed
        return (
            len({cache.ratio > 1 for cache in compressed})
            * positions
            * config.integer("qk_rope_head_dim", 64)
            * _WIDE_BYTES
        )
    kinds = {
        (cache.key_dim, isinstance(cache, Full))
        for cache in caches
        if isinstance(cache, Full | Window | Chunked)
    }
    if any(isinstance(cache, Latent) for cache in caches):
        kinds.add((config.integer("qk_rope_head_dim", 64), True))
    if not positions or not kinds:
        return 0
    own = {dim for dim, _ in kinds}
    separate = "Gemma" in model.name and {full for _, full in kinds} == {True, False}
    tables = kinds if separate else {(dim, True) for dim in own}
    rotated = 1.0 if "Gemma4" in model.name or model.uses_mla else min(1.0, _rotated_ratio(config))
    sizes = [
        dim * rotated * positions * (_stretch(model, config, positions) if full else 1.0)
        for dim, full in tables
    ]
    return int(sum(sizes) * item_bytes)


def _mixing_bytes(model: Architecture) -> int:
    """Bytes on each GPU by which a layer of DeepSeek V4 mixes its residual streams, before
    attention and before the experts, in float32.

    Source: vLLM 0.25.0 to 0.31.0, DeepseekV4DecoderLayer (hc_attn_fn, hc_ffn_fn).
    """
    if not any(isinstance(cache, Compressed) for layer in model.layers for cache in layer):
        return 0
    streams = model.fields.integer("hc_mult", 4)
    return 2 * (2 + streams) * streams * streams * model.hidden_size * _WIDE_BYTES


def _rotated_ratio(config: ConfigJson) -> float:
    inner = config.mapping("rope_parameters").get("partial_rotary_factor")
    own = float(inner) if isinstance(inner, int | float) and not isinstance(inner, bool) else 1.0
    return config.number("partial_rotary_factor", own) or 1.0


def _stretch(model: Architecture, config: ConfigJson, positions: int) -> float:
    """How many times longer than the model's positions the table is."""
    scaling = config.mapping("rope_scaling") or config.mapping("rope_parameters")
    kind = str(scaling.get("rope_type", scaling.get("type", "")))
    factor, start = (
        scaling.get("factor", 1.0),
        scaling.get("original_max_position_embeddings", positions),
    )
    if (
        not isinstance(factor, int | float)
        or not isinstance(start, int | float)
        or not 0 < factor <= 1024
        or start <= 0
    ):
        factor, start = 1.0, positions
    if "mrope_section" in scaling or kind == "mrope":
        return float(_MULTIMODAL_POSITIONS)
    if kind in ("linear", "dynamic"):
        return float(factor)
    if "yarn" in kind:
        return float(start) * float(factor) / positions
    return (
        _GEMMA3_STRETCH if model.name == "Gemma3ForConditionalGeneration" and not scaling else 1.0
    )


def latent_copies(
    model: Architecture, layers: int, form: WeightFormat, tp: int, *, absorbs: bool
) -> int:
    """Bytes on each GPU of the latents' projections kept a second time: keys' and values' apart, in
    the model's own dtype.

    `absorbs`: multiplied with the queries' and the output projection as well, which stay in the
    checkpoint's format.
    """
    if not model.uses_mla or not layers:
        return 0
    config = model.fields
    nope, value = config.integer("qk_nope_head_dim", 128), config.integer("v_head_dim", 128)
    latent, rank = (
        config.integer("kv_lora_rank", 512),
        config.integer("q_lora_rank", 0) or model.hidden_size,
    )
    heads = model.heads / tp
    copies = latent * heads * (nope + value) * form.plain_bytes
    if absorbs:
        rope = config.integer("qk_rope_head_dim", 64)
        copies += (
            heads
            * (rank * (latent + rope) + latent * model.hidden_size)
            * form.bytes_of("attention")
        )
    kinds = sum(any(isinstance(cache, Latent) for cache in layer) for layer in model.layers)
    return int(copies * layers * kinds / len(model.layers))
