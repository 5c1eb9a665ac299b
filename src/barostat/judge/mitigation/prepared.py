"""What a look at a target and a request come to: a plan with all that speaks for and against it, or
why there is none.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from barostat.core.diagnosis import NOTHING_WRONG, ReplicaReport
from barostat.judge.mitigation.target_snapshot import TargetSnapshot
from barostat.platform.objects import name_of, text
from barostat.platform.owner import Owner
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
    """A plan that could be carried out, judged by one look.

    `replica`: the one that it was read from; None where it takes a change back. `limits`: the
    limits file that will hold once it is in force. `in_the_way`: who would revert or fight what it
    writes and is not paused by it. `writes`: what the server would make of it.
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
        """What is wrong with the plan itself."""
        return lint(self.plan)

    @property
    def against(self) -> tuple[str, ...]:
        """Why it may not be carried out; nothing where every check holds."""
        return (*self.wrong, *refusals(self.facts, self.plan))


def standing_of(seen: TargetSnapshot) -> Standing:
    """What a look comes to that gave no plan: healthy is no failure, unknown cannot be told,
    anything else is refused.
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
    """Who would revert or fight what a plan of that strategy writes."""
    if strategy in ("edge-only", "edge-live"):
        return ()
    found = seen.writers()
    if why := seen.kind.why_not(seen.home):
        return (own_controller(seen, why), *found)
    return tuple(
        owner
        for owner in found
        if owner.hinders("everything") or (owner.over == "replicas" and owner.hinders("replicas"))
    )
