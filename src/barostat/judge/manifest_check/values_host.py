"""What surrounds an engine, as `resources` in a chart's values say it."""

from __future__ import annotations

from barostat.judge.manifest_check.written import written
from barostat.lint.document import Document, Node
from barostat.lint.facts import Host
from barostat.platform.objects import quantity
from barostat.platform.pods import is_gpu_resource


def values_host(document: Document, resources: Node | None) -> Host:
    """Return the memory and the cards that the resources limit; the chart brings all else."""
    limits = resources.get("limits") if resources is not None else None
    cards = [
        value
        for key, value in (limits.entries.items() if limits is not None else ())
        if is_gpu_resource(key)
    ]
    memory = limits.get("memory") if limits is not None else None
    return Host(
        shm_bytes=None,
        memory=written(document, memory),
        memory_bytes=quantity(memory.text) if memory is not None else None,
        gpus=quantity(cards[0].text) if cards else None,
        gpu_place=document.place(cards[0]) if cards else None,
        has_cache=True,
    )
