"""`barostat verify`: whether the last change of a workload does now what was expected of it. Reads
only.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from barostat.shells.cli.durations import add_interval, parse_duration
from barostat.shells.cli.mitigate.common_arguments import (
    CANNOT_TELL,
    OK,
    ROLLED_BACK,
    add_cluster,
    add_gateway,
    add_output,
    print_progress,
    print_result,
    within,
)

if TYPE_CHECKING:
    from barostat.io.mitigation.campaign import Campaign

EPILOG = """\
examples:
  barostat verify deploy/vllm -n inference             # observe for two minutes and compare with the incident's plan

exit codes: 0 it holds, 1 it does not, 2 usage or no incident, 3 inconclusive, 4 an external system failed
"""


def add_parser(verbs: Any) -> None:
    """Add the verb."""
    parser = verbs.add_parser(
        "verify",
        help="check that the last change of a workload has the promised effect",
        description=(
            "Observe every replica and compare it with the result and the figures that the last "
            "incident recorded."
        ),
        epilog=EPILOG,
    )
    parser.add_argument("target", metavar="TARGET", help="KIND/NAME, or an incident")
    parser.add_argument(
        "--for",
        "--window",
        dest="for_s",
        type=parse_duration,
        default=None,
        metavar="TIME",
        help="observe for this long (default: as long as the result must hold)",
    )
    add_interval(parser)
    add_output(parser)
    add_gateway(parser)
    add_cluster(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Watch, judge, say."""
    return within(arguments, "", lambda campaign: hold_against(campaign, arguments))


async def hold_against(campaign: Campaign, arguments: argparse.Namespace) -> int:
    """The exit code: whether every replica does what the change in force promised. Errors:
    InputError, OutsideError.
    """
    from dataclasses import replace

    from barostat.core.errors import InputError
    from barostat.io.kubernetes.recording.live import Options
    from barostat.judge.mitigation.standing_change import made_else
    from barostat.remedy.history import is_open, taken_back_by
    from barostat.remedy.verify import verify
    from barostat.shells.reports.incident.plan_json import verification_json

    state, states = await campaign.change_in_force(arguments.target, rollbacks=True)
    if state is None:
        raise InputError(
            f"no change of ours is in force on it: the last incident, {states[0].plan.id}, "
            f"ended {states[0].phase}",
            arguments.target,
        )
    plan, verb = state.plan, f"{state.plan.id} -n {campaign.namespace}"
    held = state.phase == "Holding"  # in force for as long as another run holds it
    if is_open(state) and not held:
        raise InputError(
            f"is not over ({state.phase}): barostat incident resume {verb}, or abort {verb}",
            plan.id,
        )
    if not held and (state.phase != "Done" or not plan.lasts):
        raise InputError(
            f"ended {state.phase}: nothing of it is in force that could be verified", plan.id
        )
    if (after := taken_back_by(states, plan.id)) is not None:
        raise InputError(
            f"was taken back by {after.plan.id}: nothing of it is in force that could be verified",
            plan.id,
        )
    for_s = arguments.for_s if arguments.for_s is not None else plan.expectation.sustained_s
    expectation = replace(plan.expectation, sustained_s=min(for_s, plan.expectation.sustained_s))
    # A rate is known from the second look on: one interval more, so that it is seen for all of the
    # time.
    campaign.options = Options(for_s + arguments.interval_s, arguments.interval_s)
    print_progress(
        f"watching {plan.target} for {for_s:.0f} s, against {plan.id} ({plan.change}, "
        f"{state.phase})"
    )
    seen = await campaign.look()
    if plan.change.kind != "revision" and (since := made_else(seen, plan)):
        raise InputError(f"{since}, so nothing of it is in force that could be verified", plan.id)
    found = {
        name: verify(expectation, dict(plan.baseline), window, 0.0)
        for name, window in sorted(seen.windows().items())
    }
    outcomes = {judged.outcome for judged in found.values()}
    outcome = (
        "worse" if "worse" in outcomes else "better" if outcomes == {"better"} else "inconclusive"
    )
    if arguments.output == "json":
        print_result(verification_json(plan, found, outcome))
    else:
        for name, judged in found.items():
            print_result(f"{name}: {judged.outcome}: {'; '.join(judged.reasons)}")
        if not found:
            print_result(f"inconclusive: no replica of {plan.target} could be read")
    return {"worse": ROLLED_BACK, "better": OK}.get(outcome, CANNOT_TELL)
