"""config.json -> Architecture."""

from __future__ import annotations

from collections.abc import Callable

from barostat.catalog.architectures import BY_MODEL_TYPE, family_of
from barostat.core.errors import InputError
from barostat.kv import attention_layers, searched_layers, state_layers
from barostat.kv.architecture import Architecture, Full, Layer, Window
from barostat.kv.config_json import ConfigJson, open_config

_READERS: dict[str, Callable[[ConfigJson], list[Layer]]] = {
    "plain": attention_layers.plain_layers,
    "layer-types": attention_layers.plain_layers,
    "llama4": attention_layers.llama4_layers,
    "latent": attention_layers.latent_layers,
    "deepseek-v4": attention_layers.deepseek_v4_layers,
    "minimax-m3": attention_layers.minimax_m3_layers,
    "mimo-v2": attention_layers.mimo_v2_layers,
    "mllama": attention_layers.cross_layers,
    "whisper": attention_layers.cross_layers,
    "searched": searched_layers.searched_layers,
    "qwen-linear": state_layers.qwen_linear_layers,
    "nemotron-h": state_layers.nemotron_h_layers,
    "jamba": state_layers.jamba_layers,
    "falcon-h1": state_layers.falcon_h1_layers,
    "granite-hybrid": state_layers.granite_hybrid_layers,
    "lfm2": state_layers.lfm2_layers,
    "zamba2": state_layers.zamba2_layers,
    "kimi-linear": state_layers.kimi_linear_layers,
    "bailing-linear": state_layers.bailing_linear_layers,
}

# RoPE kinds whose factor does not lengthen what the engine accepts. Source: vLLM 0.32.0,
# _get_and_verify_max_len.
_NO_LENGTHENING = ("su", "longrope", "llama3", "mrope", "default", "proportional")


def read_architecture(config: object, source: str = "config.json") -> Architecture:
    """The model's memory shape.

    An architecture that is not known is read as a plain decoder and says so (`known` False).
    Errors: InputError with the field that is missing or the contradiction found.
    """
    opened = open_config(config, source)
    name = opened.architecture or BY_MODEL_TYPE.get(opened.model_type, "")
    family: str | None = family_of(name)
    known = family is not None
    notes: list[str] = []
    if not opened.architecture and name:
        notes.append(
            f"the file names no architecture; model_type {opened.model_type!r} reads as {name}"
        )
    if family is None:
        family = _guess(opened)
        notes.append(_unknown_note(name, family))
    layers = _layers(opened, family)
    if not layers:
        raise InputError("the model has no layers", source)
    heads = opened.integer("num_attention_heads", 0)
    return Architecture(
        name=name or "(no architecture named)",
        layers=tuple(layers),
        hidden_size=opened.integer("hidden_size"),
        vocab_size=opened.integer("vocab_size", 0),
        heads=heads,
        kv_heads=_kv_heads(opened, layers) if heads else 0,
        head_dim=_head_dim(opened) if heads else 0,
        max_position_tokens=max_position_tokens(opened),
        dtype=opened.dtype,
        known=known,
        notes=tuple(notes),
        text=opened.text,
        config=opened.whole,
    )


def _kv_heads(config: ConfigJson, layers: list[Layer]) -> int:
    """KV heads of the model; of a searched one, of the layer that has most."""
    if config.has("block_configs"):
        return max(
            (cache.kv_heads for layer in layers for cache in layer if isinstance(cache, Full)),
            default=0,
        )
    return attention_layers.kv_heads_of(config)


def _head_dim(config: ConfigJson) -> int:
    """Numbers per query head: what the latent is expanded to where there is one."""
    if config.has("qk_nope_head_dim") and config.has("qk_rope_head_dim"):
        return config.integer("qk_nope_head_dim") + config.integer("qk_rope_head_dim")
    return attention_layers.head_dim_of(config)


def _layers(config: ConfigJson, family: str) -> list[Layer]:
    if family in ("mamba", "mamba2"):
        return state_layers.pure_state_layers(config, family)
    if family == "step3p5":
        return _step3p5(config)
    if (reader := _READERS.get(family)) is not None:
        return reader(config)
    return attention_layers.windowed_by_pattern(config, family)


def _step3p5(config: ConfigJson) -> list[Layer]:
    """Typed layers whose windowed kind may have heads of its own (`attention_other_setting`)."""
    layers = attention_layers.typed_layers(config, [False] * config.integer("num_hidden_layers"))
    other = config.mapping("attention_other_setting")
    heads, dim = other.get("num_attention_groups"), other.get("head_dim")
    if not isinstance(heads, int) or not isinstance(dim, int):
        return layers
    window = Window(heads, dim, dim, config.integer("sliding_window"))
    return [(window,) if isinstance(layer[0], Window) else layer for layer in layers]


def _guess(config: ConfigJson) -> str:
    """The family whose telling field the config has; a plain decoder else."""
    telling = (
        ("compress_ratios", "deepseek-v4"), ("linear_attn_config", "kimi-linear"), ("kv_lora_rank", "latent"),
        ("hybrid_override_pattern", "nemotron-h"), ("linear_num_value_heads", "qwen-linear"), ("mamba_d_ssm", "falcon-h1"),
        ("attn_layer_period", "jamba"), ("block_configs", "searched"), ("hybrid_layer_pattern", "mimo-v2"), ("conv_L_cache", "lfm2"),
    )  # fmt: skip
    return next((family for field, family in telling if config.has(field)), "plain")


def _unknown_note(name: str, family: str) -> str:
    called = (
        f"the architecture {name!r} is"
        if name
        else "the file names no architecture; whatever it is, it is"
    )
    as_what = (
        "a plain decoder (every layer keeps keys and values of every token)"
        if family == "plain"
        else f"the {family} family, whose fields it has"
    )
    return (
        f"{called} not known to this planner; read as {as_what}: check one start-up log before "
        "relying on it"
    )


def max_position_tokens(config: ConfigJson) -> int:
    """The longest sequence the model itself allows, or 0 where the config does not say."""
    length = config.integer("max_position_embeddings", 0)
    scaling = dict(config.mapping("rope_scaling") or config.mapping("rope_parameters"))
    kind = str(scaling.get("rope_type", scaling.get("type", "default")))
    factor = scaling.get("factor")
    if (
        kind in _NO_LENGTHENING
        or not isinstance(factor, int | float)
        or not 0 < factor < 1e6
        or "gemma3" in f"{config.model_type} {config.whole.get('model_type')}"
    ):
        return length
    original = scaling.get("original_max_position_embeddings")
    if kind in ("yarn", "deepseek_yarn") and isinstance(original, int):
        length = original
    return int(length * factor)
