"""What speculative decoding adds to the KV cache: the drafter's own layers, states for each draft,
and tokens kept behind windows.

    target  | F F F F S S S S S S S S |      drafter | F |      all of them share one pool
    state blocks of a request: 1 running (2 with prefix caching) and 1 per draft token

Source: vLLM 0.32.0, SpeculativeConfig, the drafters' model classes,
VllmConfig.num_prefill_lookahead_tokens, MambaBase.get_kv_cache_spec.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from barostat.kv.architecture import Architecture, Compressed, Full, Layer, State, Window

# Methods whose drafts come without a model that attends: no layers, but states and slots for the
# drafts all the same.
WITHOUT_LAYERS = frozenset(
    ("ngram", "[ngram]", "ngram_gpu", "suffix", "medusa", "mlp_speculator", "custom_class")
)

# Methods with which the scheduler does not run ahead unless it is told to.
WITHOUT_ASYNC = WITHOUT_LAYERS - {"ngram_gpu"}

_DSPARK_STAGES = 3
_DEPTH_FIELDS = ("num_mtp_modules", "mtp_num_hidden_layers", "num_nextn_predict_layers")


@dataclass(frozen=True, slots=True)
class Draft:
    """The KV cache of a drafter.

    `tokens`: drafts per step. `layers`: the drafter's own caches, after the target's last layer.
    `retained_tokens`: tokens kept behind every window, because several modules read ahead.
    `copies_of`: the target's layer that each drafter layer copies; None if the drafter is a
    separate model or has no layers.
    """

    method: str = ""
    tokens: int = 0
    layers: tuple[Layer, ...] = ()
    retained_tokens: int = 0
    copies_of: int | None = None
    notes: tuple[str, ...] = ()


NO_DRAFT = Draft()


def draft_of(
    target: Architecture,
    method: str,
    tokens: int | None,
    drafter: Architecture | None,
    *,
    windows: bool = True,
) -> Draft:
    """The drafter of this method.

    `tokens`: as configured, None for the model's own number. `drafter`: the drafter's
    configuration, where it is a model of its own and known. `windows`: this version keeps to the
    windows of a block drafter.
    """
    if method in WITHOUT_LAYERS:
        return Draft(
            method,
            tokens or 1,
            notes=(f"speculative decoding by {method}: no drafter with a KV cache of its own",),
        )
    if method.endswith("mtp"):
        return _multi_token(target, method, tokens, drafter)
    if (
        method == "dspark"
        and drafter is None
        and any(isinstance(cache, Compressed) for layer in target.layers for cache in layer)
    ):
        return _dspark_stages(target, tokens)
    if drafter is not None:
        layers = (
            _block_drafter_layers(drafter, windows)
            if method in ("dflash", "dspark")
            else drafter.layers
        )
        said = f"the drafter's {len(layers)} layers ({method}) take their part of the pool"
        return Draft(method, tokens or _own_tokens(drafter), layers, notes=(said,))
    if method in ("eagle", "eagle3"):
        last = last_attention(target)
        said = (
            f"the {method} head is taken as one layer shaped like the model's last: give its "
            "config.json with --draft-model-config"
        )
        return Draft(
            method,
            tokens or 1,
            (target.layers[last],) if last is not None else (),
            copies_of=last,
            notes=(said,),
        )
    said = (
        f"the drafter's layers and weights ({method}) are not in these numbers: give its "
        "config.json with --draft-model-config"
    )
    return Draft(method, tokens or 1, notes=(said,))


def last_attention(model: Architecture) -> int | None:
    """The last layer that attends: a built-in drafter's layer is of that kind."""
    for index in range(len(model.layers) - 1, -1, -1):
        if model.layers[index] and not any(
            isinstance(cache, State) for cache in model.layers[index]
        ):
            return index
    return next(
        (
            index
            for index in range(len(model.layers) - 1, -1, -1)
            if _attending(model.layers[index])
        ),
        None,
    )


def _attending(layer: Layer) -> Layer:
    return tuple(cache for cache in layer if not isinstance(cache, State))


