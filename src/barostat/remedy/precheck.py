"""The checks before anything is changed: a readable list of named judgements over gathered facts.

Present means that the check holds. Absent and Unknown both stop the plan: a fact that could not be
read permits nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from barostat.core.diagnosis import NOTHING_WRONG, CauseName
from barostat.core.verdict import Absent, Present, Unknown, Verdict
from barostat.remedy.annotations import read_claim
from barostat.remedy.plan import ROLLBACK, RemedyPlan

RIGHT_IS_MISSING = "the right to read it is missing"
"""Why a fact is unread, where the check on rights names the right."""


@dataclass(frozen=True, slots=True)
class Facts:
    """Facts read just before the plan is carried out. None: could not be read (`unread` says why,
    by the field's name).

    `cause`, `evidence_at`: of a new diagnosis, and the instant of its newest evidence. `bad_nodes`:
    of the target's pods, with the reason. `rollout_age_s`: of the last rollout; infinite for none
    known. `spare_schedulable`: the units that the plan needs beside those asked for find nodes.
    `quota_left`: units that quotas still allow. `owner`, `autoscaler`: the one that would revert or
    fight a write; empty for none, or suspended. `claim`: of the change in flight on home; empty for
    none. `rollout_stuck`: a rollout is under way, none of its units serves, and those of the
    revision before it do. `gateways`: why the plan's gateways do not take its limit; empty if they
    do. `separable`: every Service that selects home's pods does so by a label that can be taken
    off, and at least one does.
    """

    at: float
    cause: CauseName | None = None
    evidence_at: float | None = None
    lever_fits: bool | None = None
    bad_nodes: tuple[str, ...] | None = None
    rollout_age_s: float | None = None
    burn_window_s: float = 7200.0
    template: str | None = None
    rollout_complete: bool | None = None
    rollout_stuck: bool | None = None
    replicas: int | None = None
    serving: int | None = None
    spare_schedulable: bool | None = None
    spare_because: str = ""
    quota_left: int | None = None
    disruption_minimum: int | None = None
    autoscaler: str | None = None
    owner: str | None = None
    separable: bool | None = None
    claim: str | None = None
    changes_last_hour: int | None = None
    changes_per_hour: int = 2
    missing_rights: tuple[str, ...] | None = None
    gateways: str | None = None
    unread: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Check:
    """A named condition. `gloss`: the condition in one line."""

    name: str
    gloss: str
    needs: tuple[str, ...]
    judge: Callable[[Facts, RemedyPlan], Verdict]
    edge: bool = False
    """True if it matters for a change at the edge too, which touches no replica."""
    live: bool = False
    """True if it matters for gateways that hold a limit live, and for nothing else."""


def _verdict(holds: bool, yes: str, no: str) -> Verdict:
    return Present(yes, ()) if holds else Absent(no)


def _evidence_fresh(facts: Facts, plan: RemedyPlan) -> Verdict:
    age_s = facts.at - (facts.evidence_at if facts.evidence_at is not None else 0.0)
    limit_s = plan.bounds.evidence_s
    return _verdict(
        -5.0 <= age_s <= limit_s,
        f"the evidence is {age_s:.0f} s old",
        f"the evidence is {age_s:.0f} s old, at most {limit_s:.0f} s",
    )


def _cause_confirmed(facts: Facts, plan: RemedyPlan) -> Verdict:
    if plan.lever == ROLLBACK:
        return Present("a person takes the change back, whatever the cause is now", ())
    return _verdict(
        facts.cause == plan.cause,
        f"still {plan.cause}",
        f"the plan is for {plan.cause}, it is {facts.cause} now",
    )


def _lever_fits(facts: Facts, plan: RemedyPlan) -> Verdict:
    if plan.lever == ROLLBACK:
        holds = "what it goes back to ran before"
    elif plan.asked_for:
        holds = "asked for by name; there is no known reason against it"
    else:
        holds = f"{plan.lever} is right for {plan.cause}"
    return _verdict(
        facts.lever_fits is True,
        holds,
        f"{plan.change} is not for {plan.cause} on this version ({plan.because})",
    )


def _nodes_healthy(facts: Facts, _plan: RemedyPlan) -> Verdict:
    bad = facts.bad_nodes or ()
    return _verdict(
        not bad,
        "the nodes are healthy",
        f"a node fault looks the same and has to be fixed first: {', '.join(bad)}",
    )


def _no_recent_deploy(facts: Facts, plan: RemedyPlan) -> Verdict:
    age_s = facts.rollout_age_s or 0.0
    if plan.change.kind == "revision":
        return Present("the plan undoes the last rollout", ())
    return _verdict(
        age_s > facts.burn_window_s,
        "nobody else rolled anything out in the burn window",
        f"a rollout {age_s / 60:.0f} min ago is within the burn window: that one is undone first",
    )


def _home_as_planned(facts: Facts, plan: RemedyPlan) -> Verdict:
    same = facts.template == plan.template and facts.replicas == plan.replicas
    return _verdict(
        same,
        "the target is as the plan found it",
        f"{plan.target} is not as the plan found it: somebody changed it since",
    )


def _rollout_complete(facts: Facts, plan: RemedyPlan) -> Verdict:
    if plan.strategy == "stuck-rollout":
        return _verdict(
            facts.rollout_stuck is True,
            "the rollout that is undone is stuck: none of its replicas serves",
            "the rollout is not stuck",
        )
    return _verdict(
        facts.rollout_complete is True,
        "no rollout is under way",
        "a rollout is under way or paused",
    )


def _floor_holds(facts: Facts, plan: RemedyPlan) -> Verdict:
    """If fewer than the floor serve already, those must keep serving."""
    serving = facts.serving or 0
    floor = min(plan.floor, plan.serving)
    left = min(plan.kept_in_rotation, serving)
    return _verdict(
        left >= floor,
        f"{left} in rotation meanwhile; the floor is {floor}",
        f"{left} would serve, the floor is {floor}",
    )


def _serving_as_planned(facts: Facts, plan: RemedyPlan) -> Verdict:
    serving = facts.serving or 0
    serve = "1 replica serves" if serving == 1 else f"{serving} replicas serve"
    return _verdict(
        serving >= plan.serving, serve, f"{serve}, {plan.serving} did when it was planned"
    )


def _spare_schedulable(facts: Facts, plan: RemedyPlan) -> Verdict:
    needed = plan.units_needed
    if not needed:
        return Present("no spare replica is needed", ())
    if needed == 1:
        yes, no = "a spare replica can be placed", "no node takes a spare replica"
    else:
        yes, no = f"{needed} spare replicas can be placed", f"no room for {needed} spare replicas"
    return _verdict(facts.spare_schedulable is True, yes, f"{no}: {facts.spare_because}")


def _quota_allows(facts: Facts, plan: RemedyPlan) -> Verdict:
    needed = plan.units_needed
    left = facts.quota_left or 0
    return _verdict(
        left >= needed,
        "quotas leave room for it",
        f"the quota leaves room for {left} more, {needed} {'is' if needed == 1 else 'are'} needed",
    )


def _proved_first(facts: Facts, plan: RemedyPlan) -> Verdict:
    units = facts.replicas or 0
    if plan.proved_first or (units <= 1 and plan.strategy != "rolling"):
        return Present("one replica proves it before the others get it", ())
    every = f"all {units} replicas get" if units > 1 else "the one replica gets"
    return _verdict(
        plan.autonomy != "act",
        f"{every} it before the load proves it: a person agrees to that",
        f"{every} it from the owner before the load proves it: that takes a person's yes "
        "(--autonomy recommend)",
    )


def _disruption_budget(facts: Facts, plan: RemedyPlan) -> Verdict:
    """If fewer serve already than it requires, those must keep serving."""
    minimum = min(facts.disruption_minimum or 0, plan.serving)
    return _verdict(
        plan.kept_in_rotation >= minimum,
        f"the disruption budget asks for {minimum}",
        f"the disruption budget asks for {minimum}, {plan.kept_in_rotation} would serve",
    )


def _paused(plan: RemedyPlan) -> str:
    return f"; paused for it: {', '.join(map(str, plan.owners))}" if plan.owners else ""


def _no_autoscaler(facts: Facts, plan: RemedyPlan) -> Verdict:
    return _verdict(
        not facts.autoscaler,
        f"no autoscaler fights{_paused(plan)}",
        f"{facts.autoscaler} would set the replicas back: --pause-owner suspends it",
    )


def _no_owner(facts: Facts, plan: RemedyPlan) -> Verdict:
    return _verdict(
        not facts.owner,
        f"nobody reverts a write{_paused(plan)}",
        f"{facts.owner} would revert a write: the change belongs in its source",
    )


def _separable(facts: Facts, plan: RemedyPlan) -> Verdict:
    if plan.strategy == "stuck-rollout":
        return Present("no replica that serves is touched", ())
    if plan.strategy in ("canary", "rolling"):
        return Present("its owner takes replicas out of rotation", ())
    return _verdict(
        facts.separable is True,
        "a replica leaves every Service by its labels",
        "a Service selects on labels that the pods' owner sets, or none selects the pods: a "
        "replica cannot be taken out by its labels",
    )


def _no_other_change(facts: Facts, plan: RemedyPlan) -> Verdict:
    mine = facts.claim == "" or (facts.claim or "").startswith(f"{plan.id}#")
    claim = read_claim(facts.claim or "")
    by = f", run by {claim.holder}" if claim.holder else ""
    return _verdict(
        mine,
        "no other change is in flight",
        f"another change is in flight: incident {claim.incident}{by}",
    )


def _budget_left(facts: Facts, plan: RemedyPlan) -> Verdict:
    if plan.lever == ROLLBACK:
        return Present("taking a change back is always in the budget", ())
    spent = facts.changes_last_hour or 0
    return _verdict(
        spent < facts.changes_per_hour,
        f"{spent} of {facts.changes_per_hour} changes were made this hour",
        f"{spent} changes in the last hour, spec.remedy.changesPerHour of the limits "
        f"allows {facts.changes_per_hour}",
    )


def _rights(facts: Facts, _plan: RemedyPlan) -> Verdict:
    lacking = facts.missing_rights or ()
    return _verdict(
        not lacking, "every right is there", f"rights are missing: {', '.join(lacking)}"
    )


def _gateways_ready(facts: Facts, plan: RemedyPlan) -> Verdict:
    named = ", ".join(map(str, plan.edge.gateways)) if plan.edge is not None else "none"
    return _verdict(not facts.gateways, f"{named}: ready for a limit of ours", facts.gateways or "")


CHECKS: tuple[Check, ...] = (
    Check(
        "evidence-fresh",
        "was the harm seen just now?",
        ("evidence_at",),
        _evidence_fresh,
        edge=True,
    ),
    Check(
        "cause-confirmed",
        "is it still the cause that the plan is for?",
        ("cause",),
        _cause_confirmed,
        edge=True,
    ),
    Check(
        "lever-fits",
        "is the lever right for this cause on this version?",
        ("lever_fits",),
        _lever_fits,
        edge=True,
    ),
    Check("nodes-healthy", "is it no node fault?", ("bad_nodes",), _nodes_healthy),
    Check(
        "no-recent-deploy",
        "is there no rollout in the burn window to undo first?",
        ("rollout_age_s",),
        _no_recent_deploy,
    ),
    Check(
        "home-as-planned",
        "is the workload what the plan was made for?",
        ("template", "replicas"),
        _home_as_planned,
    ),
    Check(
        "rollout-complete",
        "is no rollout under way or paused?",
        ("rollout_complete",),
        _rollout_complete,
    ),
    Check(
        "serving-as-planned",
        "do no fewer serve than the plan counted on?",
        ("serving",),
        _serving_as_planned,
    ),
    Check("floor", "do enough replicas serve meanwhile?", ("serving",), _floor_holds),
    Check(
        "spare-schedulable",
        "does a node have room for the spare?",
        ("spare_schedulable",),
        _spare_schedulable,
    ),
    Check("quota", "does the quota allow it?", ("quota_left",), _quota_allows),
    Check(
        "proved-first",
        "does one replica prove it before the others?",
        ("replicas",),
        _proved_first,
    ),
    Check(
        "disruption-budget",
        "does the PodDisruptionBudget allow it?",
        ("disruption_minimum",),
        _disruption_budget,
    ),
    Check(
        "no-autoscaler",
        "does no HPA or KEDA set the replicas back?",
        ("autoscaler",),
        _no_autoscaler,
    ),
    Check("no-owner", "does no Helm, GitOps or operator revert it?", ("owner",), _no_owner),
    Check(
        "separable", "can one replica leave the rotation by its labels?", ("separable",), _separable
    ),
    Check(
        "gateways-ready",
        "does every gateway take the limit?",
        ("gateways",),
        _gateways_ready,
        edge=True,
        live=True,
    ),
    Check(
        "no-other-change", "is no other change in flight?", ("claim",), _no_other_change, edge=True
    ),
    Check(
        "budget-left",
        "may another change be made this hour?",
        ("changes_last_hour",),
        _budget_left,
        edge=True,
    ),
    Check("rights", "may we do all of it?", ("missing_rights",), _rights, edge=True),
)


def judged(facts: Facts, plan: RemedyPlan) -> tuple[tuple[Check, Verdict], ...]:
    """Every check that the plan's strategy asks for, with its verdict; a check that raises is its
    own Unknown.

    Law: L2, a fact that was not read gives Unknown, and its check is not run.
    """
    found: list[tuple[Check, Verdict]] = []
    unread = dict(facts.unread)
    for check in CHECKS:
        if (plan.at_edge and not check.edge) or (check.live and plan.edge is None):
            continue
        missing = tuple(name for name in check.needs if getattr(facts, name) is None)
        if missing:
            why = "; ".join(
                unread.get(name, f"{name.replace('_', ' ')} could not be read") for name in missing
            )
            found.append((check, Unknown(why, missing)))
            continue
        try:
            found.append((check, check.judge(facts, plan)))
        except Exception as error:
            found.append(
                (
                    check,
                    Unknown(
                        f"the check itself failed ({type(error).__name__}: {error}); "
                        "please report it",
                        crashed=True,
                    ),
                )
            )
    return tuple(found)


def is_lull(facts: Facts, plan: RemedyPlan) -> bool:
    """True if all that speaks against the plan is that nothing is wrong just now, or less of the
    same: a pool that thrashes is full, and preempts in episodes between which requests only
    wait.
    """
    less = (
        (*NOTHING_WRONG, "kv-admission-queueing")
        if plan.cause == "kv-preemption-thrash"
        else NOTHING_WRONG
    )
    return facts.cause in less and not refusals(replace(facts, cause=plan.cause), plan)


def refusals(facts: Facts, plan: RemedyPlan) -> tuple[str, ...]:
    """Return why the plan may not be carried out, by check; empty if every check passes.

    Missing rights are reported once, as one list; facts that are unreadable for lack of a right are
    not reported again.

    Law: L2.
    """
    against: list[str] = []
    for check, verdict in judged(facts, plan):
        match verdict:
            case Present():
                pass
            case Absent(because):
                against.append(f"{check.name}: {because}")
            case Unknown(why) if why == RIGHT_IS_MISSING and facts.missing_rights:
                pass
            case Unknown(why):
                against.append(f"{check.name}: cannot tell: {why}")
    return tuple(against)
