"""Which layers attend to everything, to a window or to a chunk: the patterns of each family, from a
config.json.

    plain     F F F F F F        gemma3   W W W W W F        gpt-oss  W F W F        llama4   C C C F

Where the config lists `layer_types`, the list decides; the families' patterns fill in for files
that do not.
Source: vLLM 0.32.0, the model classes, and the transformers configs they read.
"""

from __future__ import annotations

from barostat.core.errors import InputError
from barostat.kv.architecture import (
    Chunked,
    Compressed,
    Cross,
    Full,
    Indexer,
    Latent,
    Layer,
    LayerCache,
    Window,
)
from barostat.kv.config_json import ConfigJson


def head_dim_of(config: ConfigJson) -> int:
    """Numbers per attention head.

    Errors: InputError where neither the config's own field nor hidden size and heads are there, or
    these do not divide.
    """
    if (
        own := config.integer("head_dim", 0)
        or config.integer("attention_head_dim", 0)
        or config.integer("hidden_size_per_head", 0)
    ):
        return own
    hidden, heads = config.integer("hidden_size"), config.integer("num_attention_heads")
    if heads == 0:
        return 0
    if hidden % heads:
        raise InputError(
            f"hidden_size {hidden} is no multiple of num_attention_heads {heads}, and "
            "there is no head_dim",
            config.source,
        )
    return hidden // heads


def kv_heads_of(config: ConfigJson) -> int:
    """KV heads of the whole model; as many as attention heads where the config does not say (plain
    multi-head attention).
    """
    if config.flag("multi_query") and not config.flag("new_decoder_architecture"):
        return 1
    attn_config = config.mapping("attn_config")  # MPT and DBRX
    inner = attn_config.get("kv_n_heads")
    if own := config.integer("num_key_value_heads", 0):
        return own
    return inner if isinstance(inner, int) and inner > 0 else config.integer("num_attention_heads")


def plain_layers(config: ConfigJson) -> list[Layer]:
    """One attention layer per transformer layer; all windowed where the config has a sliding window
    in use.
    """
    heads, dim = kv_heads_of(config), head_dim_of(config)
    window = config.integer("sliding_window", 0)
    uses = config.flag("use_sliding_window", True) and window > 0
    if uses and config.listed("layer_types"):
        return typed_layers(config, [])
    one: LayerCache = Window(heads, dim, dim, window) if uses else Full(heads, dim, dim)
    return [(one,)] * config.integer("num_hidden_layers")


def windowed_by_pattern(config: ConfigJson, family: str) -> list[Layer]:
    """Families that mix windowed and full layers, where the file may not list them."""
    count = config.integer("num_hidden_layers")
    period = config.number("sliding_window_pattern", config.number("_sliding_window_pattern", 0))
    windowed: list[bool]
    match family:
        case "gemma2":
            windowed = [i % 2 == 0 for i in range(count)]
        case "gpt-oss":
            windowed = [i % 2 == 0 for i in range(count)]
        case "gemma3" | "gemma3n" | "gemma4":
            every = int(period) or {"gemma3": 6, "gemma3n": 5, "gemma4": 6}[family]
            windowed = [(i + 1) % every != 0 for i in range(count)]
        case "exaone4":
            letters = config.string("sliding_window_pattern")
            every = len(letters) or int(period) or 4
            windowed = [(i + 1) % every != 0 and i + 1 < count for i in range(count)]
            if config.integer("sliding_window", 0) == 0:
                windowed = [False] * count
        case _:  # cohere2, olmo3 and others of the 3:1 kind
            windowed = [(i + 1) % (int(period) or 4) != 0 for i in range(count)]
    return typed_layers(config, windowed)


def typed_layers(config: ConfigJson, windowed: list[bool]) -> list[Layer]:
    """Layers as `layer_types` lists them, or else as `windowed` says; the last
    `num_kv_shared_layers` keep nothing of their own.
    """
    types = config.listed("layer_types")
    count = config.integer("num_hidden_layers")
    if types:
        if len(types) < count:
            raise InputError(
                f"`layer_types` lists {len(types)} layers, `num_hidden_layers` says {count}",
                config.source,
            )
        windowed = [
            "sliding" in str(kind) or str(kind) == "local_attention" for kind in types[:count]
        ]
    window = config.integer("sliding_window", 0)
    if any(windowed) and window == 0:
        raise InputError(
            "the field `sliding_window` is missing, and some layers use one", config.source
        )
    heads, dim = kv_heads_of(config), head_dim_of(config)
    shared = config.integer("num_kv_shared_layers", 0)
    full = Full(
        config.integer("num_global_key_value_heads", heads) or heads,
        config.integer("global_head_dim", dim) or dim,
        config.integer("global_head_dim", dim) or dim,
    )
    layers: list[Layer] = []
    for index, is_windowed in enumerate(windowed):
        if index >= count - shared:
            layers.append(())
        else:
            layers.append((Window(heads, dim, dim, window) if is_windowed else full,))
    return layers


