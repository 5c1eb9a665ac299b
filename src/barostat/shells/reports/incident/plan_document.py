"""A plan and its checks as documents."""

from __future__ import annotations

from collections.abc import Iterator

from barostat.core.diagnosis import ReplicaReport
from barostat.core.units import many
from barostat.core.verdict import Absent, Present, Unknown
from barostat.judge.advice.change_text import as_written, price_of
from barostat.remedy.plan import RemedyPlan
from barostat.remedy.precheck import Facts, judged
from barostat.remedy.program import program
from barostat.remedy.verify import unmeasured
from barostat.shells.reports.diagnosis.document import SHORT_REFUSED
from barostat.shells.reports.diagnosis.forecasts import expected_words
from barostat.shells.reports.sheet import blocks
from barostat.shells.reports.sheet.blocks import Document, Listing, Section, Table
from barostat.shells.reports.sheet.scale import duration

_STRATEGIES = {
    "spare": "with a spare: never fewer replicas in rotation than now",
    "in-place": "in place: one replica less in rotation while each is replaced",
    "scale-out": "one replica more",
    "stuck-rollout": "the template alone: no replica of the rollout serves, and those that serve stay",
    "canary": "by its owner: one unit with the change first, then the others",
    "edge-only": "limits only: no replica is touched",
    "edge-live": "live, at the gateway: no replica is touched, in force within a second",
}

_WANTS = {
    "zero": "at most {:.3g}", "below": "at most {:.3g}", "above": "at least {:.3g}", "falls": "falls by {:.0%}", "rises": "rises by {:.0%}",
    "holds": "rises by no more than {:.0%}", "no-more": "stays as it is",
}  # fmt: skip


def plan_document(plan: RemedyPlan, replica: ReplicaReport) -> Document:
    """Return what will be done, why, how, and what will prove it."""
    where = f"{plan.serving} {'serves' if plan.serving == 1 else 'serve'}"
    cause = f"{plan.cause}{f' ({plan.variant})' if plan.variant else ''}"
    return Document(
        f"plan {plan.id}",
        (
            blocks.Facts(
                (
                    ("Plan", plan.id),
                    ("Target", f"{plan.target}, {many(plan.replicas, 'replica')}, {where}"),
                    ("Cause", f"{cause} on {replica.name}: {replica.diagnosis.summary}"),
                    ("Change", f"{plan.change} ({plan.lever})"),
                    ("Because", plan.because),
                )
            ),
            Listing("On the twin", list(_candidates(plan, replica))),
            Listing(
                "Not taken",
                [
                    blocks.named(step.lever, str(step.because))
                    for step in replica.not_advised[:SHORT_REFUSED]
                ],
            ),
            Listing("How", [*_how(plan), *_at_the_gateway(plan)]),
            blocks.Facts((("Proof", _proof(plan)), ("Undo", _undo(plan)))),
        ),
        titles="beside",
    )


def _candidates(plan: RemedyPlan, replica: ReplicaReport) -> Iterator[blocks.Text]:
    """Today and each candidate on the twin, with its price, as `diagnose` ranks them; nothing if
    none was tried.
    """
    trials = replica.trials
    if trials is None or trials.today is None:
        return
    beside = plan.strategy not in ("in-place", "rolling")
    yield blocks.named("today", expected_words(trials.today))
    for step in replica.next:
        if step.forecast is not None:
            name, text = (
                blocks.bold(str(as_written(step.change))),
                expected_words(step.forecast.expected),
            )
            chosen = (blocks.tag("(chosen)"),) if step.lever == plan.lever else ()
            yield (name, *chosen, f": {text}; price: {price_of(step, trials, beside=beside)}")


def _how(plan: RemedyPlan) -> Iterator[str]:
    yield _by_owner(plan) if plan.rolls == "owner" else _STRATEGIES[plan.strategy]
    yield (
        f"at least {plan.kept_in_rotation} in rotation; {many(plan.starts, 'engine start')}, "
        f"{many(len(program(plan)), 'step')}"
    )
    if plan.drops:
        yield f"ends what is kept of a former version, for its GPU: {', '.join(plan.drops)}"
    if plan.keep_previous_s:
        yield (
            f"afterwards one replica of the former version stays warm for "
            f"{duration(plan.keep_previous_s)}, out of rotation, if its GPU is still free then"
        )
    if plan.not_kept:
        yield f"keeps no replica of the former version warm: {plan.not_kept}"


def _by_owner(plan: RemedyPlan) -> str:
    """How a plan reaches a kind that its owner rolls."""
    rolls = [
        f"starts {many(plan.surge, 'replica')} more" if plan.surge else "",
        f"takes {many(plan.unavailable, 'replica')} away" if plan.unavailable else "",
    ]
    pace = f"its owner {' and '.join(filter(None, rolls))} at a time, and drains none"
    if plan.strategy == "spare":
        return f"a spare proves the change under load, then home is written: {pace}"
    return f"home is written, and no replica proves the change before the others get it: {pace}"


def _at_the_gateway(plan: RemedyPlan) -> Iterator[str]:
    """How running gateways hold the limit; nothing for a plan without."""
    edge = plan.edge
    if edge is None:
        return
    yield f"at {', '.join(map(str, edge.gateways))}"
    if edge.enforces:
        yield (
            "the gateway only watches now (--shadow): while it holds this it enforces the limits "
            "of its file, too"
        )
    yield (
        f"held while this runs, until no pool is fuller than {edge.calm_ratio:.0%} for "
        f"{edge.calm_s:.0f} s and no request waits"
    )


def _proof(plan: RemedyPlan) -> str:
    if plan.strategy == "stuck-rollout":
        return f"all {plan.replicas} replicas of the version before stand Ready in rotation"
    unknown = unmeasured(plan.expectation, dict(plan.baseline))
    promises = "; ".join(
        f"{found.signal} {_WANTS[found.want].format(found.bound)}"
        for found in plan.expectation.expects
        if found.essential and found.signal not in unknown
    )
    proof = f"{promises}, for {plan.expectation.sustained_s:.0f} s under the current load"
    if unknown:
        proof += (
            f"; by {' and '.join(unknown)} only if that is measured after the change: it was "
            "not before"
        )
    return proof


def _undo(plan: RemedyPlan) -> str:
    if plan.edge is not None:
        return plan.undo_sentence()
    if plan.strategy == "stuck-rollout":
        return f"barostat rollback {plan.id}: the rollout begins again"
    return "the same steps backwards, until the target's template is as it was"


def checks_document(facts: Facts, plan: RemedyPlan) -> Document:
    """Return every check with its verdict."""
    rows: list[tuple[str, ...]] = [("met", "check", "because")]
    for check, verdict in judged(facts, plan):
        match verdict:
            case Present(because):
                rows.append(("yes", check.name, because))
            case Absent(because):
                rows.append(("NO", check.name, because))
            case Unknown(why):
                rows.append(("?", check.name, f"cannot tell: {why}"))
    return Document(
        "checks", (Section("Checks", (Table(rows, words=(0, 1, 2)),)),), titles="beside"
    )
