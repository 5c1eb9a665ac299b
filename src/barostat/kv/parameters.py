"""How many weights a model has, by component and layer, from its config.json.

Units: numbers of parameters. `split`: divided over tensor-parallel ranks; else every rank holds a
copy.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import isqrt
from typing import Literal, NamedTuple

from barostat.core.units import ceil_div
from barostat.kv.architecture import (
    Architecture,
    Compressed,
    Cross,
    Full,
    Indexer,
    Latent,
    Layer,
    State,
    Window,
)
from barostat.kv.config_json import ConfigJson
from barostat.kv.searched_layers import searched_width

Component = Literal[
    "attention",
    "mlp",
    "experts",
    "shared experts",
    "router",
    "embedding",
    "head",
    "state",
    "tower",
    "norm",
    "compressor",
]

# MLPs with one projection in instead of two: their activation has no gate.
UNGATED_TYPES = frozenset(
    (
        "opt",
        "gpt2",
        "gpt_neox",
        "gpt_bigcode",
        "gptj",
        "bloom",
        "falcon",
        "mpt",
        "starcoder2",
        "phi",
        "nemotron",
        "nemotron_h",
        "whisper",
        "refinedweb",
    )
)

# What 4-bit expert kernels round a rank's part of the width up to. Source: vLLM 0.32.0, as for the
# hidden size below.
_KERNEL_WIDTH = 128


@dataclass(frozen=True, slots=True)
class Weights:
    """Some parameters of one component. `padded_width`: each rank's part of this width is padded to
    what the kernel takes; 0: it is not.
    """

    component: Component
    count: int
    split: bool = True
    padded_width: int = 0

    def on_rank(self, tp: int) -> float:
        """Parameters that each of `tp` ranks holds."""
        if self.padded_width:
            return (
                self.count
                / self.padded_width
                * (ceil_div(ceil_div(self.padded_width, tp), _KERNEL_WIDTH) * _KERNEL_WIDTH)
            )
        return self.count / tp if self.split else self.count


class Feed(NamedTuple):
    """The feed-forward of one layer: `projections` of its experts, and of a plain MLP with that
    `width` (0: none).
    """

    projections: int
    experts: bool
    width: int


def decoder_weights(model: Architecture) -> list[list[Weights]]:
    """The parameters of each decoder layer, in order. Layers of one kind are looked up once: models
    have many layers of few kinds.
    """
    config = model.fields
    kinds: dict[tuple[Layer, Feed], list[Weights]] = {}
    found = []
    for kind in zip(model.layers, feeds(config, model), strict=True):
        if kind not in kinds:
            kinds[kind] = _layer_weights(config, model, *kind)
        found.append(kinds[kind])
    return found


def _layer_weights(
    config: ConfigJson, model: Architecture, layer: Layer, feed: Feed
) -> list[Weights]:
    hidden = model.hidden_size
    found: list[Weights] = [Weights("norm", 2 * hidden, split=False)]
    for cache in layer:
        match cache:
            case Full() | Window() | Cross():
                found.append(
                    _grouped_attention(
                        config, model, cache.kv_heads, cache.key_dim, cache.value_dim
                    )
                )
            case Latent():
                found.extend(_latent_attention(config, model))
            case Indexer():
                rank = config.integer("q_lora_rank", 0) or hidden
                heads = config.integer("index_n_heads", 64)
                found.append(
                    Weights(
                        "attention",
                        rank * heads * cache.head_dim + hidden * (cache.head_dim + heads),
                        split=False,
                    )
                )
            case State():
                found.append(_state(cache, hidden))
            case Compressed():
                found.extend(_compressed_attention(config, model, cache))
            case _:
                found.append(
                    _grouped_attention(
                        config, model, cache.kv_heads, cache.key_dim, cache.value_dim
                    )
                )
    if not layer and config.has(
        "num_kv_shared_layers"
    ):  # attends to an earlier layer's cache: queries and output only
        found.append(Weights("attention", 2 * hidden * model.heads * model.head_dim))
    found.extend(_feed_weights(config, hidden, feed))
    if (extra := config.integer("hidden_size_per_layer_input", 0)) > 0:
        found.append(Weights("mlp", 2 * hidden * extra, split=False))
    return found


def _grouped_attention(
    config: ConfigJson, model: Architecture, kv_heads: int, key_dim: int, value_dim: int
) -> Weights:
    hidden = model.hidden_size
    # also where the checkpoint has keys only (attention_k_eq_v): the engine loads them into both
    values = value_dim
    count = (
        hidden * model.heads * key_dim
        + hidden * kv_heads * (key_dim + values)
        + model.heads * value_dim * hidden
    )
    gated = any(
        isinstance(cache, State) and cache.kind == "gated delta net"
        for layer in model.layers
        for cache in layer
    )
    if config.flag("attn_output_gate", gated):  # those families gate unless they say otherwise
        count += hidden * model.heads * key_dim
    return Weights("attention", count)


def _latent_attention(config: ConfigJson, model: Architecture) -> list[Weights]:
    """Low-rank projections are copied to every rank, the per-head ones are divided."""
    hidden, heads = model.hidden_size, model.heads
    nope, rope = config.integer("qk_nope_head_dim", 128), config.integer("qk_rope_head_dim", 64)
    value, latent = config.integer("v_head_dim", 128), config.integer("kv_lora_rank", 512)
    query_rank = config.integer("q_lora_rank", 0)
    queries = (query_rank or hidden) * heads * (nope + rope)
    per_head = queries + latent * heads * (nope + value) + heads * value * hidden
    low_rank = hidden * query_rank + hidden * (latent + rope)
    return [Weights("attention", per_head), Weights("attention", low_rank, split=False)]


def _compressed_attention(
    config: ConfigJson, model: Architecture, cache: Compressed
) -> list[Weights]:
    """The compressors, the indexer's among them, are in no format. Source: vLLM 0.25.0 to 0.31.0,
    DeepseekCompressor.
    """
    hidden, heads, dim = model.hidden_size, model.heads, cache.head_dim
    query_rank = config.integer("q_lora_rank", 1024) or hidden
    out_rank, groups = config.integer("o_lora_rank", 1024), config.integer("o_groups", 8) or 1
    per_head = query_rank * heads * dim + heads * dim * out_rank + out_rank * groups * hidden
    overlap = 2 if cache.ratio == 4 else 1
    compressors = 2 * overlap * dim * hidden if cache.ratio > 1 else 0
    low_rank = hidden * (query_rank + dim)
    if cache.ratio == 4:
        index_heads = config.integer("index_n_heads", 64)
        low_rank += query_rank * index_heads * cache.index_head_dim
        compressors += hidden * index_heads + 4 * cache.index_head_dim * hidden
    return [
        Weights("attention", per_head),
        Weights("attention", low_rank, split=False),
        Weights("compressor", compressors, split=False),
    ]


def _state(cache: State, hidden: int) -> Weights:
    """Projections in and out of a state layer, and its convolution."""
    channels = cache.conv_channels + cache.groups * cache.group_channels
    match cache.kind:
        case "gated delta net":
            values = cache.state_values // _key_dim(cache)
            count = (
                hidden * (channels + values)
                + 2 * hidden * cache.heads
                + values * hidden
                + channels * cache.conv_kernel
            )
        case "kimi delta attention":
            inner = channels // 3
            count = (
                hidden * channels
                + 2 * hidden * 128
                + 2 * 128 * inner
                + hidden * cache.heads
                + inner * hidden
            )
        case "short convolution":
            count = 4 * hidden * channels
        case "mamba":
            count = (
                2 * hidden * channels
                + channels * (hidden // 16 + 32)
                + hidden // 16 * channels
                + channels * hidden
            )
        case "linear attention":
            count = 5 * hidden * hidden
        case _:  # mamba2: gate, values, B, C and one step per head
            inner = cache.conv_channels
            count = (
                hidden * (inner + channels + cache.heads)
                + inner * hidden
                + channels * cache.conv_kernel
            )
    return Weights("state", count)


def _key_dim(cache: State) -> int:
    """Values per head of the key side: heads x value_dim x key_dim values make the state, and key
    and value dims are equal where used.
    """
    per_head = cache.state_values // max(1, cache.heads)
    return max(1, isqrt(per_head))


def _moe_layers(config: ConfigJson, layers: int) -> list[bool]:
    """Which layers' feed-forward is a mixture of experts."""
    if not config.has_experts:
        return [False] * layers
    everywhere = range(layers)
    types = [str(kind) for kind in config.listed("mlp_layer_types")]
    listed = config.string("moe_layers_enum")
    frequency = config.listed("moe_layer_freq")
    if listed:
        numbers = listed.split(",")
        found = [str(index) in numbers for index in everywhere]
    elif config.has("expert_layer_period"):
        period, offset = (
            max(1, config.integer("expert_layer_period")),
            config.integer("expert_layer_offset", 0),
        )
        found = [index % period == offset for index in everywhere]
    elif config.has("interleave_moe_layer_step"):
        found = [
            (index + 1) % max(1, config.integer("interleave_moe_layer_step")) == 0
            for index in everywhere
        ]
    else:
        dense, only = config.integer("first_k_dense_replace", 0), config.listed("mlp_only_layers")
        step = max(1, config.integer("decoder_sparse_step", 1))
        found = [
            index >= dense and index not in only and (index + 1) % step == 0 for index in everywhere
        ]
    if not listed:
        found = [
            bool(frequency[index]) if index < len(frequency) else found[index]
            for index in everywhere
        ]
    return [
        types[index] == "sparse" if index < len(types) else found[index] for index in everywhere
    ]


