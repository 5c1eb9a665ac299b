"""What a model keeps per token or per request, layer by layer, before any engine flag is known.

    config.json --read--> Architecture --specs--> LayerSpec per rank --groups--> pool

A transformer layer may own several caches (Falcon-H1: attention and state; DeepSeek V3.2: latent
and indexer) or none (a MoE-only layer of a hybrid, a layer that shares the KV of an earlier one).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from barostat.kv.config_json import ConfigJson


@dataclass(frozen=True, slots=True)
class Full:
    """Keys and values of every token. `key_dim`, `value_dim`: per KV head."""

    kv_heads: int
    key_dim: int
    value_dim: int


@dataclass(frozen=True, slots=True)
class Window:
    """Keys and values of the last `window_tokens` tokens."""

    kv_heads: int
    key_dim: int
    value_dim: int
    window_tokens: int


@dataclass(frozen=True, slots=True)
class Chunked:
    """Keys and values inside the current chunk of `chunk_tokens` tokens (Llama 4)."""

    kv_heads: int
    key_dim: int
    value_dim: int
    chunk_tokens: int


@dataclass(frozen=True, slots=True)
class Latent:
    """One compressed vector per token, the same on every tensor-parallel rank (MLA)."""

    dim: int
    window_tokens: int = 0


@dataclass(frozen=True, slots=True)
class Indexer:
    """The side cache of a sparse indexer: `head_dim` bytes of fp8 and a 4-byte scale per 128 of
    them, per token; or plain keys of the model's dtype.
    """

    head_dim: int
    plain: bool = False


@dataclass(frozen=True, slots=True)
class State:
    """A state of fixed size per request: Mamba, gated delta net, linear attention, short
    convolution.

    conv: (conv_channels + group_channels * groups) / TP values for each of conv_kernel - 1 steps
    (and one more per speculative token). recurrent: state_values / TP values of `state_dtype`.
    `auto` is the dtype of the convolution's state, which is the model's.
    """

    kind: str
    heads: int
    conv_channels: int
    conv_kernel: int
    state_values: int
    groups: int = 0
    group_channels: int = 0
    state_dtype: str = "auto"
    grows_with_speculation: bool = True


@dataclass(frozen=True, slots=True)
class Compressed:
    """DeepSeek V4: a window cache in every layer; with ratio > 1 a latent per `ratio` tokens and
    its compressor's state; with ratio 4 an indexer too.
    """

    ratio: int
    head_dim: int
    window_tokens: int
    index_head_dim: int


@dataclass(frozen=True, slots=True)
class Cross:
    """Keys and values of the encoder's output."""

    kv_heads: int
    key_dim: int
    value_dim: int
    encoder_tokens: int


LayerCache = Full | Window | Chunked | Latent | Indexer | State | Compressed | Cross
Layer = tuple[LayerCache, ...]


@dataclass(frozen=True, slots=True)
class Architecture:
    """A model as far as memory is concerned.

    `layers`: the caches of each decoder layer, in order. `max_position_tokens`: the length the
    model itself allows, after RoPE scaling. `dtype`: of weights and activations as the checkpoint
    says. `known`: vLLM 0.32.0 serves this architecture and we know its cache; otherwise it was read
    as a plain decoder, and `notes` says so. `text`: the decoder's own fields, `config`: the whole
    file.
    """

    name: str
    layers: tuple[Layer, ...]
    hidden_size: int
    vocab_size: int
    heads: int
    kv_heads: int
    head_dim: int
    max_position_tokens: int
    dtype: str
    known: bool
    notes: tuple[str, ...] = ()
    text: Mapping[str, object] = field(default_factory=dict, compare=False)
    config: Mapping[str, object] = field(default_factory=dict, compare=False)

    @property
    def fields(self) -> ConfigJson:
        """The file's fields, to be asked for by any of their names."""
        return ConfigJson(self.text, self.config, "config.json")

    @property
    def is_hybrid(self) -> bool:
        """True if some layers keep a state and others attend."""
        kinds = {isinstance(cache, State) for layer in self.layers for cache in layer}
        return kinds == {True, False}

    @property
    def keeps_state(self) -> bool:
        """True if any layer keeps a state."""
        return any(isinstance(cache, State) for layer in self.layers for cache in layer)

    @property
    def uses_mla(self) -> bool:
        """True if any layer keeps a latent."""
        return any(
            isinstance(cache, Latent | Compressed) for layer in self.layers for cache in layer
        )

    @property
    def is_multimodal(self) -> bool:
        """True if the checkpoint has a vision or audio tower."""
        return any(
            name in self.config
            for name in ("vision_config", "audio_config", "thinker_config", "vision_tower")
        )
