"""`barostat mitigate`: end KV-cache pressure in a cluster: one change, proved on one replica before the others get it, or taken back."""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from barostat.shells.cli.asking import asked
from barostat.shells.cli.durations import seconds
from barostat.shells.cli.once import OnceAction
from barostat.shells.cli.remedy_flags import (
    CANNOT_TELL,
    OK,
    REFUSED,
    add_cluster,
    add_look,
    deployment,
    end_code,
    how_it_ended,
    owners_back,
    say,
    tell,
    within,
)

if TYPE_CHECKING:
    from barostat.core.limits import ServingLimits
    from barostat.io.remedy.campaign import Campaign
    from barostat.judge.remedy_plan import Planned
    from barostat.judge.remedy_scene import Seen
    from barostat.platform.owner import Owner, Switch
    from barostat.remedy.state import State

EPILOG = """\
examples:
  barostat mitigate deploy/vllm -n inference --dry-run        the plan, the checks, what would be written; nothing is
  barostat mitigate deploy/vllm -n inference                  the same, then asks
  barostat mitigate deploy/vllm -n inference --yes            carries that plan out
  barostat mitigate deploy/vllm -n inference --lever max-num-seqs=48
  barostat mitigate deploy/vllm -n inference --autonomy act --limits limits.yaml    without a person, within spec.remedy

One replica is replaced by a spare with the change, drained and kept warm until the spare has proved the change under load; then the others
follow, one at a time. Worse, inconclusive, late or refused: the same steps backwards. Ctrl-C stops it; `barostat incident resume` goes on.

exit codes: 0 verified (or nothing to do), 1 taken back, 2 usage, 3 inconclusive or cannot tell, 4 the outside failed, 5 refused
"""