def feeds(config: ConfigJson, model: Architecture) -> list[Feed]:
    """Return the composition of each decoder layer's feed-forward, in order."""
    ungated = config.model_type in UNGATED_TYPES
    projections = 2 if ungated else 3
    layers = range(len(model.layers))
    inner = config.integer("intermediate_size", 0) or (4 * model.hidden_size if ungated else 0)
    pattern = config.string("hybrid_override_pattern") or [
        str(kind) for kind in config.listed("layers_block_type")
    ]
    if pattern and config.model_type.startswith("nemotron_h"):
        kinds = [pattern[index] if index < len(pattern) else "" for index in layers]
        return [
            Feed(2, kind in ("E", "moe"), inner if kind in ("-", "mlp") else 0) for kind in kinds
        ]
    if config.has("block_configs"):
        return [Feed(projections, False, searched_width(config, index)) for index in layers]
    dense = config.integer("intermediate_size_mlp", 0) or inner
    wide = 2 if config.flag("use_double_wide_mlp") else 1
    beside = inner if config.flag("enable_moe_block") else 0
    return [
        Feed(projections, True, beside)
        if moe
        else Feed(projections, False, dense if layer else wide * dense)
        for moe, layer in zip(_moe_layers(config, len(model.layers)), model.layers, strict=True)
    ]


