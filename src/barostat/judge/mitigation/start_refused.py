"""Whether an engine would not start with a change: what vLLM compares with its other settings and
with the cards of its pod.

Source: vLLM 0.32.0 SchedulerConfig.verify_max_model_len, ParallelConfig (world_size: one card for
each rank, of one node but for ray or --nnodes).
"""

from __future__ import annotations

from barostat.catalog.settings.table import canonical_name
from barostat.core.change import ConfigChange
from barostat.core.window import Window
from barostat.judge.mitigation.facts import written_number
from barostat.platform.objects import Object
from barostat.platform.pods import engine_container

_SHARE = ("tensor_parallel_size", "pipeline_parallel_size")


def would_not_start(change: ConfigChange, window: Window | None, template: Object) -> str:
    """Why vLLM would refuse to start with it; empty if nothing says so."""
    name = canonical_name(change.name)
    wanted = written_number(name, change.value)
    if window is None or wanted is None or change.kind not in ("argument", "config-file"):
        return ""
    if name in _SHARE:
        return _too_few_cards(name, wanted, window, template)
    slots = wanted if name == "max_num_seqs" else window.config.number("max_num_seqs")
    budget = (
        wanted
        if name == "max_num_batched_tokens"
        else window.config.number("max_num_batched_tokens")
    )
    if (
        name not in ("max_num_seqs", "max_num_batched_tokens")
        or slots is None
        or budget is None
        or slots <= budget
    ):
        return ""
    return (
        f"vLLM refuses to start where --max-num-batched-tokens ({budget:.0f}) is below "
        f"--max-num-seqs ({slots:.0f})"
    )


def _too_few_cards(name: str, wanted: float, window: Window, template: Object) -> str:
    """A pod has the cards that it asks for; engines over several nodes, and pods without cards of
    their own, are not judged.
    """
    container = engine_container(template)
    cards = container.gpus if container is not None else 0.0
    executor, nodes = (
        window.config.get("distributed_executor_backend"),
        window.config.number("nnodes") or 1.0,
    )
    other = next(one for one in _SHARE if one != name)
    ranks = wanted * (window.config.number(other) or 1.0)
    if (
        not cards
        or ranks <= cards
        or nodes > 1
        or (executor is not None and executor.value == "ray")
    ):
        return ""
    return (
        f"vLLM needs {ranks:.0f} cards for it, and a pod has {cards:.0f}: change both in the "
        "manifest"
    )