def _multi_token(
    target: Architecture, method: str, tokens: int | None, assistant: Architecture | None
) -> Draft:
    """Multi-token prediction: modules of the checkpoint itself, or (Gemma 4) an assistant that
    reads the target's KV.
    """
    if "gemma4" in f"{method} {target.name.lower()}":
        weights = "" if assistant is not None else "; its weights are not counted"
        return Draft(
            method,
            tokens or 1,
            notes=(f"Gemma 4's assistant reads the model's own KV and keeps none{weights}",),
        )
    depth = _depth(target)
    count = depth or 1
    last = last_attention(target)
    layers: tuple[Layer, ...] = ()
    if last is not None:
        layers = tuple(_module_layer(target, number, last) for number in range(count))
    number = tokens or count
    several = target.text.get(
        "num_nextn_predict_layers", target.config.get("num_nextn_predict_layers", 1)
    )
    chained = min(several, number) if isinstance(several, int) and not _is_single(target) else 1
    notes = [
        (
            f"multi-token prediction: the KV of {count} module{'s' if count > 1 else ''} and "
            f"the states of {number} drafts are counted"
        )
    ]
    if depth is None:
        notes.append(
            "the config does not say how many modules predict ahead: one is assumed, and "
            "the engine may refuse"
        )
    elif number > count and number % count:
        notes.append(
            f"num_speculative_tokens {number} is no multiple of the model's {count} "
            "modules: the engine refuses it"
        )
    return Draft(
        method, number, layers, number - 1 if chained > 1 else 0, copies_of=last, notes=tuple(notes)
    )


def _is_single(target: Architecture) -> bool:
    """Families of which the engine only loads the first module."""
    return target.name.startswith(("MiMoV2", "LongcatFlash"))


def _depth(target: Architecture) -> int | None:
    """How many modules the checkpoint predicts ahead with, None if it does not say."""
    if _is_single(target):
        return 1
    for fields in (target.text, target.config):
        for name in _DEPTH_FIELDS:
            found = fields.get(name)
            if isinstance(found, int) and not isinstance(found, bool) and 0 < found < 100:
                return found
    return None


def _module_layer(target: Architecture, number: int, last: int) -> Layer:
    """The caches of one module: the family's own choice where it has one, else those of the last
    layer that attends.
    """
    caches = [cache for layer in target.layers for cache in layer]
    if (
        compressed := next((cache for cache in caches if isinstance(cache, Compressed)), None)
    ) is not None:
        return (
            Compressed(1, compressed.head_dim, compressed.window_tokens, compressed.index_head_dim),
        )
    window = next((cache for cache in caches if isinstance(cache, Window)), None)
    types = target.text.get("layer_types")
    if isinstance(types, list) and len(types) > len(target.layers) + number and window is not None:
        full = next((cache for cache in caches if isinstance(cache, Full)), None)
        wanted = (
            window if "sliding" in str(types[len(target.layers) + number]) or full is None else full
        )
        return (wanted,)
    if target.name.startswith("MiMoV2") and window is not None:
        return (window,)
    return _attending(target.layers[last])


def _dspark_stages(target: Architecture, tokens: int | None) -> Draft:
    """The stages that DeepSeek's checkpoints bring: window caches only."""
    given = target.text.get("n_mtp_layers")
    count = given if isinstance(given, int) and 0 < given < 100 else _DSPARK_STAGES
    own = target.text.get("dspark_block_size", target.text.get("block_size"))
    number = tokens or (own if isinstance(own, int) and own > 0 else 1)
    last = last_attention(target)
    layers = (
        tuple(_module_layer(target, index, last) for index in range(count))
        if last is not None
        else ()
    )
    return Draft(
        "dspark",
        number,
        layers,
        copies_of=last,
        notes=(f"{count} DSpark stages take their part of the pool",),
    )


def _block_drafter_layers(drafter: Architecture, windows: bool) -> tuple[Layer, ...]:
    """Layers of a DFlash or DSpark drafter: windows only where its own configuration says so.

    Source: vLLM 0.32.0, qwen3_dflash._resolve_layer_attention.
    """
    config = drafter.fields
    own: Mapping[str, object] = config.mapping("dflash_config")
    types = [str(kind) for kind in config.listed("layer_types")]
    width = own.get("swa_window_size", config.integer("sliding_window", 0))
    window = width if isinstance(width, int) and width > 0 else 0
    any_window = "sliding_attention" in types
    layers: list[Layer] = []
    for index, layer in enumerate(drafter.layers):
        first = layer[0] if layer else None
        if not isinstance(first, Full | Window):
            layers.append(layer)
            continue
        by_type = any_window and index < len(types) and types[index] == "sliding_attention"
        slides = windows and (by_type or (bool(own.get("use_swa")) and not any_window))
        shape = (first.kv_heads, first.key_dim, first.value_dim)
        layers.append((Window(*shape, window) if slides and window else Full(*shape),))
    return tuple(layers)


def _own_tokens(drafter: Architecture) -> int:
    """Drafts per step as the drafter's own configuration says, 1 where it does not."""
    for name in ("block_size", "dspark_block_size", "n_predict"):
        found = drafter.text.get(name)
        if isinstance(found, int) and not isinstance(found, bool) and 0 < found < 1000:
            return found
    return 1
