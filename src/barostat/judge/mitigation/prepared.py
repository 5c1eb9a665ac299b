"""Prepares a plan from one observation of the target and a request, with all arguments for and
against it, or says why there is none.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from barostat.core.diagnosis import NOTHING_WRONG, ReplicaReport
from barostat.judge.mitigation.target_snapshot import TargetSnapshot
from barostat.platform.objects import name_of, text
from barostat.platform.owner import Owner
from barostat.platform.workloads import OwnedKind
from barostat.remedy.plan import RemedyPlan, lint
from barostat.remedy.precheck import Facts, refusals

Standing = Literal["healthy", "cannot-tell", "refused"]


@dataclass(frozen=True, slots=True)
class NothingPrepared:
    """There is no plan, and why; what was passed over on the way, a sentence each."""

    why: str
    standing: Standing
    passed_over: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Prepared:
    """A plan that could be carried out, judged by one observation.

    `replica`: the one it is based on; None for a rollback. `limits`: the limits file in force after
    it. `in_the_way`: owners that would revert or fight the write and are not paused. `writes`: the
    server-side dry-run result.
    """

    seen: TargetSnapshot
    plan: RemedyPlan
    facts: Facts
    replica: ReplicaReport | None = None
    limits: str = ""
    in_the_way: tuple[Owner, ...] = ()
    passed_over: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()

    @property
    def wrong(self) -> tuple[str, ...]:
        """Return the problems of the plan itself."""
        return lint(self.plan)

    @property
    def against(self) -> tuple[str, ...]:
        """Return the failed checks; empty if the plan may be carried out."""
        return (*self.wrong, *refusals(self.facts, self.plan))


def standing_of(seen: TargetSnapshot) -> Standing:
    """Return the outcome if there is no plan: healthy is success, unknown is inconclusive, anything
    else is refused.
    """
    causes = {replica.diagnosis.cause for replica in seen.report.replicas}
    if causes and all(cause.startswith("healthy") for cause in causes):
        return "healthy"
    return "cannot-tell" if causes.issubset(NOTHING_WRONG) else "refused"


def own_controller(seen: TargetSnapshot, why: str) -> Owner:
    """The controller of a kind that a remedy does not change, as the owner of its pods."""
    api, name = seen.held or (seen.kind.api, name_of(seen.home))
    namespace = text(seen.home, "metadata", "namespace")
    source = f"{api.kind} {name} in {namespace}"
    return Owner("own-controller", name, namespace, "everything", "at-once", why, source)


def hinderers(seen: TargetSnapshot, strategy: str) -> tuple[Owner, ...]:
    """Return the owners that would revert or fight the writes of that strategy."""
    if strategy in ("edge-only", "edge-live"):
        return ()
    found = seen.writers()
    if why := seen.why_not():
        return (own_controller(seen, why), *found)
    if strategy == "scale-out" and isinstance(seen.kind, OwnedKind):
        return (own_controller(seen, seen.kind.scale_by_hand), *found)
    return tuple(
        owner
        for owner in found
        if owner.hinders("everything") or (owner.over == "replicas" and owner.hinders("replicas"))
    )