def _feed_weights(config: ConfigJson, hidden: int, feed: Feed) -> list[Weights]:
    found = _mixture(config, hidden, feed.projections) if feed.experts else []
    return found + ([Weights("mlp", feed.projections * hidden * feed.width)] if feed.width else [])


def _mixture(config: ConfigJson, hidden: int, projections: int) -> list[Weights]:
    """Experts, shared experts and the router."""
    experts = config.integer("num_experts")
    inner = (
        config.integer("moe_intermediate_size", 0)
        or config.integer("expert_dim", 0)
        or config.integer("intermediate_size", 0)
    )
    latent = config.integer("moe_latent_size", 0) or config.integer("routed_expert_hidden_size", 0)
    width = latent or hidden
    if (
        "mxfp4" in str(config.mapping("quantization_config").get("quant_method", ""))
        or config.model_type == "gpt_oss"
    ):
        # What the 4-bit kernels take. Source: vLLM 0.32.0,
        # mxfp4_round_up_hidden_size_and_intermediate_size of Marlin and TRT-LLM.
        expert = Weights(
            "experts",
            experts * projections * (ceil_div(width, 256) * 256) * inner,
            padded_width=inner,
        )
    else:
        expert = Weights("experts", experts * projections * width * inner)
    found = [expert, Weights("router", hidden * experts, split=False)]
    if latent:
        found.append(Weights("shared experts", 2 * hidden * latent, split=False))
    own = config.integer("moe_shared_expert_intermediate_size", 0) or config.integer(
        "shared_expert_intermediate_size", 0
    )
    own = (
        own
        or config.integer("share_expert_dim", 0)
        or config.integer("shared_intermediate_size", 0)
    )
    number = config.integer("n_shared_experts", config.integer("num_shared_experts", 0))
    shared = own or number * inner
    if config.model_type.startswith("llama4"):
        shared = config.integer("intermediate_size", 0)
    if shared:
        found.append(Weights("shared experts", projections * hidden * shared))
    return found


def embedding_weights(model: Architecture) -> int:
    """Parameters of the token embedding; the output head has as many."""
    config = model.fields
    extra = config.integer("hidden_size_per_layer_input", 0)
    return model.vocab_size * model.hidden_size + extra * config.integer(
        "vocab_size_per_layer_input", model.vocab_size
    ) * len(model.layers)


def ties_embeddings(model: Architecture) -> bool:
    """True if the output head reuses the embedding. Silent configs follow their family's
    default.
    """
    for config in (model.config, model.text):
        if isinstance(found := config.get("tie_word_embeddings"), bool):
            return found
    return str(model.text.get("model_type", "")).startswith(
        ("gemma", "cohere", "gpt2", "opt", "bloom", "starcoder2", "mpt", "falcon")
    )
