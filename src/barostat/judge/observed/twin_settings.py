"""Twin settings of a running engine, from its window alone: scheduler, pool, and KV groups."""

from __future__ import annotations

from dataclasses import dataclass, replace

from barostat.catalog.cards import find_card
from barostat.catalog.models import find_model
from barostat.catalog.vllm_versions import DEFAULT_VERSION
from barostat.core.config import EngineConfig
from barostat.core.errors import InputError
from barostat.core.prose import Prose
from barostat.core.version import parse_version
from barostat.core.window import Window
from barostat.judge.observed.drafting import with_seen_drafts
from barostat.judge.observed.settings import (
    ARCHITECTURE,
    Assumption,
    SeenPool,
    assumptions,
    is_cpu,
    named_model,
    seen_pool,
    with_seen_slots,
)
from barostat.judge.sizing.measured_pool import declared_of
from barostat.judge.sizing.plan import CapacityPlan, Measured, PlanRequest, plan
from barostat.judge.sizing.planned_twin import settings_of_plan
from barostat.kv.read_architecture import read_architecture
from barostat.twin.from_config import settings_of
from barostat.twin.settings import KvGroup, Settings

_TOKENS_AGREE_RATIO = 0.02
_OPTION = "--model-config"


@dataclass(frozen=True, slots=True)
class SeenTwin:
    """The twin's settings, and assumptions about what the engine does not show. `model`: catalogue
    model whose KV groups were used; empty if none is known.
    """

    settings: Settings
    assumptions: tuple[Assumption, ...] = ()
    model: str = ""


def twin_settings(window: Window, card: str | None = None) -> SeenTwin | None:
    """Return the engine's twin; None if its pool is unknown or its version is not simulated.

    KV groups come from the model's architecture. If that is unknown, all layers count as full
    attention, which is noted as an assumption unless the engine's token count confirms it. Drafts
    are accepted at the engine's measured rate.
    """
    found = _without_drafts(window, card)
    if found is None:
        return None
    settings, left_out = with_seen_drafts(found.settings, window)
    return replace(found, settings=settings, assumptions=(*found.assumptions, *left_out))


def _without_drafts(window: Window, card: str | None) -> SeenTwin | None:
    pool = seen_pool(window)
    if pool is None:
        return None
    config = with_seen_slots(window)
    assumed = tuple(assumptions(config, window))
    try:
        grouped = _of_architecture(window, config, pool, card)
        if isinstance(grouped, SeenTwin):
            return replace(grouped, assumptions=(*assumed, *grouped.assumptions))
        settings = _of_one_kind(window, config, pool)
    except InputError:
        return None
    if pool.is_of_one_kind and grouped.is_unnamed:
        return SeenTwin(settings, assumed)
    return SeenTwin(settings, (*assumed, grouped.assumption(pool)))


@dataclass(frozen=True, slots=True)
class _NotGrouped:
    """Why the KV groups are unknown. `is_unnamed`: the engine names no known model."""

    why: str
    is_unnamed: bool = False

    def assumption(self, pool: SeenPool) -> Assumption:
        size = "" if pool.tokens is None else f" of {pool.tokens:,} tokens"
        text = f"{self.why}: the pool{size} is taken as one group of full attention"
        return Assumption(ARCHITECTURE, Prose(text), _OPTION)


def _of_architecture(
    window: Window, config: EngineConfig, pool: SeenPool, card: str | None
) -> SeenTwin | _NotGrouped:
    """Return the twin with the KV groups of the model that the engine names.

    Errors: InputError if the engine would refuse its own settings.
    """
    named = named_model(config)
    found = find_model(named.name) if named is not None else None
    if named is None or found is None:
        return _NotGrouped("the model's architecture is not known", is_unnamed=True)
    try:
        made = plan(_request(window, config, pool, card, found.name, found.config))
        if not made.request.model.known:
            return _NotGrouped(f"the layers of {found.name} are not known", is_unnamed=True)
        if not _agrees(made, pool):
            told = f"{made.pool.tokens:,} tokens of {found.name}"
            return _NotGrouped(
                f"{pool.blocks:,} blocks would hold {told}, not what the engine says"
            )
        settings = settings_of_plan(made)
    except InputError as error:
        return _NotGrouped(f"the layers of {found.name} are not simulated ({error.what})")
    if not named.served:
        return SeenTwin(settings, model=found.name)
    text = Prose(f"the model is taken to be {named.name}, the name under which it is served")
    return SeenTwin(settings, (Assumption(ARCHITECTURE, text, _OPTION),), found.name)


def _request(
    window: Window,
    config: EngineConfig,
    pool: SeenPool,
    card: str | None,
    name: str,
    model: dict[str, object],
) -> PlanRequest:
    version = window.version or parse_version(DEFAULT_VERSION)
    assert version is not None
    return PlanRequest(
        read_architecture(model, name),
        name,
        version,
        declared_of(config),
        find_card(card) if card else None,
        is_cpu=is_cpu(window),
        measured=Measured("the engine", blocks=pool.blocks, tokens=pool.tokens),
    )


def _agrees(made: CapacityPlan, pool: SeenPool) -> bool:
    """False if the engine's token count contradicts the model: its blocks would hold a different
    number.
    """
    if pool.tokens is None or not made.pool.tokens:
        return True
    return abs(made.pool.tokens / pool.tokens - 1) <= _TOKENS_AGREE_RATIO


def _of_one_kind(window: Window, config: EngineConfig, pool: SeenPool) -> Settings:
    """Return the twin with one full-attention group of the pool's size in tokens."""
    blocks = pool.blocks
    if pool.is_of_one_kind is False and pool.tokens is not None:
        blocks = pool.tokens // pool.block_tokens + 1
    version = str(window.version or DEFAULT_VERSION)
    return settings_of(config, version, kv_blocks=blocks, groups=(KvGroup(pool.block_tokens),))
