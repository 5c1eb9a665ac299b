"""Computes the pool after a change of its memory settings (utilisation, precision, cards, graphs),
relative to the observed pool.

blocks after = blocks today x planned blocks after / planned blocks today

Both plans are for the same model and card, so the plan's error cancels out. Predicted step times
are scaled in the same way, part by part.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from barostat.catalog.cards import find_card
from barostat.catalog.models import find_model
from barostat.catalog.settings.setting import Part, option_of
from barostat.catalog.settings.table import SETTINGS
from barostat.core.config import ConfigScalar, ConfigValue, EngineConfig
from barostat.core.errors import InputError
from barostat.core.version import EngineVersion
from barostat.core.window import Window
from barostat.judge.sizing.measured_pool import declared_of
from barostat.judge.sizing.plan import CapacityPlan, PlanRequest, plan
from barostat.judge.sizing.planned_twin import pace_of_plan
from barostat.kv.architecture import Architecture
from barostat.kv.read_architecture import read_architecture
from barostat.twin.linear_pace import LinearPace

SIZING = tuple(
    setting.name
    for setting in SETTINGS.values()
    if setting.sized and Part.SCHEDULER not in setting.changes
)
"""The settings that act through the size of the pool, and on nothing that a scheduler decides."""
_PARTS = ("base_s", "prefill_token_s", "decode_s", "kv_token_s")


@dataclass(frozen=True, slots=True)
class Sizing:
    """The inputs for computing the pool. `lacks`: missing inputs, with the flags that supply them;
    empty if complete.
    """

    config: EngineConfig = field(default_factory=EngineConfig)
    version: EngineVersion | None = None
    model: Architecture | None = None
    model_name: str = ""
    card: str = ""
    lacks: str = ""


@dataclass(frozen=True, slots=True)
class PoolThen:
    """`blocks_ratio`: of today's. `steps`: what each part of a step's time is multiplied by.
    `note`: in one clause, for a person.
    """

    blocks_ratio: float
    steps: Mapping[str, float]
    note: str

    def paced(self, pace: LinearPace) -> LinearPace:
        """The pace with its parts as they are then."""
        return replace(
            pace, **{name: getattr(pace, name) * factor for name, factor in self.steps.items()}
        )


def sizing_of(
    window: Window, card: str | None, model: tuple[str, Architecture] | None = None
) -> Sizing:
    """Return the sizing inputs from the engine's own configuration. `model`: if known from
    elsewhere, else it is looked up by name.
    """
    named = window.config.get("model")
    if model is None and named is not None and (found := find_model(str(named.value))) is not None:
        model = (found.name, read_architecture(found.config, found.source))
    lacking = [] if model is not None else ["the model's shape (--model-config)"]
    if card is None or find_card(card) is None:
        lacking.append("the card (--gpu)")
    if window.version is None:
        lacking.append("the engine's version (--engine-version)")
    name, shape = model if model is not None else ("", None)
    return Sizing(
        declared_of(window.config), window.version, shape, name, card or "", " and ".join(lacking)
    )


def pool_then(today: Sizing, changes: Mapping[str, ConfigScalar | None]) -> PoolThen:
    """The pool with these settings (None: the argument is removed).

    Errors: InputError with what is missing, or why such an engine would not start.
    """
    words = ", ".join(f"{option_of(name)}={value}" for name, value in changes.items())
    if today.lacks or today.model is None or today.version is None:
        raise InputError(f"the resulting pool cannot be computed without {today.lacks}", words)
    before, after = _planned(today, {}), _planned(today, changes)
    if not after.fits:
        from barostat.judge.sizing.fitting_changes import why_not

        raise InputError(f"the engine would not start: {why_not(after)}", words)
    if before.pool.blocks < 2:
        raise InputError(
            "the pool of today's engine is reckoned as empty, so that nothing follows from it",
            words,
        )
    ratio = (after.pool.blocks - 1) / (before.pool.blocks - 1)
    steps = _steps(before, after) if any(map(_changes_steps, changes)) else {}
    return PoolThen(
        ratio,
        steps,
        f"the pool is reckoned as {ratio:.2f} times today's ({today.model_name} on "
        f"{after.gpus} x {today.card})",
    )


def _changes_steps(name: str) -> bool:
    return Part.PROCESS in SETTINGS[name].changes or name == "kv_cache_dtype"


def _planned(today: Sizing, changes: Mapping[str, ConfigScalar | None]) -> CapacityPlan:
    values = dict(today.config.values)
    for name, value in changes.items():
        values.pop(name, None)
        if value is not None:
            values[name] = ConfigValue(value, "flag", f"{option_of(name)}={value}")
    assert today.model is not None
    assert today.version is not None
    config = EngineConfig(values, today.config.problems)
    return plan(
        PlanRequest(today.model, today.model_name, today.version, config, find_card(today.card))
    )


def _steps(before: CapacityPlan, after: CapacityPlan) -> dict[str, float]:
    try:
        now, then = pace_of_plan(before).line(), pace_of_plan(after).line()
    except InputError:
        return {}
    return {
        name: getattr(then, name) / getattr(now, name) for name in _PARTS if getattr(now, name) > 0
    }
