"""How long one step of an engine takes on a card: a roofline of its parts, with the speeds that
real engines were seen to reach.

    products of weights     the later of reading them and multiplying them
    experts                 the same, of those that the step's tokens are routed to: some are popular, so fewer than chance has it
    attention               cache that decoding requests read; pairs of prompt tokens
    small kernels           passes over the activations, and a fixed time a layer
    collectives             two a layer between tensor parallel ranks: a fixed time each, and bytes over the link
    host                    a fixed time a step, and one for each request (sampling, taking in its output)

The parts follow each other; reading and multiplying inside one overlap. `StepSpeeds` are fitted
(docs/decisions/step-time.md); what a card can do is its data sheet's.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

from barostat.kv.step_time.work import Experts, Product, RankWork, Rate

_VALUE_BYTES = 2
# collectives over PCIe start so many times as late: no peer is read directly. Assumed, not fitted
_SLOW_LINK = 3.0


@dataclass(frozen=True, slots=True)
class CardSpeeds:
    """Speeds from a card's data sheet, per GPU. Units: bytes a second, operations a second (dense),
    one direction of the link.
    """

    bandwidth_bytes_per_s: float
    flops_16bit: float
    flops_8bit: float
    flops_4bit: float
    link_bytes_per_s: float
    fast_link: bool = True
    tile_rows: int = 1

    def flops(self, rate: Rate) -> float:
        """Return the operations per second of products in this precision."""
        return {"16-bit": self.flops_16bit, "8-bit": self.flops_8bit, "4-bit": self.flops_4bit}[
            rate
        ]


@dataclass(frozen=True, slots=True)
class StepSpeeds:
    """Shares of the data sheet that engines reach (_ratio), and what steps take besides (_s).

    `popularity`: the shape of the gamma distribution that experts' popularity has: small means few
    popular ones. `packed_expert_ratio`: of experts stored in 4-bit integers, over the others.
    `hidden_passes`, `inner_passes`: how often small kernels read or write a token's activations in
    a layer: those that every rank has, and that ranks divide. `collective_growth`: power of ranks /
    4. `scaled_layer_s`: what scaling its activations to 8 bits adds to a layer. `delivery_steps`:
    that pass beside those of a prompt before its client has a first token.
    """

    bandwidth_ratio: float
    expert_bandwidth_ratio: float
    packed_expert_ratio: float
    cache_bandwidth_ratio: float
    latent_bandwidth_ratio: float
    compute_16bit_ratio: float
    compute_8bit_ratio: float
    compute_4bit_ratio: float
    expert_compute_ratio: float
    prompt_attention_ratio: float
    latent_attention_ratio: float
    link_ratio: float
    popularity: float
    hidden_passes: float
    inner_passes: float
    layer_s: float
    expert_layer_s: float
    scaled_layer_s: float
    collective_s: float
    collective_growth: float
    step_s: float
    request_s: float
    front_s: float
    front_token_s: float
    delivery_steps: float

    def compute_ratio(self, rate: Rate) -> float:
        """Share of a card's operations that dense products in this arithmetic reach."""
        return {
            "16-bit": self.compute_16bit_ratio,
            "8-bit": self.compute_8bit_ratio,
            "4-bit": self.compute_4bit_ratio,
        }[rate]


@dataclass(frozen=True, slots=True)
class StepLoad:
    """Load of one step. `cached_tokens`: that its decoding requests read, all of them together.
    `pairs`: of a prompt token and one up to it. `prompts`: that end in this step, so that their
    first token is sampled.
    """

    prompt_tokens: float = 0.0
    decodes: float = 0.0
    cached_tokens: float = 0.0
    pairs: float = 0.0
    prompts: float = 0.0


@dataclass(frozen=True, slots=True)
class StepParts:
    """Parts of a step's duration, in seconds."""

    weights_s: float
    experts_s: float
    attention_s: float
    small_s: float
    collectives_s: float
    host_s: float

    @property
    def total_s(self) -> float:
        """Duration of the whole step, in seconds."""
        return (
            self.weights_s
            + self.experts_s
            + self.attention_s
            + self.small_s
            + self.collectives_s
            + self.host_s
        )


