"""What LoRA adapters take of a GPU: places that the engine fills with zeros as it loads the model,
whether an adapter is ever loaded.

    a projection of in x out:  A  places x rank x in   +   B  places x out x rank     (once for each of the parts it is merged of)

Of a column-parallel projection (queries, keys, values, gate, up) A is whole on every rank and B
divided, of a row-parallel one (output, down) the other way around; fully sharded, the whole halves
are divided too. Every expert has places of its own.
Source: vLLM 0.32.0, create_lora_weights of BaseLinearLayerWithLoRA and its kin,
get_supported_lora_modules.
"""

from __future__ import annotations

from typing import NamedTuple

from barostat.core.units import ceil_div
from barostat.kv.architecture import Architecture, Full, Layer, Window
from barostat.kv.build_specs import stages
from barostat.kv.deployment import Adapters, Deployment
from barostat.kv.dtypes import item_bytes
from barostat.kv.estimate import Estimate, exact
from barostat.kv.parameters import Feed, feeds

NO_ADAPTERS = exact("LoRA adapters", 0.0, "no --enable-lora")

# Model types whose class names embedding and head as places for adapters, as 0.32.0's source says
# (Llama and Qwen3 also built in a parity test), and one that does not; other types may.
_EMBEDDING_TOO = frozenset(("llama", "qwen3", "qwen3_moe", "mixtral"))
_NO_EMBEDDING = frozenset(("qwen2",))
# Of attention that is not laid out here: how far its places may be off. Experts' wrappers need
# kernels that no CPU has: read, not built, and the router and shared experts beside them have
# places, too.
_UNSURE = 0.5
_EXPERTS_UNSURE = 0.1
# Before it the engine warns that adapters of experts are not taken. Source: a log in vLLM's issue
# 10446.
_EXPERTS_SINCE = "0.11.1"


class _Split(NamedTuple):
    """How a rank's part is cut."""

    tp: int
    rank: int
    sharded: bool

    def column(self, wide: int, *outs: float) -> float:
        """Values of a column-parallel projection merged of parts of these widths on this rank."""
        a = self.rank / self.tp if self.sharded else self.rank
        return sum(a * wide + out * self.rank for out in outs)

    def row(self, wide: float, out: int) -> float:
        """Values of a row-parallel projection, `wide` on this rank."""
        return self.rank * wide + (out / self.tp if self.sharded else out) * self.rank


def adapter_places(model: Architecture, flags: Deployment) -> Estimate:
    """Bytes on one GPU of the pipeline stage that has the most; none without LoRA."""
    kept = flags.adapters
    if kept is None:
        return NO_ADAPTERS
    split = _Split(flags.tp, kept.rank, kept.fully_sharded)
    layers = [
        _layer(model, split, flags, *kind)
        for kind in zip(model.layers, feeds(model.fields, model), strict=True)
    ]
    ends = kept.rank * (model.vocab_size + model.hidden_size)
    kind = model.fields.model_type
    ends_known = kind in _EMBEDDING_TOO or kind in _NO_EMBEDDING
    ends_value = 0 if kind in _NO_EMBEDDING else ends
    item = kept.places * item_bytes(kept.dtype)
    by_stage = []
    for number, of_stage in enumerate(stages(len(layers), flags.pp)):
        held = [layers[index] for index in of_stage]
        at_ends = (number == 0) + (number == flags.pp - 1)
        value = sum(size for size, _ in held) + at_ends * ends_value
        unsure = sum(off for _, off in held)
        low = value - unsure - (0 if ends_known else at_ends * ends)
        by_stage.append((value * item, low * item, (value + unsure) * item))
    value, low, high = max(by_stage)
    guessed = (
        ""
        if low == high
        else "; which modules of this kind of model have places, and how wide, is in part assumed"
    )
    return Estimate("LoRA adapters", value, low, high, f"{_words(kept)}{guessed}")


def _words(kept: Adapters) -> str:
    return f"{kept.places} of rank {kept.rank} in {kept.dtype}, kept from the start"


def _layer(
    model: Architecture, split: _Split, flags: Deployment, layer: Layer, feed: Feed
) -> tuple[float, float]:
    """Values on one rank, and how far they may be off."""
    hidden, tp = model.hidden_size, split.tp
    value = off = 0.0
    for cache in layer:
        if isinstance(cache, Full | Window):
            queries = (
                model.heads
                / tp
                * cache.key_dim
                * (2 if model.fields.flag("attn_output_gate", False) else 1)
            )
            heads = ceil_div(cache.kv_heads, tp)
            value += split.column(hidden, queries, heads * cache.key_dim, heads * cache.value_dim)
            value += split.row(model.heads / tp * cache.value_dim, hidden)
        else:
            one = split.rank * 6 * hidden
            value, off = value + one, off + _UNSURE * one
    if feed.width:
        value += _feed(split, hidden, feed.width / tp, feed.projections)
    if feed.experts and flags.version.at_least(_EXPERTS_SINCE):
        config = model.fields
        number = config.integer("num_experts")
        inner = (
            config.integer("moe_intermediate_size", 0)
            or config.integer("expert_dim", 0)
            or config.integer("intermediate_size", 0)
        )
        shared, own = (
            (number / (tp * flags.dp), inner) if flags.expert_parallel else (number, inner / tp)
        )
        experts = shared * _feed(
            split if not flags.expert_parallel else split._replace(tp=1),
            hidden,
            own,
            feed.projections,
        )
        value, off = value + experts, off + _EXPERTS_UNSURE * experts
    return value, off


def _feed(split: _Split, hidden: int, width: float, projections: int) -> float:
    return split.column(hidden, *[width] * (projections - 1)) + split.row(width, hidden)
