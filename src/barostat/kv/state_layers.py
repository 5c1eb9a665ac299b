"""Layers that keep a state per request instead of keys per token, from a config.json.

Source: vLLM 0.32.0, MambaStateShapeCalculator and get_mamba_state_shape_from_config of each model
class.
"""

from __future__ import annotations

from barostat.core.errors import InputError
from barostat.kv.architecture import Full, Latent, Layer, LayerCache, State
from barostat.kv.attention_layers import head_dim_of, kv_heads_of
from barostat.kv.config_json import ConfigJson


def _attention(config: ConfigJson) -> Full:
    dim = head_dim_of(config)
    return Full(kv_heads_of(config), dim, dim)


def gated_delta_net(config: ConfigJson) -> State:
    """The state of a gated delta net layer (Qwen3-Next, Qwen3.5, Qwen3.6)."""
    key_heads, value_heads = (
        config.integer("linear_num_key_heads"),
        config.integer("linear_num_value_heads"),
    )
    key_dim, value_dim = (
        config.integer("linear_key_head_dim"),
        config.integer("linear_value_head_dim"),
    )
    return State(
        kind="gated delta net",
        heads=value_heads,
        conv_channels=2 * key_heads * key_dim + value_heads * value_dim,
        conv_kernel=config.integer("linear_conv_kernel_dim", 4),
        state_values=value_heads * value_dim * key_dim,
        state_dtype=config.string("mamba_ssm_dtype", "auto"),
    )


def qwen_linear_layers(config: ConfigJson) -> list[Layer]:
    """Gated delta nets, with full attention where `layer_types` or the interval (every fourth)
    says.
    """
    count = config.integer("num_hidden_layers")
    types = [str(kind) for kind in config.listed("layer_types")]
    every = config.integer("full_attention_interval", 4) or 4
    attends = (
        [kind == "full_attention" for kind in types[:count]]
        if len(types) >= count
        else [(i + 1) % every == 0 for i in range(count)]
    )
    state, full = gated_delta_net(config), _attention(config)
    return [(full,) if attends[i] else (state,) for i in range(count)]


def mamba1(config: ConfigJson) -> State:
    """The state of a Mamba layer (Jamba, Mamba, Falcon-Mamba)."""
    if config.has("mamba_expand"):
        inner = config.integer("mamba_expand") * config.integer("hidden_size")
    else:
        inner = config.integer("intermediate_size", 2 * config.integer("hidden_size"))
    states = config.integer("mamba_d_state", config.integer("state_size", 16))
    return State(
        kind="mamba",
        heads=inner,
        conv_channels=inner,
        conv_kernel=config.integer("mamba_d_conv", config.integer("conv_kernel", 4)),
        state_values=inner * states,
        grows_with_speculation=False,
    )


def _mamba2(
    config: ConfigJson,
    inner: int,
    groups: int,
    heads: int,
    head_dim: int,
    states: int,
    kernel: int,
    dtype: str = "auto",
) -> State:
    if inner == 0 or heads == 0:
        raise InputError("the fields of the Mamba-2 layers are incomplete", config.source)
    return State(
        kind="mamba2", heads=heads, conv_channels=inner, conv_kernel=kernel, state_values=heads * head_dim * states,
        groups=groups, group_channels=2 * states, state_dtype=dtype,
    )  # fmt: skip


def nemotron_h_layers(config: ConfigJson) -> list[Layer]:
    """Layers by the letters of the override pattern (M state, * attention, E and - no cache) or by
    `layers_block_type`.
    """
    heads, dim = config.integer("mamba_num_heads"), config.integer("mamba_head_dim")
    state = _mamba2(
        config, heads * dim, config.integer("n_groups", 8), heads, dim, config.integer("ssm_state_size"),
        config.integer("conv_kernel", 4), config.string("mamba_ssm_cache_dtype", "float32"),
    )  # fmt: skip
    full = _attention(config)
    kinds: dict[str, Layer] = {"M": (state,), "*": (full,), "mamba": (state,), "attention": (full,)}
    pattern = config.string("hybrid_override_pattern")
    names = list(pattern) if pattern else [str(kind) for kind in config.listed("layers_block_type")]
    if not names:
        raise InputError(
            "neither `hybrid_override_pattern` nor `layers_block_type` is there: which "
            "layers keep a state cannot be told",
            config.source,
        )
    return [kinds.get(name, ()) for name in names]


def jamba_layers(config: ConfigJson) -> list[Layer]:
    """Mamba layers, with attention every `attn_layer_period` layers from `attn_layer_offset` on."""
    period, offset = (
        config.integer("attn_layer_period", 8) or 8,
        config.integer("attn_layer_offset", 4),
    )
    state, full = mamba1(config), _attention(config)
    return [
        (full,) if i % period == offset else (state,)
        for i in range(config.integer("num_hidden_layers"))
    ]


def pure_state_layers(config: ConfigJson, family: str) -> list[Layer]:
    """Every layer keeps a state (Mamba, Falcon-Mamba, Mamba-2)."""
    if family == "mamba":
        state = mamba1(config)
    else:
        inner = int(config.number("expand", 2) * config.integer("hidden_size"))
        state = _mamba2(
            config, inner, config.integer("n_groups", 8), config.integer("num_heads", config.integer("num_attention_heads", 0)),
            config.integer("head_dim", 64), config.integer("state_size", 128), config.integer("conv_kernel", 4),
        )  # fmt: skip
    return [(state,)] * config.integer("num_hidden_layers")