@dataclass(frozen=True, slots=True)
class StepTimeModel:
    """The steps of one deployment on one kind of card."""

    work: RankWork
    card: CardSpeeds
    speeds: StepSpeeds
    _attention: tuple[float, float, float, float, float, tuple[tuple[float, int], ...]] = field(
        init=False, compare=False, repr=False
    )

    def step_s(self, load: StepLoad) -> float:
        """How long a step of this load takes."""
        return self.parts(load).total_s

    def parts(self, load: StepLoad) -> StepParts:
        """The same, part by part."""
        tokens = load.prompt_tokens + load.decodes
        return StepParts(
            weights_s=self._weights_s(tokens, load.decodes + load.prompts),
            experts_s=0.0
            if self.work.experts is None
            else self._experts_s(self.work.experts, tokens),
            attention_s=self.attention_s(
                load.prompt_tokens, load.decodes, load.cached_tokens, load.pairs
            ),
            small_s=self._small_s(tokens),
            collectives_s=self._collectives_s(tokens),
            host_s=self.speeds.step_s + self.speeds.request_s * load.decodes,
        )

    def rest_s(self, load: StepLoad) -> float:
        """All but attention: what a step takes that depends on tokens and requests alone."""
        parts = self.parts(replace(load, cached_tokens=0.0, pairs=0.0))
        return parts.total_s - parts.attention_s

    def front_s(self, prompt_tokens: float) -> float:
        """Return the part of the TTFT outside steps, in seconds: tokenizing, and the way to the
        scheduler and back.
        """
        return self.speeds.front_s + self.speeds.front_token_s * prompt_tokens

    @property
    def delivery_steps(self) -> float:
        """Steps that pass before and after those that compute a prompt, until its client has the
        first token.
        """
        return self.speeds.delivery_steps

    def _weights_s(self, tokens: float, sampled: float) -> float:
        bandwidth = self.card.bandwidth_bytes_per_s * self.speeds.bandwidth_ratio
        tokens, sampled = self._in_tiles(tokens), self._in_tiles(sampled)
        reading_s = sum(product.read_bytes for product in self.work.products) / bandwidth
        computing_s = sum(self._computing_s(product, tokens) for product in self.work.products)
        head = self.work.head
        return _later(reading_s, computing_s) + _later(
            head.read_bytes / bandwidth, self._computing_s(head, sampled)
        )

    def _in_tiles(self, tokens: float) -> float:
        """Return the rows that matrix products compute for this many tokens: whole tiles, above one
        tile. Smaller batches use smaller tiles and are bound by reading the weights.
        """
        rows = self.card.tile_rows
        return float(math.ceil(tokens / rows) * rows) if tokens > rows > 1 else tokens

    def _computing_s(self, product: Product, tokens: float) -> float:
        return (
            2
            * product.parameters
            * tokens
            / (self.card.flops(product.rate) * self.speeds.compute_ratio(product.rate))
        )

    def _experts_s(self, experts: Experts, tokens: float) -> float:
        speeds = self.speeds
        bandwidth = self.card.bandwidth_bytes_per_s * speeds.expert_bandwidth_ratio
        bandwidth *= speeds.packed_expert_ratio if experts.packed else 1.0
        reading_s = (
            experts.touched(tokens, speeds.popularity)
            * experts.layers
            * experts.each.read_bytes
            / bandwidth
        )
        routed = experts.routed(tokens) * experts.layers
        return _later(
            reading_s, self._computing_s(experts.each, routed) / speeds.expert_compute_ratio
        )

    def attention_s(
        self, prompt_tokens: float, decodes: float, cached_tokens: float, pairs: float
    ) -> float:
        """Cache that is read and pairs that are computed: the part of a step that depends on how
        much is cached.
        """
        token_s, request_s, read_s, pair_s, window_s, windows = self._attention
        reading_s = cached_tokens * token_s + decodes * request_s
        if windows and decodes:
            each = cached_tokens / decodes
            reading_s += decodes * sum(size_s * min(each, reach) for size_s, reach in windows)
        return _later(reading_s, cached_tokens * read_s) + pairs * pair_s + prompt_tokens * window_s

    def __post_init__(self) -> None:
        """Attention is asked for in every step of a run: its seconds for each token, request and
        pair are worked out once.
        """
        attention, speeds = self.work.attention, self.speeds
        bandwidth = self.card.bandwidth_bytes_per_s
        bandwidth *= (
            speeds.latent_bandwidth_ratio if attention.latent else speeds.cache_bandwidth_ratio
        )
        compute = self.card.flops_16bit * (
            speeds.latent_attention_ratio if attention.latent else speeds.prompt_attention_ratio
        )
        costs = (
            attention.token_bytes / bandwidth, attention.request_bytes / bandwidth, attention.read_flops / compute,
            attention.pair_flops / compute, sum(size * reach for size, reach in attention.window_pair_flops) / compute,
            tuple((size / bandwidth, reach) for size, reach in attention.windows),
        )  # fmt: skip
        object.__setattr__(self, "_attention", costs)

    def _small_s(self, tokens: float) -> float:
        work, speeds = self.work, self.speeds
        passes = speeds.hidden_passes + speeds.inner_passes * 4 / work.ranks
        activations_s = (
            tokens
            * work.layers
            * work.hidden
            * _VALUE_BYTES
            * passes
            / self.card.bandwidth_bytes_per_s
        )
        fixed_s = work.layers * speeds.layer_s + (
            work.layers * speeds.scaled_layer_s if work.scales_activations else 0.0
        )
        fixed_s += (work.experts.layers if work.experts else 0) * speeds.expert_layer_s
        return activations_s + fixed_s

    def _collectives_s(self, tokens: float) -> float:
        work, speeds = self.work, self.speeds
        if work.ranks < 2:
            return 0.0
        each_s = (
            speeds.collective_s
            * math.pow(work.ranks / 4, speeds.collective_growth)
            * (1.0 if self.card.fast_link else _SLOW_LINK)
        )
        crossing = 2 * (work.ranks - 1) / work.ranks * tokens * work.hidden * _VALUE_BYTES
        return work.layers * (
            work.collectives * each_s
            + 2 * crossing / (self.card.link_bytes_per_s * speeds.link_ratio)
        )


def _later(reading_s: float, computing_s: float) -> float:
    """The later of the two, with a rounded corner: neither hides all of the other where they are
    about equal.
    """
    return math.cbrt(reading_s * reading_s * reading_s + computing_s * computing_s * computing_s)
