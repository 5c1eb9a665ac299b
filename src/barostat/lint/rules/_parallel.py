"""Parallel sizes that a model can be divided by."""

from __future__ import annotations

from barostat.catalog.models import find_model
from barostat.kv.read_architecture import read_architecture
from barostat.lint.facts import Engine


def heads_of(engine: Engine) -> int | None:
    """Return the number of attention heads, None where the model is not in the catalogue."""
    found = find_model(engine.model.text) if engine.model is not None else None
    return (read_architecture(found.config, found.source).heads or None) if found else None


def sizes_for(engine: Engine, cards: int) -> str:
    """Return the arguments with which the engine takes all of these cards, empty where none is
    certain: the tensor-parallel size has to divide the attention heads, the data-parallel size does
    not.
    """
    times, rest = divmod(cards, engine.cards)
    if rest or times < 2:
        return ""
    heads = heads_of(engine)
    tensor = int(engine.number("tensor_parallel_size") or 1) * times
    if heads is not None and heads % tensor == 0 and tensor & (tensor - 1) == 0:
        return f"--tensor-parallel-size {tensor}"
    data = int(engine.number("data_parallel_size") or 1) * times
    return f"--data-parallel-size {data}"