def add_parser(verbs: Any) -> None:
    """Add the verb."""
    parser = verbs.add_parser(
        "mitigate",
        help="end the pressure on a workload: one change, proved on one replica first, or taken back",
        description="Diagnose a Deployment, plan one change, check, carry it out one replica at a time, verify, or take it back.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("target", metavar="TARGET", help="deploy/NAME")
    parser.add_argument(
        "--lever",
        action=OnceAction,
        default="",
        metavar="X[=V]",
        help="this change instead: a flag with its value, or a lever of the diagnosis",
    )
    parser.add_argument("--limits", metavar="FILE", help="limits to keep to (default: those that the cluster holds for the target)")
    parser.add_argument(
        "--dry-run", action="store_true", help="show the plan, the checks and what the server would make of it; write nothing"
    )
    parser.add_argument("--yes", action="store_true", help="the answer to this one plan")
    parser.add_argument("--autonomy", choices=("observe", "recommend", "act"), help="default: that of the limits, else recommend")
    parser.add_argument(
        "--pause-owner",
        action="store_true",
        help="suspend Argo CD, Flux, KEDA or an HPA for the incident; one that would revert the change stays so until `incident resume`",
    )
    parser.add_argument("--in-place", action="store_true", help="without a spare: one replica at a time goes before its successor comes")
    parser.add_argument(
        "--sustained", dest="sustained_s", type=seconds, default=120.0, metavar="TIME", help="how long it must hold to count (default 2m)"
    )
    parser.add_argument(
        "--drain", dest="drain_s", type=seconds, default=300.0, metavar="TIME", help="longest wait for a replica's requests (default 5m)"
    )
    add_look(parser)
    add_cluster(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Look, plan, ask, carry out; answer how it ended.

    Errors: InputError, OutsideError.
    """
    from barostat.core.errors import InputError

    if arguments.yes and (arguments.dry_run or arguments.autonomy == "observe"):
        raise InputError("it answers for a plan that is carried out, which --dry-run and --autonomy observe do not", "--yes")
    from barostat.judge.asked_lever import asked_lever

    name = deployment(arguments.target)
    if arguments.lever:
        asked_lever(arguments.lever)
    return within(arguments, name, lambda campaign: _mitigate(campaign, arguments))


async def _mitigate(campaign: Campaign, arguments: argparse.Namespace) -> int:
    from dataclasses import replace

    from barostat.io.remedy.campaign import new_id
    from barostat.io.remedy.pausing import still_paused
    from barostat.judge.remedy_plan import NoPlan, Wish
    from barostat.remedy.plan import Bounds, lint
    from barostat.remedy.precheck import refusals
    from barostat.shells.remedy_report import checks_text, plan_text

    held = await campaign.held_limits()
    _same_target(held, campaign.name, arguments)
    autonomy = arguments.autonomy or (held.spec.remedy.autonomy if held is not None else None) or "recommend"
    if arguments.yes and autonomy == "observe":
        tell("refused: the limits say autonomy observe, which carries nothing out; --autonomy recommend with --yes does")
        return REFUSED
    say(f"looking at deploy/{campaign.name} in {campaign.namespace} for {arguments.for_s:.0f} s")
    await _unfinished(campaign)
    seen = await campaign.look()
    for note in seen.recording.missing:
        say(f"note: {note}")
    bounds = Bounds(drain_s=arguments.drain_s)
    wish = Wish(
        new_id(campaign.name),
        arguments.lever,
        "act" if autonomy == "act" else "recommend",
        arguments.in_place,
        arguments.sustained_s,
        bounds,
    )
    made, limits = await campaign.plan(seen, wish)
    for passed in made.passed_over:
        say(f"passed over: {passed}")
    if isinstance(made, NoPlan):
        tell(made.why)
        return REFUSED if arguments.lever else _nothing(seen)
    hinders = _hinders(seen, made)
    switches = [owner.switch for owner in hinders if owner.switch is not None]
    if hinders and not (arguments.pause_owner and len(switches) == len(hinders)):
        from barostat.shells.remedy_report import source_text

        if arguments.pause_owner:
            without = next(owner for owner in hinders if owner.switch is None)
            tell(f"{without.kind} {without.name} has no switch to pause it")
        tell(source_text(seen, made.plan, hinders[0]))
        return REFUSED
    tell(plan_text(made.plan, made.replica))
    facts = await campaign.facts(made.plan, seen)
    if switches:
        facts = replace(facts, owner="", autoscaler="")
        tell(f"paused for it: {', '.join(f'{switch} ({switch.note})' if switch.note else str(switch) for switch in switches)}")
    tell(checks_text(facts, made.plan))
    if wrong := lint(made.plan):
        tell(f"refused: {'; '.join(wrong)}")
        return REFUSED
    against = refusals(facts, made.plan)
    if arguments.dry_run or autonomy == "observe":
        await _show_writes(campaign, made, limits)
        if against:
            tell("would be refused: " + "; ".join(against))
        return REFUSED if against else OK
    ask = None if autonomy == "act" or arguments.yes else asked
    if ask is not None and not against:
        await _show_writes(campaign, made, limits)
    if switches and not against:  # what is refused anyway pauses nobody
        if ask is not None and not await ask():
            return REFUSED
        await paused(campaign, switches, made.plan.id)
        ask = None
    state, stopped = await campaign.carry_out(made.plan, limits, ask)
    if not stopped or not state.revision:
        await owners_back(campaign, state)
    tell(how_it_ended(state, campaign.namespace, stopped=stopped))
    if not stopped and any(switch.kind in still_paused(state) for switch in switches):
        _until_it_is_in_the_source(seen, made, hinders, state, campaign)
    return end_code(state, stopped=stopped)


def _same_target(held: ServingLimits | None, name: str, arguments: argparse.Namespace) -> None:
    """Errors: InputError for limits that were given and are another workload's."""
    from barostat.core.errors import InputError

    target = held.spec.target_ref if held is not None and arguments.limits else None
    if target is not None and (target.kind or "Deployment", target.name or name) != ("Deployment", name):
        raise InputError(
            f"its spec.targetRef is {target.kind or 'Deployment'} {target.name}, and deploy/{name} is to be changed", arguments.limits
        )


async def _unfinished(campaign: Campaign) -> None:
    """Says which incidents of the target are not over."""
    from contextlib import suppress

    from barostat.core.errors import OutsideError
    from barostat.io.remedy.store import Store
    from barostat.remedy.history import is_open

    with suppress(OutsideError):  # the checks tell that they could not be read
        states, _ = await Store(campaign.cluster, campaign.namespace).every(campaign.name)
        for state in filter(is_open, states):
            verb = f"{state.plan.id} -n {campaign.namespace}"
            say(f"note: incident {state.plan.id} is not over ({state.phase}): barostat incident resume {verb}, or abort {verb}")


async def paused(campaign: Campaign, switches: Sequence[Switch], incident: str) -> None:
    """Each owner leaves the workload alone, and it is said. Interrupted: how they have it again."""
    from barostat.io.remedy.pausing import pause

    try:
        for told in await pause(campaign.cluster, campaign.namespace, campaign.name, switches, incident):
            say(told)
    except asyncio.CancelledError:
        say(f"stopped while owners are being paused; they have it again: barostat incident resume {incident} -n {campaign.namespace}")
        raise


def _until_it_is_in_the_source(seen: Seen, made: Planned, hinders: list[Owner], state: State, campaign: Campaign) -> None:
    """What a person does before an owner that would take the change back has the workload again."""
    from barostat.io.remedy.pausing import still_paused
    from barostat.shells.remedy_report import patch_text

    for owner in hinders:
        if state.phase == "Done" and owner.switch is not None and owner.switch.kind in still_paused(state):
            tell(f"{owner.kind} {owner.name} stays paused: it would take the change back. Into its source:")
            tell(patch_text(seen, made.plan, owner))
    tell(f"hand it back then: barostat incident resume {made.plan.id} -n {campaign.namespace}")


def _nothing(seen: Seen) -> int:
    """No plan: healthy is no failure, unknown cannot be told, anything else is refused."""
    from barostat.core.diagnosis import NOTHING_WRONG

    causes = {replica.diagnosis.cause for replica in seen.report.replicas}
    if causes and all(cause.startswith("healthy") for cause in causes):
        return OK
    return CANNOT_TELL if causes.issubset(NOTHING_WRONG) else REFUSED


def _hinders(seen: Seen, made: Planned) -> list[Owner]:
    """Who would revert or fight what the plan writes."""
    if made.plan.strategy == "edge-only":
        return []
    return [owner for owner in seen.writers() if owner.hinders("everything") or (owner.over == "replicas" and owner.hinders("replicas"))]


async def _show_writes(campaign: Campaign, made: Planned, limits: str) -> None:
    """What the server would make of the spare and of the template, and the limits: nothing is written."""
    from barostat.io.remedy.preview import preview

    for line in await preview(campaign, made.plan):
        tell(line)
    if limits:
        tell("\nlimits that would be written:\n" + limits)
