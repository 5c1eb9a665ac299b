"""What every form of a plan shows: where it is for, where the memory goes, which limits follow and
why.
"""

from __future__ import annotations

from barostat.io.input_files.limits_file import as_document
from barostat.judge.sizing.answer import CapacityAnswer


def where(answer: CapacityAnswer) -> str:
    """The cards and the version that it was planned for."""
    found = answer.plan
    card = found.request.card
    some = "1 GPU" if found.gpus == 1 else f"{found.gpus} GPUs"
    cards = (
        "the CPU"
        if found.request.is_cpu
        else f"{found.gpus} x {card.name}"
        if card is not None
        else f"{some} with memory as given"
    )
    return f"{cards}, vLLM {found.request.version}"


def memory_parts(answer: CapacityAnswer) -> list[tuple[str, float]]:
    """Return the parts of one GPU's memory, in bytes; empty if its size is unknown."""
    found = answer.plan
    if found.total is None or found.spent is None:
        return []
    parts = [
        (part.name, part.value)
        for part in found.spent.parts
        if part.name != "graphs" or found.spent.graphs_counted
    ]
    kv = max(0.0, found.pool.blocks * found.layout.block_bytes)
    rest = found.total.value - sum(size for _, size in parts) - kv
    return [*parts, ("KV cache", kv), ("unused", max(0.0, rest))]


def limit_values(answer: CapacityAnswer) -> list[tuple[str, str, str]]:
    """Field, value and reason of every limit."""
    spec = as_document(answer.derived.limits)["spec"]
    rows = []
    for path, reason in answer.derived.limits.because.items():
        section, name = path.split(".")
        value = spec.get(section, {}).get(name)
        if value is not None:
            rows.append(
                (
                    path,
                    f"{value:,}"
                    if isinstance(value, int)
                    else f"{value:g}"
                    if isinstance(value, float)
                    else str(value),
                    reason,
                )
            )
    return rows