def falcon_h1_layers(config: ConfigJson) -> list[Layer]:
    """Attention and a Mamba-2 state side by side in every layer."""
    inner = config.integer("mamba_d_ssm", 0) or int(
        config.number("mamba_expand", 2) * config.integer("hidden_size")
    )
    state = _mamba2(
        config, inner, config.integer("mamba_n_groups", 1), config.integer("mamba_n_heads"), config.integer("mamba_d_head"),
        config.integer("mamba_d_state"), config.integer("mamba_d_conv", 4),
    )  # fmt: skip
    return [(state, _attention(config))] * config.integer("num_hidden_layers")


def granite_hybrid_layers(config: ConfigJson) -> list[Layer]:
    """Mamba-2 layers with attention where `layer_types`, `layers_block_type` or
    `attn_layer_indices` says.
    """
    inner = int(config.number("mamba_expand", 2) * config.integer("hidden_size"))
    state = _mamba2(
        config, inner, config.integer("mamba_n_groups", 1), config.integer("mamba_n_heads"), config.integer("mamba_d_head", 64),
        config.integer("mamba_d_state"), config.integer("mamba_d_conv", 4),
    )  # fmt: skip
    full = _attention(config)
    types = [
        str(kind) for kind in (config.listed("layer_types") or config.listed("layers_block_type"))
    ]
    if not types:
        indices = config.listed("attn_layer_indices")
        types = [
            "attention" if index in indices else "mamba"
            for index in range(config.integer("num_hidden_layers"))
        ]
    return [(full,) if "attention" in kind else (state,) for kind in types]


def lfm2_layers(config: ConfigJson) -> list[Layer]:
    """Short convolutions with attention between them."""
    conv = State(
        kind="short convolution", heads=config.integer("hidden_size"), conv_channels=config.integer("conv_dim",
        config.integer("hidden_size")),
        conv_kernel=config.integer("conv_L_cache", 3), state_values=0, grows_with_speculation=False,
    )  # fmt: skip
    full = _attention(config)
    types = [str(kind) for kind in config.listed("layer_types")]
    if not types:
        indices = config.listed("full_attn_idxs")
        types = [
            "full_attention" if index in indices else "conv"
            for index in range(config.integer("num_hidden_layers"))
        ]
    return [(full,) if kind == "full_attention" else (conv,) for kind in types]


def zamba2_layers(config: ConfigJson) -> list[Layer]:
    """A Mamba-2 state in every layer; the hybrid ones attend as well."""
    inner = int(config.number("mamba_expand", 2) * config.integer("hidden_size"))
    heads = config.integer("n_mamba_heads")
    state = _mamba2(
        config, inner, config.integer("mamba_ngroups", 1), heads, config.integer("mamba_headdim", inner // max(1, heads)),
        config.integer("mamba_d_state"), config.integer("mamba_d_conv", 4),
    )  # fmt: skip
    full = _attention(config)
    types = [str(kind) for kind in config.listed("layers_block_type")]
    return [(state, full) if kind == "hybrid" else (state,) for kind in types] or [
        (state,)
    ] * config.integer("num_hidden_layers")


def kimi_linear_layers(config: ConfigJson) -> list[Layer]:
    """Kimi delta attention, with latent attention in the layers that `linear_attn_config` lists
    (counted from 1).
    """
    linear = config.mapping("linear_attn_config")
    heads, dim = linear.get("num_heads"), linear.get("head_dim")
    if not isinstance(heads, int) or not isinstance(dim, int):
        raise InputError("`linear_attn_config` lacks num_heads or head_dim", config.source)
    kernel = linear.get("short_conv_kernel_size", 4)
    if not isinstance(kernel, int) or not 0 < kernel < 1000:
        raise InputError(
            f"`linear_attn_config.short_conv_kernel_size` is {kernel!r}, a small whole "
            "number was expected",
            config.source,
        )
    state = State(
        kind="kimi delta attention", heads=heads, conv_channels=3 * heads * dim, conv_kernel=kernel,
        state_values=heads * dim * dim,
        state_dtype="float32",
    )  # fmt: skip
    latent: LayerCache = Latent(config.integer("kv_lora_rank") + config.integer("qk_rope_head_dim"))
    attends = linear.get("full_attn_layers")
    listed = (
        {item for item in attends if isinstance(item, int)} if isinstance(attends, list) else set()
    )
    return [
        (latent,) if i + 1 in listed else (state,)
        for i in range(config.integer("num_hidden_layers"))
    ]


def bailing_linear_layers(config: ConfigJson) -> list[Layer]:
    """Lightning attention with softmax attention every group, or where `attn_type_list` says."""
    heads, dim = config.integer("num_attention_heads"), head_dim_of(config)
    state = State(
        kind="linear attention",
        heads=heads,
        conv_channels=0,
        conv_kernel=1,
        state_values=heads * dim * dim,
        state_dtype="auto",
    )
    count = config.integer("num_hidden_layers")
    types = config.listed("attn_type_list")
    every = config.integer("layer_group_size", 8) or 8
    attends = (
        [item == 1 for item in types[:count]]
        if len(types) >= count
        else [(i + 1) % every == 0 for i in range(count)]
    )
    if config.has("kv_lora_rank"):
        full: LayerCache = Latent(
            config.integer("kv_lora_rank") + config.integer("qk_rope_head_dim")
        )
    else:
        full = _attention(config)
    return [(full,) if attends[i] else (state,) for i in range(count)]
