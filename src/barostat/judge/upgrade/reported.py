"""Which of the regressions that others reported the change brings to this deployment, or leaves
behind.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from barostat.catalog.known_regressions import REGRESSIONS, Regression
from barostat.core.version import EngineVersion
from barostat.judge.upgrade.deployed import Deployed

Match = Literal["hits", "may hit"]
_SEVERE_TIMES = 1.25


@dataclass(frozen=True, slots=True)
class Reported:
    """`match`: `hits` where all that the regression needs is known to be so here. `unknown`: what
    is not known of it, in clauses.
    """

    regression: Regression
    match: Match
    unknown: tuple[str, ...] = ()

    @property
    def is_severe(self) -> bool:
        """True if it stops the engine, makes its output wrong, or its steps a quarter longer."""
        harm, times = self.regression.harm, self.regression.times
        return harm in ("stops", "wrong") or (times is not None and times >= _SEVERE_TIMES)


def brought(deployed: Deployed, after: EngineVersion) -> tuple[Reported, ...]:
    """Return what the other version has and today's has not, the certain ones first."""
    found = [
        reported
        for one in REGRESSIONS
        if _has(one, after) and not _has(one, deployed.version)
        if (reported := _matched(one, deployed, after))
    ]
    return tuple(sorted(found, key=lambda one: (one.match != "hits", not one.is_severe)))


def left_behind(deployed: Deployed, after: EngineVersion) -> tuple[Reported, ...]:
    """Return what today's version has and the other is known not to have."""
    return tuple(
        reported
        for one in REGRESSIONS
        if _has(one, deployed.version) and not _has(one, after)
        if (reported := _matched(one, deployed, deployed.version))
    )


def _has(one: Regression, version: EngineVersion) -> bool:
    return version.at_least(one.bad) and not (one.fixed and version.at_least(one.fixed))


def _matched(one: Regression, deployed: Deployed, version: EngineVersion) -> Reported | None:
    """The regression as it meets this deployment; None if something rules it out."""
    unknown: list[str] = []
    for asked, met, clause in (
        (bool(one.models), _model(one, deployed), "which model it is"),
        (bool(one.traits), _traits(one, deployed), "what the model is made of"),
        (bool(one.cards), _card(one, deployed), "which card it is"),
    ):
        if asked and met is False:
            return None
        if asked and met is None:
            unknown.append(clause)
    if one.ranks > 1 and deployed.gpus < one.ranks:
        return None
    if not all(_setting(name, value, deployed) for name, value in one.settings.items()):
        return None
    if not (one.models or one.traits or one.cards or one.settings):
        unknown.append("which deployments it hits")
    if version.beyond(one.last_bad):
        unknown.append(f"whether vLLM {version} still has it: last seen in {one.last_bad}")
    return Reported(one, "may hit" if unknown else "hits", tuple(unknown))


def _model(one: Regression, deployed: Deployed) -> bool | None:
    if not deployed.model_name:
        return None
    return any(part in deployed.model_name.lower() for part in one.models)


def _traits(one: Regression, deployed: Deployed) -> bool | None:
    traits = deployed.traits()
    return None if traits is None else traits.issuperset(one.traits)


def _card(one: Regression, deployed: Deployed) -> bool | None:
    return None if deployed.card is None else deployed.card.name.startswith(one.cards)


def _setting(name: str, value: str | None, deployed: Deployed) -> bool:
    found = deployed.config.get(name)
    if found is None or (value is None and not deployed.is_chosen(name)):
        return False
    return value is None or value.lower() in str(found.value).lower()
