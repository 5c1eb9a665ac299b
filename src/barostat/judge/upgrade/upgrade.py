"""All that another version changes, and one verdict: safe, watch or do not.

do not     an argument is refused, the engine would not start, a severe regression hits this deployment,
           or the service level is kept today and missed then
watch      something changes that may be felt, may hit, or is not known
safe       nothing of the two
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from barostat.catalog.vllm_versions import NEWEST_READ
from barostat.core.diagnosis import SloOutlook
from barostat.core.units import gib
from barostat.core.version import EngineVersion
from barostat.judge.upgrade.changes import (
    ChangedDefault,
    ChangedMetrics,
    ChangedRule,
    RefusedArgument,
    changed_defaults,
    changed_metrics,
    changed_rules,
    refused_arguments,
)
from barostat.judge.upgrade.deployed import Deployed
from barostat.judge.upgrade.kernel_speed import KernelSpeed, StepChange, kernel_speed
from barostat.judge.upgrade.reported import Reported, brought, left_behind

Verdict = Literal["safe", "watch", "do-not"]
_FELT_RATIO = 0.05
"""Figures that move by less are taken as unchanged."""


@dataclass(frozen=True, slots=True)
class SimulatedVersion:
    """The twin on the same traffic with both versions' rules and pools: figures by name.
    `outlooks`: whether each keeps the service level; None without one. `starts`: why the engine
    would not start, empty if it would.
    """

    before: Mapping[str, float]
    after: Mapping[str, float]
    outlooks: tuple[SloOutlook, SloOutlook] | None = None
    refuses: str = ""

    def moved(self) -> tuple[str, ...]:
        """Figures that moved by more than a twentieth."""
        return tuple(
            name
            for name, was in self.before.items()
            if abs(self.after.get(name, was) - was) > _FELT_RATIO * max(abs(was), 1e-9)
        )


@dataclass(frozen=True, slots=True)
class Reason:
    """One reason for the verdict, a sentence."""

    level: Verdict
    text: str


@dataclass(frozen=True, slots=True)
class Upgrade:
    """The change from `deployed.version` to `after`. `tried`: None if there was no traffic to
    try it on. `notes`: what was not known, or not tried, a sentence each.
    """

    deployed: Deployed
    after: EngineVersion
    refused: tuple[RefusedArgument, ...]
    defaults: tuple[ChangedDefault, ...]
    rules: tuple[ChangedRule, ...]
    metrics: ChangedMetrics
    kernels: KernelSpeed
    brings: tuple[Reported, ...]
    leaves: tuple[Reported, ...]
    tried: SimulatedVersion | None
    notes: tuple[str, ...]
    reasons: tuple[Reason, ...]

    @property
    def verdict(self) -> Verdict:
        """The worst of the reasons; safe without one."""
        levels = {reason.level for reason in self.reasons}
        return "do-not" if "do-not" in levels else "watch" if "watch" in levels else "safe"


def upgrade(
    deployed: Deployed,
    after: EngineVersion,
    tried: SimulatedVersion | None = None,
    notes: tuple[str, ...] = (),
) -> Upgrade:
    """Return what the change to that version brings."""
    found = Upgrade(
        deployed, after, refused_arguments(deployed, after), changed_defaults(deployed, after),
        changed_rules(deployed, after), changed_metrics(deployed.version, after),
        kernel_speed(deployed, after), brought(deployed, after), left_behind(deployed, after),
        tried, (*deployed.notes, *notes), (),
    )  # fmt: skip
    reasons = (
        *_of_arguments(found), *_of_the_pool(found), *_of_traffic(found), *_of_reports(found),
        *_of_kernels(found), *_of_reading(found),
    )  # fmt: skip
    object.__setattr__(found, "reasons", reasons)
    return found


def _of_arguments(found: Upgrade) -> list[Reason]:
    reasons = []
    for one in found.refused:
        then = f"; use {one.instead}" if one.instead else ""
        reasons.append(Reason("do-not", f"vLLM {found.after} refuses {one.option}{then}"))
    names = ", ".join(one.name for one in found.defaults)
    if names:
        reasons.append(
            Reason("watch", f"defaults change that nobody set: {names}; set them to keep today's")
        )
    return reasons


def _of_the_pool(found: Upgrade) -> list[Reason]:
    before, after = found.deployed.before, found.deployed.after
    if before is None or after is None:
        return []
    was, then = before.available.value, after.available.value
    if before.fits and not after.fits:
        return [Reason("do-not", f"the model fits no longer: {gib(then)} for the KV cache")]
    if was > 0 and abs(then / was - 1) > _FELT_RATIO:
        told = f"the KV cache gets {gib(then)} of each GPU instead of {gib(was)} ({then / was - 1:+.0%})"
        return [Reason("watch", told)]
    return []


def _of_traffic(found: Upgrade) -> list[Reason]:
    rules = [rule for rule in found.rules if rule.schedules and not rule.idle]
    tried = found.tried
    if tried is None:
        if not rules:
            return []
        names = ", ".join(rule.name for rule in rules)
        return [Reason("watch", f"the scheduler decides otherwise ({names}), and no traffic was given to try it on")]  # fmt: skip
    if tried.refuses:
        return [Reason("do-not", f"the engine would not start: {tried.refuses}")]
    if (
        tried.outlooks is not None
        and tried.outlooks[0] != "misses"
        and tried.outlooks[1] == "misses"
    ):
        return [Reason("do-not", "the service level is kept today and missed then, on the same traffic")]  # fmt: skip
    if moved := tried.moved():
        return [Reason("watch", f"on the same traffic more than 5 % different: {', '.join(moved)}")]
    return []


def _of_reports(found: Upgrade) -> list[Reason]:
    reasons = []
    for one in found.brings:
        level: Verdict = "do-not" if one.is_severe and one.match == "hits" else "watch"
        reasons.append(
            Reason(level, f"{one.regression.name} {one.match} this deployment ({one.regression.threads[0]})")
        )  # fmt: skip
    return reasons


def _of_kernels(found: Upgrade) -> list[Reason]:
    reasons = [
        Reason("watch", f"a {step.kind} step takes {step.ratio:.2f} times as long by the tables of kernels")
        for step in found.kernels.steps
        if not step.lacks and _is_slower(step)
    ]  # fmt: skip
    if found.kernels.unknown:
        reasons.append(Reason("watch", f"not known: {found.kernels.unknown}"))
    return reasons


def _is_slower(step: StepChange) -> bool:
    return step.ratio > 1 + _FELT_RATIO


def _of_reading(found: Upgrade) -> list[Reason]:
    if not found.after.beyond(NEWEST_READ):
        return []
    return [
        Reason("watch", f"vLLM {found.after} is newer than {NEWEST_READ}, the newest that was read: the rest is not known")
    ]  # fmt: skip