def llama4_layers(config: ConfigJson) -> list[Layer]:
    """Chunked attention, but every fourth layer (or as the file lists them) attends to
    everything.
    """
    count, heads, dim = (
        config.integer("num_hidden_layers"),
        kv_heads_of(config),
        head_dim_of(config),
    )
    chunk = config.integer("attention_chunk_size", 0)
    listed = config.listed("no_rope_layers")
    every = config.integer("no_rope_layer_interval", 4) or 4
    uses_rope = (
        [bool(item) for item in listed]
        if len(listed) >= count
        else [(i + 1) % every != 0 for i in range(count)]
    )
    return [
        (Chunked(heads, dim, dim, chunk),) if chunk and uses_rope[i] else (Full(heads, dim, dim),)
        for i in range(count)
    ]


def latent_layers(config: ConfigJson) -> list[Layer]:
    """Multi-head latent attention, with the sparse indexer's side cache where the config has
    one.
    """
    latent = Latent(config.integer("kv_lora_rank") + config.integer("qk_rope_head_dim"))
    count = config.integer("num_hidden_layers")
    if not config.has("index_topk"):
        return [(latent,)] * count
    indexer = Indexer(config.integer("index_head_dim", 128))
    return [
        (latent, indexer) if _has_indexer(config, index) else (latent,) for index in range(count)
    ]


def _has_indexer(config: ConfigJson, index: int) -> bool:
    """False for a layer that reuses the top-k of an earlier one. Source: vLLM 0.32.0,
    DeepseekV2MLAAttention.
    """
    pattern = config.string("index_topk_pattern") or config.listed("index_topk_pattern")
    if pattern:
        return not (index < len(pattern) and pattern[index] == "S")
    every, offset = (
        config.integer("index_topk_freq", 1) or 1,
        config.integer("index_skip_topk_offset", 2),
    )
    return max(index - offset + 1, 0) % every == 0


def deepseek_v4_layers(config: ConfigJson) -> list[Layer]:
    """Window cache everywhere, compressed latents by `compress_ratios`."""
    count = config.integer("num_hidden_layers")
    ratios = [
        int(ratio) for ratio in config.listed("compress_ratios") if isinstance(ratio, int | float)
    ]
    if len(ratios) < count:
        raise InputError(
            f"`compress_ratios` lists {len(ratios)} layers, `num_hidden_layers` says {count}",
            config.source,
        )
    head_dim, window = config.integer("head_dim"), config.integer("sliding_window")
    return [
        (Compressed(ratio, head_dim, window, config.integer("index_head_dim", 128)),)
        for ratio in ratios[:count]
    ]


def minimax_m3_layers(config: ConfigJson) -> list[Layer]:
    """Grouped-query attention; the sparse layers keep one plain index key per token beside it."""
    count, heads, dim = (
        config.integer("num_hidden_layers"),
        kv_heads_of(config),
        head_dim_of(config),
    )
    sparse = config.mapping("sparse_attention_config")
    listed = sparse.get(
        "sparse_attention_freq", sparse.get("layers", config.listed("sparse_attention_layers"))
    )
    index_dim = sparse.get("sparse_index_dim", sparse.get("index_head_dim", 128))
    if not isinstance(index_dim, int) or not 0 < index_dim < 100_000:
        raise InputError(
            f"the sparse index dimension is {index_dim!r}, a whole number was expected",
            config.source,
        )
    flags = (
        [bool(item) for item in listed]
        if isinstance(listed, list) and len(listed) >= count
        else [bool(sparse)] * count
    )
    full = Full(heads, dim, dim)
    return [(full, Indexer(index_dim, plain=True)) if flags[i] else (full,) for i in range(count)]


def mimo_v2_layers(config: ConfigJson) -> list[Layer]:
    """Full and windowed layers with head counts and dimensions of their own."""
    count = config.integer("num_hidden_layers")
    pattern = config.listed("hybrid_layer_pattern")
    if len(pattern) < count:
        raise InputError(
            f"`hybrid_layer_pattern` lists {len(pattern)} layers, `num_hidden_layers` says {count}",
            config.source,
        )
    dim = head_dim_of(config)
    full = Full(kv_heads_of(config), dim, config.integer("v_head_dim", dim))
    swa_dim = config.integer("swa_head_dim", dim)
    window = Window(
        config.integer("swa_num_key_value_heads"), swa_dim, config.integer("swa_v_head_dim", swa_dim),
        config.integer("sliding_window_size", config.integer("sliding_window", 128)),
    )  # fmt: skip
    return [(window,) if pattern[i] == 1 else (full,) for i in range(count)]


def cross_layers(config: ConfigJson) -> list[Layer]:
    """Decoder layers of a model with an encoder: mllama's listed layers, every layer of whisper."""
    count = config.integer(
        "num_hidden_layers", config.integer("decoder_layers", 0)
    ) or config.integer("num_hidden_layers")
    heads = config.integer(
        "num_key_value_heads", config.integer("decoder_attention_heads", 0)
    ) or config.integer("num_attention_heads")
    dim = config.integer("head_dim", 0) or config.integer("hidden_size") // (
        config.integer("num_attention_heads", heads) or heads
    )
    own = Full(heads, dim, dim)
    crossing = [
        int(item) for item in config.listed("cross_attention_layers") if isinstance(item, int)
    ]
    encoder = Cross(heads, dim, dim, config.integer("max_source_positions", 6404))
    if crossing:
        return [(encoder,) if index in crossing else (own,) for index in range(count)]
    return [(own, encoder)] * count
