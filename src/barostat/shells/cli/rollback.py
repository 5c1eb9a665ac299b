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
  barostat rollback deploy/vllm -n inference --yes    the last one of the workload

One replica at a time, as `mitigate` does it. What was there before is a claim to verify, too: it has to answer under the load.

exit codes: 0 taken back, 1 it was worse and stays, 2 usage, 3 inconclusive, 4 the outside failed, 5 refused
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
    parser.add_argument("target", metavar="ID|TARGET", help="an incident, or deploy/NAME for its last one")
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
    return within(arguments, "", lambda campaign: _rollback(campaign, arguments))


async def _rollback(campaign: Campaign, arguments: argparse.Namespace) -> int:
    from barostat.io.remedy.campaign import new_id
    from barostat.io.remedy.store import Store
    from barostat.judge.remedy_plan import NoPlan, Wish, rollback_plan
    from barostat.remedy.plan import lint
    from barostat.remedy.program import TERMINAL
    from barostat.shells.cli.incident import last_of
    from barostat.shells.cli.mitigate import asked
    from barostat.shells.remedy_report import checks_text

    state, limits = await last_of(Store(campaign.cluster, campaign.namespace), arguments.target)
    campaign.name = state.plan.target.name
    if state.phase not in TERMINAL or state.phase == "HandedOff":
        say(f"{state.plan.id} is not over ({state.phase}): {FORWARD_FIRST if state.committed else 'what it has begun is taken back'}")
        if not arguments.yes and not await asked():
            return REFUSED
        state, stopped = await campaign.resume(state, limits, abort=TAKEN_BACK)
        if not stopped:
            await owners_back(campaign, state)
        tell(how_it_ended(state, campaign.namespace, stopped=stopped))
        if stopped or state.phase != "Done":
            nothing_begun = state.phase == "Refused" and state.why == TAKEN_BACK
            return OK if state.phase == "RolledBack" or nothing_begun else end_code(state, stopped=stopped)
    if state.phase != "Done":
        tell(f"{state.plan.id} changed nothing that is still there ({state.phase})")
        return OK
    say(f"looking at deploy/{campaign.name} in {campaign.namespace} for {arguments.for_s:.0f} s")
    seen = await campaign.look()
    made = rollback_plan(seen, state.plan, Wish(new_id(campaign.name), "", "recommend", arguments.in_place, arguments.sustained_s))
    if isinstance(made, NoPlan):
        tell(f"refused: {made.why}")
        return REFUSED
    tell(f"plan {made.id}: {made.change}, {made.strategy}; {made.because}")
    tell(checks_text(await campaign.facts(made, seen), made))
    if wrong := lint(made):
        tell(f"refused: {'; '.join(wrong)}")
        return REFUSED
    ended, stopped = await campaign.carry_out(made, "", None if arguments.yes else asked)
    if not stopped:
        await owners_back(campaign, ended)
    tell(how_it_ended(ended, campaign.namespace, stopped=stopped))
    return end_code(ended, stopped=stopped)
