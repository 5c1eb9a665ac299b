"""Parallel sizes that a model can be divided by."""

from __future__ import annotations

from barostat.catalog.models import find_model
from barostat.kv.read_architecture import read_architecture
from barostat.lint.facts import Engine


def heads_of(engine: Engine) -> int | None:
    """Return the number of attention heads, None if the model is not in the catalogue."""
    found = find_model(engine.model.text) if engine.model is not None else None
    return (read_architecture(found.config, found.source).heads or None) if found else None


def sizes_for(engine: Engine, cards: int) -> str:
    """Return the arguments with which the engine takes all of these cards, empty if none is
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


def spreads_experts(engine: Engine) -> bool:
    """Return whether experts are spread over data-parallel engines, which therefore exchange data;
    those of a dense model, or of one that is not in the catalogue, are taken to be independent.
    """
    if engine.is_on("enable_expert_parallel"):
        return True
    if (engine.number("data_parallel_size") or 1) < 2 or engine.model is None:
        return False
    found = find_model(engine.model.text)
    return found is not None and read_architecture(found.config, found.source).fields.has_experts


def workers_in_container(engine: Engine) -> int:
    """Return how many workers in one container exchange data."""
    workers = engine.cards if spreads_experts(engine) else engine.ranks
    gpus = int((engine.host.gpus if engine.host is not None else None) or 0)
    several = engine.multi_node or (engine.pod is not None and engine.pod.nodes > 1)
    return min(workers, gpus) if gpus and (several or spreads_experts(engine)) else workers
