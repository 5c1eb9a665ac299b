"""What one GPU of a deployment reads and computes in a step, part by part, from the model's
architecture and the engine's settings.

weights outside the experts   read whole in every step, 2 operations a parameter and token
experts                       read as far as tokens are routed to them; each token goes to `chosen` of them
cache                         read by every request that decodes: all of it, a window of it, or a state of fixed size
output head                   computed for the last token of each request only
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

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
from barostat.kv.build_specs import rank_heads, state_bytes
from barostat.kv.config_json import ConfigJson
from barostat.kv.deployment import Deployment
from barostat.kv.dtypes import head_token_bytes, item_bytes, latent_token_bytes
from barostat.kv.parameters import decoder_weights, embedding_weights
from barostat.kv.quantization import WeightFormat

Rate = Literal["16-bit", "8-bit", "4-bit"]
"""The arithmetic that a product runs in: the precision of the tensor-core operation, not of the
stored weights.
"""

_FP8_SINCE = (
    8.9  # compute capability from which tensor cores take fp8 operands, and from which fp4 ones
)
_FP4_SINCE = 10.0
_PACKED_BELOW = 0.8  # bytes a parameter
_COLLECTIVES = 2  # a layer: after attention and after the feed-forward
# Bytes of a DeepSeek V4 latent row. Source: vLLM 0.32.0, DeepseekV4Attention.
_COMPRESSED_ROW_BYTES = 584


@dataclass(frozen=True, slots=True)
class Product:
    """Weights that every token is multiplied with: bytes that a GPU holds and reads, parameters it
    multiplies, and in which arithmetic.
    """

    read_bytes: float
    parameters: float
    rate: Rate


@dataclass(frozen=True, slots=True)
class Experts:
    """The routed experts of one GPU, over all its layers.

    `held`: experts of one layer on this GPU. `total`: of the model's layer. `chosen`: for each
    token. `layers`: with experts. `each`: one expert of one layer as this GPU holds it.
    `shared_by`: ranks whose tokens meet in these experts (data parallel ranks with expert
    parallelism). `packed`: stored as 4-bit integers, unpacked while multiplying.
    """

    held: int
    total: int
    chosen: int
    layers: int
    each: Product
    shared_by: int = 1
    packed: bool = False

    def touched(self, tokens: float, popularity: float) -> float:
        """Experts of one layer that at least one of so many tokens of each rank is routed to.

        `popularity`: the shape of the gamma distribution that the experts' shares of the tokens
        have; large: all are as popular.
        """
        expected = tokens * self.shared_by * self.chosen / self.total
        return float(self.held * (1 - (1 + expected / popularity) ** -popularity))

    def routed(self, tokens: float) -> float:
        """Pairs of a token and an expert of one layer that this GPU computes."""
        return tokens * self.shared_by * self.chosen * self.held / self.total


@dataclass(frozen=True, slots=True)
class Attention:
    """Reads and operations of attention on one GPU, over all its layers.

    `token_bytes`: of the cache per token, for layers that read all tokens. `windows`: (bytes per
    token, tokens) for window layers. `request_bytes`: read and written per request and step, at any
    length (states). `pair_flops`: per pair of a prompt token and an earlier token.
    `window_pair_flops`: the same in window layers, with their window. `read_flops`: per cached
    token that a decoding request reads. `latent`: an MLA model.
    """

    token_bytes: float
    windows: tuple[tuple[float, int], ...]
    request_bytes: float
    pair_flops: float
    window_pair_flops: tuple[tuple[float, int], ...]
    read_flops: float
    latent: bool


@dataclass(frozen=True, slots=True)
class RankWork:
    """A deployment's work on one GPU. `layers`: that this GPU runs. `hidden`: the width that ranks
    exchange. `ranks`: that divide a layer (tensor parallel); `collectives`: per layer.
    `scales_activations`: to 8 bits.
    """

    products: tuple[Product, ...]
    head: Product
    experts: Experts | None
    attention: Attention
    layers: int
    hidden: int
    ranks: int
    collectives: float
    scales_activations: bool

    @property
    def weights_bytes(self) -> float:
        """All weights that this GPU reads when every expert is touched."""
        experts = (
            0.0
            if self.experts is None
            else self.experts.held * self.experts.layers * self.experts.each.read_bytes
        )
        return sum(product.read_bytes for product in self.products) + self.head.read_bytes + experts


def rank_work(
    model: Architecture,
    form: WeightFormat,
    flags: Deployment,
    capability: float,
    *,
    expert_parallel: bool = False,
) -> RankWork:
    """The work of one GPU of this deployment; with pipeline stages, of all stages one after the
    other (that is how a token passes them).

    `capability`: the card's compute capability; 0 for a card of another make, which is taken to
    compute what it stores.
    """
    counts: dict[str, float] = {}
    for layer in decoder_weights(model):
        for weights in layer:
            counts[weights.component] = counts.get(weights.component, 0.0) + weights.on_rank(
                flags.tp
            )
    products = tuple(
        _product(form, component, count, capability)
        for component, count in counts.items()
        if component != "experts" and count
    )
    config = model.fields
    vocabulary = embedding_weights(model) / flags.tp
    return RankWork(
        products=products,
        head=Product(
            vocabulary * form.bytes_of("head"), vocabulary, rate_of(form, "head", capability)
        ),
        experts=_experts(model, config, form, flags, capability, expert_parallel)
        if "experts" in counts
        else None,
        attention=_attention(model, config, flags),
        layers=len(model.layers),
        hidden=model.hidden_size,
        ranks=flags.tp,
        collectives=_COLLECTIVES + (1 if config.string("qk_norm_type") == "per_layer" else 0),
        scales_activations=any(product.rate == "8-bit" for product in products),
    )


def rate_of(form: WeightFormat, component: str, capability: float) -> Rate:
    """The arithmetic of a component's products: fp8 and fp4 where both operands are stored so and
    the card has it, else 16-bit.

    Formats that only store weights in fewer bits (AWQ, GPTQ, int4, bitsandbytes; mxfp4 before
    Blackwell) compute in 16.
    """
    stored = form.bytes_of(component)
    if stored >= 2 or "bitsandbytes" in form.name:
        return "16-bit"
    newest = capability == 0
    if stored > 0.8:
        return "8-bit" if newest or capability >= _FP8_SINCE else "16-bit"
    if "mxfp4" in form.name:
        return "8-bit" if newest or capability >= _FP4_SINCE else "16-bit"
    if "nvfp4" in form.name:
        return "4-bit" if newest or capability >= _FP4_SINCE else "16-bit"
    return "16-bit"


def _product(form: WeightFormat, component: str, count: float, capability: float) -> Product:
    return Product(count * form.bytes_of(component), count, rate_of(form, component, capability))


def _experts(
    model: Architecture,
    config: ConfigJson,
    form: WeightFormat,
    flags: Deployment,
    capability: float,
    expert_parallel: bool,
) -> Experts:
    """Tensor parallel ranks each hold a slice of every expert; expert parallel ones hold whole
    experts, spread over all ranks.
    """
    found = [
        weights
        for layer in decoder_weights(model)
        for weights in layer
        if weights.component == "experts"
    ]
    total = config.integer("num_experts")
    spread = flags.tp * flags.dp if expert_parallel else 1
    slices = 1 if expert_parallel else flags.tp
    held = max(1, total // spread)
    each = sum(weights.on_rank(slices) for weights in found) / len(found) / total
    return Experts(
        held=held,
        total=total,
        chosen=max(1, config.integer("num_experts_per_tok", 1)),
        layers=len(found),
        each=_product(form, "experts", each, capability),
        shared_by=flags.dp if expert_parallel else 1,
        packed=form.bytes_of("experts") < _PACKED_BELOW and "fp4" not in form.name,
    )


def _attention(model: Architecture, config: ConfigJson, flags: Deployment) -> Attention:
    heads = rank_heads(model.heads, flags.tp)
    reads, pairs, each_request = 0.0, 0.0, 0.0
    windows: dict[int, float] = {}
    window_pairs: dict[int, float] = {}
    read_flops = 0.0
    for layer in model.layers:
        for cache in layer:
            match cache:
                case Full() | Cross():
                    reads += rank_heads(cache.kv_heads, flags.tp) * float(_head_bytes(flags, cache))
                    pairs += 2 * heads * (cache.key_dim + cache.value_dim)
                    read_flops += 2 * heads * (cache.key_dim + cache.value_dim)
                case Window() | Chunked():
                    reach = cache.window_tokens if isinstance(cache, Window) else cache.chunk_tokens
                    _add(
                        windows,
                        reach,
                        rank_heads(cache.kv_heads, flags.tp) * float(_head_bytes(flags, cache)),
                    )
                    _add(window_pairs, reach, 2 * heads * (cache.key_dim + cache.value_dim))
                case Latent():
                    flops = (
                        2 * heads * (_latent_key_dim(config) + config.integer("v_head_dim", 128))
                    )
                    size = latent_token_bytes(flags.kv_cache_dtype, flags.dtype, cache.dim)
                    chosen = config.integer("index_topk", 0) if _has_indexer(layer) else 0
                    if chosen:
                        _add(windows, chosen, size)
                        _add(window_pairs, chosen, flops)
                    else:
                        reads, pairs = reads + size, pairs + flops
                        read_flops += (
                            2 * heads * (2 * cache.dim - config.integer("qk_rope_head_dim", 64))
                        )
                case Indexer():
                    reads += (
                        cache.head_dim * item_bytes(flags.dtype)
                        if cache.plain
                        else cache.head_dim + 4
                    )
                    pairs += 2 * config.integer("index_n_heads", 64) * cache.head_dim
                case State():
                    each_request += 2 * state_bytes(cache, flags, flags.dtype)
                case Compressed():
                    _add(windows, cache.window_tokens, _COMPRESSED_ROW_BYTES)
                    _add(window_pairs, cache.window_tokens, 4 * heads * cache.head_dim)
                    if cache.ratio > 1:
                        reads += _COMPRESSED_ROW_BYTES / cache.ratio
                        pairs += 4 * heads * cache.head_dim / cache.ratio
    return Attention(
        reads,
        _sorted(windows),
        each_request,
        pairs,
        _sorted(window_pairs),
        read_flops,
        model.uses_mla,
    )


def _head_bytes(flags: Deployment, cache: Full | Window | Chunked | Cross) -> float:
    return float(
        head_token_bytes(flags.kv_cache_dtype, flags.dtype, cache.key_dim, cache.value_dim)
    )


def _latent_key_dim(config: ConfigJson) -> int:
    """Per head, of a prompt's keys once they are expanded."""
    return config.integer("qk_nope_head_dim", 128) + config.integer("qk_rope_head_dim", 64)


def _has_indexer(layer: Layer) -> bool:
    return any(isinstance(cache, Indexer) for cache in layer)


def _add(found: dict[int, float], key: int, value: float) -> None:
    found[key] = found.get(key, 0.0) + value


def _sorted(found: Mapping[int, float]) -> tuple[tuple[float, int], ...]:
    return tuple((value, key) for key, value in sorted(found.items()))
