"""Plans a declared engine: whether it would start, and its capacity."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import lru_cache

from barostat.catalog.cards import find_card, is_slice
from barostat.catalog.models import find_model
from barostat.catalog.vllm_versions import NEWEST_READ
from barostat.core.errors import InputError
from barostat.core.units import GIB
from barostat.core.version import EngineVersion, parse_version
from barostat.core.whole_number import whole_number
from barostat.engines.vllm.command_line.config import resolve
from barostat.judge.sizing.fitting_changes import changes_that_fit, why_not
from barostat.judge.sizing.plan import PlanRequest, plan
from barostat.kv.architecture import Architecture
from barostat.kv.read_architecture import read_architecture
from barostat.lint.facts import Engine, Planned

_DIVIDES = ("--tp", "--pp", "--dcp")
_BEFORE_NULL_BLOCK = EngineVersion((0, 28, 0))
"""The last version whose start-up check counts the whole pool: what only newer ones refuse is not
sure where nobody tells the version.
"""
_PLENTY = 1 << 50
"""A pool that anything fits: for what is asked without a card."""


def planned_of(engine: Engine, gpu: str | None) -> Planned | None:
    """The plan of the engine, or None if its model or an argument is not known. `gpu`: the
    pool's card, where the user says it.

    Without a card only what does not depend on it is said: sizes that the model cannot be divided
    by, and its longest context.
    """
    name = engine.model.text if engine.model is not None else None
    if name is None or any(argument.text is None for argument in engine.arguments.values()):
        return None
    version = engine.version or parse_version(NEWEST_READ)
    space = engine.env.get("VLLM_CPU_KVCACHE_SPACE")
    cpu = whole_number(space.text) if space is not None else None
    hint = (
        f"{gpu} MIG{engine.card_hint.rpartition('MIG')[2]}"
        if gpu and is_slice(engine.card_hint)
        else gpu or engine.card_hint
    )
    if version is None or engine.number(
        "cpu_offload_gb"
    ):  # weights on the host are not in the planner's account
        return None
    arguments = tuple(
        (argument.name, argument.text or "")
        for argument in engine.arguments.values()
        if argument.name != "model"
    )
    env = tuple(
        (key, given.text) for key, given in sorted(engine.env.items()) if key.startswith("VLLM_")
    )
    found = _planned(name, arguments, env, version, hint, cpu)
    if (
        found is None
        or found.fits
        or not found.sure
        or found.refused
        or engine.version is not None
        or engine.floating
    ):
        return found
    older = _planned(name, arguments, env, _BEFORE_NULL_BLOCK, hint, cpu)
    return replace(found, sure=False) if older is not None and older.fits else found


@lru_cache(maxsize=4096)
def _architecture(name: str) -> Architecture | None:
    found = find_model(name)
    if found is None:
        return None
    read = read_architecture(found.config, found.source)
    return read if read.known else None


@lru_cache(maxsize=4096)
def _planned(
    name: str, arguments: tuple[tuple[str, str], ...], env: tuple[tuple[str, str], ...], version: EngineVersion, hint: str, cpu: int | None
) -> Planned | None:  # fmt: skip
    model = _architecture(name)
    card = None if cpu is not None else find_card(hint)
    if model is None:
        return None
    pool = _PLENTY if card is None and cpu is None else cpu * GIB if cpu is not None else None
    args = [
        "vllm",
        "serve",
        name,
        *(f"--{key.replace('_', '-')}={text}" for key, text in arguments),
    ]
    shown = (
        card.name
        if card is not None
        else f"the CPU backend with {cpu} GiB"
        if cpu is not None
        else ""
    )
    memory = card.memory_bytes[0] / GIB if card is not None else None
    try:
        config = resolve(
            args=args,
            env=dict(env),
            version=version,
            gpu="cpu" if cpu is not None else card.name if card is not None else None,
            gpu_memory_gib=memory,
        )
        request = PlanRequest(
            model=model, model_name=name, version=version, config=config, card=card, is_cpu=cpu is not None,
            available_kv_bytes=pool,
        )  # fmt: skip
        made = plan(request)
    except InputError as error:
        return (
            Planned(False, True, "", refused=_sentence(error), card=shown)
            if error.where in _DIVIDES
            else None
        )
    if made.fits and (made.is_exact or made.low.fits):
        fits, sure = True, True
    else:
        fits, sure = made.fits, not made.fits and not made.high.fits
    change = changes_that_fit(made)[:1] if not fits else []
    return Planned(
        fits,
        sure,
        why_not(made),
        nothing_left=made.available.value <= 0 or made.beyond.value > 0,
        pool_tokens=made.pool.tokens,
        longest_tokens=made.pool.longest_tokens or 0,
        model_len=made.flags.max_model_len,
        positions=0 if _has_no_positions(name) else model.max_position_tokens or 0,
        weights_bytes=made.weights_bytes,
        card=shown,
        change=f"{change[0].arguments} ({change[0].cost})" if change else "",
    )


def _has_no_positions(name: str) -> bool:
    """True for Nemotron-H and its successors, whose attention encodes no positions: their model
    cards go beyond max_position_embeddings.
    """
    found = find_model(name)
    return found is not None and str(found.config.get("model_type", "")).startswith("nemotron_h")


def _sentence(error: InputError) -> str:
    """The refusal in the engine's words for its arguments."""
    text = re.sub(r"--tp\b", "--tensor-parallel-size", error.what)
    return re.sub(r"--dcp\b", "--decode-context-parallel-size", text)
