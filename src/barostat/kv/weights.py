"""Bytes of weights on one GPU: parameters by component, their format, and how parallelism divides them."""

from __future__ import annotations

from dataclasses import dataclass

from barostat.core.units import ceil_div
from barostat.kv.architecture import Architecture
from barostat.kv.build_specs import stages
from barostat.kv.parameters import decoder_weights, embedding_weights, ties_embeddings, tower_weights
from barostat.kv.quantization import WeightFormat

# vLLM pads the vocabulary to a multiple of this, and each rank takes an equal part. Source: vLLM 0.32.0, DEFAULT_VOCAB_PADDING_SIZE.
_VOCAB_PADDING = 64


@dataclass(frozen=True, slots=True)
class WeightBytes:
    """Bytes on the GPU of each pipeline stage, and by component on the largest. `parameters`: of the whole model."""

    by_stage: tuple[int, ...]
    by_component: dict[str, int]
    parameters: int

    @property
    def largest(self) -> int:
        """Of the stage that holds most."""
        return max(self.by_stage)


def weight_bytes(model: Architecture, form: WeightFormat, tp: int, pp: int) -> WeightBytes:
    """The bytes each stage's GPUs hold once the model is loaded."""
    embedding = embedding_weights(model)
    padded = embedding + (-model.vocab_size % _VOCAB_PADDING) * model.hidden_size
    tied = ties_embeddings(model)
    tower = tower_weights(model)
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
                parts[weights.component] = parts.get(weights.component, 0.0) + weights.on_rank(tp) * form.bytes_of(weights.component)
        first, last = number == 0, number == len(ranges) - 1
        if first or (last and tied):
            parts["embedding"] = ceil_div(padded, tp) * form.bytes_of("embedding")
        if last and not tied:
            parts["head"] = ceil_div(padded, tp) * form.bytes_of("head")
        if first and tower:
            parts["tower"] = tower / tp * form.bytes_of("tower")
        total = int(sum(parts.values()))
        if not by_stage or total > max(by_stage):
            largest = {name: int(size) for name, size in parts.items()}
        by_stage.append(total)
    return WeightBytes(tuple(by_stage), largest, parameters)


def module_bytes(model: Architecture, index: int, count: int, form: WeightFormat, tp: int) -> tuple[int, int]:
    """The bytes on one GPU of `count` drafting modules shaped like layer `index`: quantised as the model is, and in its plain dtype.

    A module is a layer and a projection from two hidden states to one; embedding and head are the model's own.
    """
    low = high = 0.0
    for weights in decoder_weights(model)[index]:
        on_rank = weights.on_rank(tp)
        low += on_rank * form.bytes_of(weights.component)
        high += on_rank * form.plain_bytes
    joined = 2 * model.hidden_size**2 * form.plain_bytes
    return int((low + joined) * count), int((high + joined) * count)
