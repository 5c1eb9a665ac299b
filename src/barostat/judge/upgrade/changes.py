"""What the tables say that another version changes: arguments that it refuses, defaults, rules of
the scheduler, metrics. Exact, as far as the versions were read.
"""

from __future__ import annotations

from dataclasses import dataclass

from barostat.catalog.settings.defaults import Device, default
from barostat.catalog.settings.setting import option_of
from barostat.catalog.settings.table import SETTINGS, lacking
from barostat.catalog.vllm_behaviours import BEHAVIOURS, SCHEDULING, behaves
from barostat.catalog.vllm_exposed import EXPOSED
from barostat.core.config import ConfigScalar
from barostat.core.units import GIB
from barostat.core.version import EngineVersion
from barostat.judge.upgrade.deployed import Deployed


@dataclass(frozen=True, slots=True)
class RefusedArgument:
    """An argument that is set today and that the other version does not have."""

    option: str
    since: str
    instead: str


@dataclass(frozen=True, slots=True)
class ChangedDefault:
    """A default that differs. `certain`: False if it depends on something not known (the card),
    or where it is not known whether a person set the value.
    """

    name: str
    before: ConfigScalar | None
    after: ConfigScalar | None
    effect: str
    certain: bool


@dataclass(frozen=True, slots=True)
class ChangedRule:
    """A behaviour that one version has and the other has not. `gained`: by the change.
    `schedules`: it decides what runs. `idle`: why it changes nothing here; empty if it may.
    """

    name: str
    meaning: str
    gained: bool
    schedules: bool
    idle: str = ""


@dataclass(frozen=True, slots=True)
class ChangedMetrics:
    """Names on /metrics that go, and that come."""

    gone: tuple[str, ...]
    new: tuple[str, ...]


def refused_arguments(deployed: Deployed, after: EngineVersion) -> tuple[RefusedArgument, ...]:
    """Return the arguments that a person set and that version refuses."""
    found = []
    for name in deployed.config.values:
        lacks = lacking(name, after) if deployed.is_chosen(name) else None
        if lacks is not None:
            found.append(RefusedArgument(lacks.option, lacks.gone or lacks.since, lacks.instead))
    return tuple(found)


def changed_defaults(deployed: Deployed, after: EngineVersion) -> tuple[ChangedDefault, ...]:
    """Return the unset settings whose default differs."""
    card, found = deployed.card, []
    device = Device() if card is None else Device(card.name, card.memory_bytes[0] / GIB)
    for name, setting in SETTINGS.items():
        if deployed.is_chosen(name):
            continue
        was, then = (
            default(name, version, device, deployed.gpus) for version in (deployed.version, after)
        )
        before, later = (None if one is None else one.value for one in (was, then))
        if before == later or was is None or then is None:
            continue  # an argument that only one version has changes nothing by itself
        seen = deployed.config.get(name)
        if seen is not None and seen.provenance != "version-default" and seen.value != before:
            continue  # the engine reports another value: somebody set it
        certain = was.certain and then.certain and (
            seen is None or seen.provenance == "version-default"
        )  # fmt: skip
        found.append(ChangedDefault(option_of(name), before, later, setting.effect, certain))
    return tuple(found)


def changed_rules(deployed: Deployed, after: EngineVersion) -> tuple[ChangedRule, ...]:
    """Return every behaviour that the two versions do not share."""
    found = []
    for name, behaviour in BEHAVIOURS.items():
        was, then = behaves(name, deployed.version), behaves(name, after)
        if was == then:
            continue
        schedules = name in SCHEDULING
        found.append(
            ChangedRule(
                name, behaviour.meaning, bool(then), schedules,
                _idle(name, deployed) if schedules else "",
            )
        )  # fmt: skip
    return tuple(found)


def changed_metrics(before: EngineVersion, after: EngineVersion) -> ChangedMetrics:
    """Return the metrics that only one of the two shows."""
    was, then = (
        {one.name for one in EXPOSED if one.shown_by(version)} for version in (before, after)
    )
    return ChangedMetrics(tuple(sorted(was - then)), tuple(sorted(then - was)))


def _idle(name: str, deployed: Deployed) -> str:
    """Why the rule changes nothing for this deployment; empty if it may."""
    config, traits = deployed.config, deployed.traits()
    if "window" in name and traits is not None and "window" not in traits:
        return "no layer of this model has a window"
    if name == "lone-request-unthrottled" and not config.number("long_prefill_token_threshold"):
        return "--long-prefill-token-threshold is not set"
    policy = config.get("scheduling_policy")
    if name == "self-preempted-skips-on" and (policy is None or policy.value != "priority"):
        return "the queue is not ordered by priority"
    caching = config.get("enable_prefix_caching")
    if name == "unhashed-blocks-reused-first" and caching is not None and caching.value is False:
        return "prefix caching is off"
    reserves = config.get("scheduler_reserve_full_isl")
    if name == "full-sequence-admission" and reserves is not None and reserves.value is False:
        return "--no-scheduler-reserve-full-isl is set"
    return ""
