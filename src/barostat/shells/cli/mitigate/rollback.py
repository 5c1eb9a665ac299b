"""`barostat rollback`: the change of an incident is taken back: begun ones backwards, those in
force by a plan of their own.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from barostat.shells.cli.durations import parse_duration
from barostat.shells.cli.mitigate.common_arguments import (
    DRY_RUN_ENDS,
    OK,
    REFUSED,
    add_cluster,
    add_gateway,
    add_look,
    add_output,
    end_code,
    how_it_ended,
    print_end,
    print_owners,
    print_progress,
    print_result,
    within,
)
from barostat.shells.cli.mitigate.confirmation import asked

if TYPE_CHECKING:
    from barostat.io.mitigation.campaign import Campaign, Ended
    from barostat.judge.mitigation.prepared import Prepared

TAKEN_BACK = "a person took it back"
FORWARD_FIRST = (
    "every replica has proved the change already, so it goes on to its end, and is taken back then"
)

EPILOG = """\
examples:
  barostat rollback vllm-3f9a1c -n inference          # revert this incident's change
  barostat rollback deploy/vllm -n inference --yes    # revert the workload's current change

The rollback proceeds one replica at a time, as with `mitigate`, and is verified under load as well. To revert a rollback, give its id.

exit codes: 0 reverted, or nothing to revert; 1 the former settings were worse, so the change stays; 2 usage; 3 inconclusive;
4 an external system failed; 5 refused
"""


def add_parser(verbs: Any) -> None:
    """Add the verb."""
    parser = verbs.add_parser(
        "rollback",
        help="revert a change that mitigate made, one replica at a time",
        description="Revert a change that `mitigate` made.",
        epilog=EPILOG,
    )
    parser.add_argument(
        "target", metavar="ID|TARGET", help="an incident, or KIND/NAME to revert its current change"
    )
    parser.add_argument(
        "--dry-run",
        action="store_true",
        help="show the plan, the checks and the server-side diff; write nothing",
    )
    parser.add_argument("--yes", action="store_true", help="do not ask")
    parser.add_argument(
        "--in-place",
        action="store_true",
        help="use no spare: stop a replica before its successor starts",
    )
    parser.add_argument(
        "--pause-owner", action="store_true", help="suspend Argo CD, Flux, KEDA or an HPA meanwhile"
    )
    add_output(parser)
    parser.add_argument(
        "--sustained",
        dest="sustained_s",
        type=parse_duration,
        default=60.0,
        metavar="TIME",
        help="how long the result must hold (default 1m)",
    )
    add_look(parser)
    add_gateway(parser)
    add_cluster(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Find the incident and take it back."""
    return within(arguments, "", lambda campaign: take_back(campaign, arguments))


async def take_back(campaign: Campaign, arguments: argparse.Namespace) -> int:
    """The exit code once what was meant is taken back, or where nothing is in force. Errors:
    InputError, OutsideError.
    """
    from barostat.io.mitigation.campaign import new_id
    from barostat.judge.mitigation.planning import Wish
    from barostat.judge.mitigation.prepared import NothingPrepared
    from barostat.remedy.history import is_open, latest, taken_back_by
    from barostat.shells.reports.incident.plan_json import preview_json

    json_form = arguments.output == "json"
    state, states = await campaign.change_in_force(arguments.target)
    if state is None:
        ended = how_it_ended(states[0], campaign.namespace, stopped=False)
        return _nothing(
            f"no change of ours is in force on {arguments.target}: {ended}", json_form=json_form
        )
    if is_open(state):
        what = FORWARD_FIRST if state.committed else "what it has begun is taken back"
        print_progress(
            f"{state.plan.id} is not over ({state.phase}): {what}; a run of it that is "
            "alive somewhere gives way"
        )
        if arguments.dry_run:
            return (
                _nothing(f"{state.plan.id} is not over ({state.phase}): {what}", json_form=True)
                if json_form
                else OK
            )
        if not arguments.yes and not await asked():
            return REFUSED
        run = await campaign.go_on(*await campaign.store.read(state.plan.id), abort=TAKEN_BACK)
        code, state = _ended(run, campaign, json_form=json_form), run.state
        if run.stopped or state.phase != "Done":
            nothing_begun = state.phase == "Refused" and state.why == TAKEN_BACK
            return OK if state.phase == "RolledBack" or nothing_begun else code
    if state.phase != "Done":
        standing = latest(states)
        other = (
            f"; in force is {standing.plan.id} ({standing.plan.change})"
            if standing is not None
            else ""
        )
        return _nothing(
            f"{state.plan.id} changed nothing that is still there ({state.phase}){other}",
            json_form=json_form,
        )
    if not state.plan.lasts:
        return _nothing(
            f"{state.plan.id} changed nothing that is still there: {state.plan.done_sentence}",
            json_form=json_form,
        )
    if (after := taken_back_by(states, state.plan.id)) is not None:
        return _nothing(
            f"{state.plan.id} was taken back already, by {after.plan.id}", json_form=json_form
        )
    print_progress(f"looking at {campaign.typed} for {arguments.for_s:.0f} s")
    wish = Wish(
        new_id(campaign.name),
        autonomy="recommend",
        in_place=arguments.in_place,
        sustained_s=arguments.sustained_s,
    )
    found = await campaign.prepare_rollback(state.plan, wish, pause_owners=arguments.pause_owner)
    if (
        not isinstance(found, NothingPrepared)
        and not found.wrong
        and (arguments.dry_run or not (arguments.yes or found.against))
    ):
        found = await campaign.with_writes(found)
    if json_form and (arguments.dry_run or isinstance(found, NothingPrepared)):
        print_result(preview_json(found))
        return REFUSED if isinstance(found, NothingPrepared) or found.against else OK
    if isinstance(found, NothingPrepared):
        print_result(f"refused: {found.why}")
        return REFUSED
    if not json_form:
        _show(found)
    if found.wrong:
        return REFUSED
    if arguments.dry_run:
        if not (found.against or json_form):
            print_progress(DRY_RUN_ENDS)
        return REFUSED if found.against else OK
    return _ended(
        await campaign.carry_out(found, None if arguments.yes else asked),
        campaign,
        json_form=json_form,
    )


def _show(found: Prepared) -> None:
    """The plan that takes it back, with its checks, for a person."""
    from barostat.shells.reports.incident.plan_document import checks_document
    from barostat.shells.reports.sheet.forms import as_text

    plan = found.plan
    print_result(f"plan {plan.id}: {plan.change}, {plan.strategy}; {plan.because}")
    if plan.previous:
        print_result(f"{plan.previous} kept that version warm and serves first, without a start")
    print_result(as_text(checks_document(found.facts, plan)))
    if found.wrong:
        print_result(f"refused: {'; '.join(found.wrong)}")
    for line in found.writes:
        print_result(line)


def _nothing(why: str, *, json_form: bool) -> int:
    """Print that there is nothing to revert."""
    from barostat.shells.reports.incident.plan_json import nothing_in_force_json

    print_result(nothing_in_force_json(why) if json_form else why)
    return OK


def _ended(run: Ended, campaign: Campaign, *, json_form: bool) -> int:
    """Print how the run ended; return the exit code."""
    from barostat.shells.reports.incident.post_mortem import as_json

    if not json_form:
        return print_end(run, campaign.namespace)
    print_owners(run.owners)
    print_result(as_json(run.state, ()))
    return end_code(run)
