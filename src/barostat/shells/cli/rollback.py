"""`barostat rollback`: the change of an incident is taken back: begun ones backwards, those in force by a plan of their own."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from barostat.shells.cli.durations import seconds
from barostat.shells.cli.remedy_flags import OK, REFUSED, add_cluster, add_look, end_code, how_it_ended, owners_back, say, tell, within

if TYPE_CHECKING:
    from barostat.io.remedy.campaign import Campaign

TAKEN_BACK = "a person took it back"
FORWARD_FIRST = "every replica has proved the change already, so it goes on to its end, and is taken back then"

EPILOG = """\
examples:
  barostat rollback vllm-3f9a1c -n inference          that incident
  barostat rollback deploy/vllm -n inference --yes    the one in force on the workload

One replica at a time, as `mitigate` does it. What was there before is a claim to verify, too: it has to answer under the load.
A rollback is itself taken back by its id only.

exit codes: 0 taken back, or nothing is in force; 1 it was worse and stays, 2 usage, 3 inconclusive, 4 the outside failed, 5 refused
"""


def add_parser(verbs: Any) -> None:
    """Add the verb."""
    parser = verbs.add_parser(
        "rollback",
        help="take the change of an incident back, one replica at a time",
        description="Take back what `mitigate` changed.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("target", metavar="ID|TARGET", help="an incident, or deploy/NAME for its change in force")
    parser.add_argument("--dry-run", action="store_true", help="show the plan and the checks; write nothing")
    parser.add_argument("--yes", action="store_true", help="do not ask")
    parser.add_argument("--in-place", action="store_true", help="without a spare")
    parser.add_argument(
        "--sustained", dest="sustained_s", type=seconds, default=60.0, metavar="TIME", help="how long it is watched (default 1m)"
    )
    add_look(parser)
    add_cluster(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Find the incident and take it back."""
    return within(arguments, "", lambda campaign: take_back(campaign, arguments))


async def take_back(campaign: Campaign, arguments: argparse.Namespace) -> int:
    """The exit code once what was meant is taken back, or where nothing is in force. Errors: InputError, OutsideError."""
    from barostat.io.remedy.campaign import new_id
    from barostat.io.remedy.store import Store
    from barostat.judge.remedy_plan import NoPlan, Wish, rollback_plan
    from barostat.remedy.history import is_open, latest, taken_back_by
    from barostat.remedy.plan import lint
    from barostat.remedy.precheck import refusals
    from barostat.shells.cli.asking import asked
    from barostat.shells.cli.incident import meant
    from barostat.shells.remedy_report import checks_text

    store = Store(campaign.cluster, campaign.namespace)
    state, states = await meant(store, arguments.target)
    if state is None:
        tell(f"no change of ours is in force on {arguments.target}: {how_it_ended(states[0], campaign.namespace, stopped=False)}")
        return OK
    campaign.name = state.plan.target.name
    if is_open(state):
        what = FORWARD_FIRST if state.committed else "what it has begun is taken back"
        say(f"{state.plan.id} is not over ({state.phase}): {what}; a run of it that is alive somewhere gives way")
        if arguments.dry_run:
            return OK
        if not arguments.yes and not await asked():
            return REFUSED
        state, limits = await store.read(state.plan.id)
        state, stopped = await campaign.resume(state, limits, abort=TAKEN_BACK)
        if not stopped:
            await owners_back(campaign, state)
        tell(how_it_ended(state, campaign.namespace, stopped=stopped))
        if stopped or state.phase != "Done":
            nothing_begun = state.phase == "Refused" and state.why == TAKEN_BACK
            return OK if state.phase == "RolledBack" or nothing_begun else end_code(state, stopped=stopped)
    if state.phase != "Done":
        standing = latest(states)
        other = f"; in force is {standing.plan.id} ({standing.plan.change})" if standing is not None else ""
        tell(f"{state.plan.id} changed nothing that is still there ({state.phase}){other}")
        return OK
    if (after := taken_back_by(states, state.plan.id)) is not None:
        tell(f"{state.plan.id} was taken back already, by {after.plan.id}")
        return OK
    say(f"looking at deploy/{campaign.name} in {campaign.namespace} for {arguments.for_s:.0f} s")
    seen = await campaign.look()
    made = rollback_plan(seen, state.plan, Wish(new_id(campaign.name), "", "recommend", arguments.in_place, arguments.sustained_s))
    if isinstance(made, NoPlan):
        tell(f"refused: {made.why}")
        return REFUSED
    tell(f"plan {made.id}: {made.change}, {made.strategy}; {made.because}")
    facts = await campaign.facts(made, seen)
    tell(checks_text(facts, made))
    if wrong := lint(made):
        tell(f"refused: {'; '.join(wrong)}")
        return REFUSED
    if arguments.dry_run:
        return REFUSED if refusals(facts, made) else OK
    ended, stopped = await campaign.carry_out(made, "", None if arguments.yes else asked)
    if not stopped:
        await owners_back(campaign, ended)
    tell(how_it_ended(ended, campaign.namespace, stopped=stopped))
    return end_code(ended, stopped=stopped)
