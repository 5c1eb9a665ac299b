"""`barostat incident`: what was changed and why, from the record in the cluster; and what was left
unfinished, resumed or taken back.
"""

from __future__ import annotations

import argparse
import sys
from functools import partial
from typing import TYPE_CHECKING, Any

from barostat.shells.cli.durations import LONGEST_PAST_S, parse_duration
from barostat.shells.cli.mitigate.common_arguments import (
    OK,
    OUTSIDE,
    REFUSED,
    add_cluster,
    add_gateway,
    add_look,
    print_end,
    print_owners,
    print_progress,
    print_result,
    within,
)

if TYPE_CHECKING:
    from barostat.io.mitigation.campaign import Campaign

WEEK_S = 7 * 86_400.0
EPILOG = """\
examples:
  barostat incident list -n inference
  barostat incident list -A                                # in all namespaces
  barostat incident show vllm-3f9a1c -n inference -o html > postmortem.html
  barostat incident review -A --for 7d                     # what the operator saw and would have done
  barostat incident resume vllm-3f9a1c -n inference        # from any machine, also after kill -9
  barostat incident abort vllm-3f9a1c -n inference         # revert what was started

exit codes: same as `barostat mitigate`; list and show: 0; review: 0 no incident, 1 incidents, 3 not everything could be read
"""


def add_parser(verbs: Any) -> None:
    """Add the verb."""
    parser = verbs.add_parser(
        "incident",
        help="list, show, review, resume or abort incidents",
        description=(
            "Remedies are kept in the cluster, a ConfigMap each, so that any machine can go "
            "on with one. `review` reads the operator's PressureIncidents."
        ),
        epilog=EPILOG,
    )
    kinds = parser.add_subparsers(
        dest="kind", metavar="list|show|review|resume|abort", required=True
    )
    listed = kinds.add_parser("list", help="every incident of the namespace, the newest first")
    listed.add_argument("-A", "--all-namespaces", action="store_true", help="list all namespaces")
    listed.add_argument(
        "-o", "--output", choices=("table", "json"), default="table", help="form (default table)"
    )
    add_cluster(listed)
    shown = kinds.add_parser("show", help="one incident: plan, measurements, actions and result")
    shown.add_argument("id", metavar="ID")
    shown.add_argument(
        "-o", "--output", choices=("md", "json", "html"), default="md", help="form (default md)"
    )
    add_cluster(shown)
    reviewed = kinds.add_parser(
        "review",
        help="the operator's incidents, the changes it would have made, and their forecasts",
    )
    reviewed.add_argument(
        "-A", "--all-namespaces", action="store_true", help="review all namespaces"
    )
    reviewed.add_argument(
        "--for",
        dest="review_s",
        type=partial(parse_duration, longest_s=LONGEST_PAST_S),
        default=WEEK_S,
        metavar="TIME",
        help="length of the period (default 7d)",
    )
    reviewed.add_argument(
        "-o",
        "--output",
        choices=("text", "md", "html", "json"),
        default="text",
        help="form (default text)",
    )
    add_cluster(reviewed)
    for kind, text in (
        (
            "resume",
            "continue, forward or back; for an ended incident: resume a paused owner",
        ),
        ("abort", "revert what was started"),
    ):
        one = kinds.add_parser(kind, help=text)
        one.add_argument("id", metavar="ID")
        add_look(one)
        add_gateway(one)
        add_cluster(one)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Do what was asked for."""
    match arguments.kind:
        case "list":
            everywhere = arguments.all_namespaces
            return within(
                arguments,
                "",
                lambda campaign: list_incidents(campaign, arguments.output, everywhere=everywhere),
            )
        case "show":
            return within(
                arguments, "", lambda campaign: show(campaign, arguments.id, arguments.output)
            )
        case "review":
            from barostat.shells.cli.mitigate.incident_review import show_review

            return within(
                arguments,
                "",
                lambda campaign: show_review(
                    campaign,
                    arguments.review_s,
                    arguments.output,
                    everywhere=arguments.all_namespaces,
                ),
            )
        case _:
            abort = "a person ended it" if arguments.kind == "abort" else ""
            return within(arguments, "", lambda campaign: go_on(campaign, arguments.id, abort))


async def list_incidents(campaign: Campaign, output: str, *, everywhere: bool = False) -> int:
    """Prints every incident, each with the phase that it is in now. Errors: OutsideError."""
    from dataclasses import replace
    from typing import cast, get_args

    from barostat.remedy.history import is_open
    from barostat.remedy.step import Phase
    from barostat.shells.reports.incident.post_mortem import line, list_json

    states, odd = await campaign.store.every(everywhere=everywhere)
    if any(map(is_open, states)):
        now = await campaign.store.phases(everywhere=everywhere)
        states = [
            replace(state, phase=cast(Phase, phase))
            if is_open(state) and (phase := now.get(state.plan.id)) in get_args(Phase)
            else state
            for state in states
        ]
    if output == "json":
        print(list_json(states, odd))
        return OK
    for state in states:
        print(line(state))
    for problem in odd:
        print(f"cannot be read: {problem}")
    if not states and not odd:
        place = "-A" if everywhere else f"-n {campaign.namespace}"
        where = "" if everywhere else f" in namespace {campaign.namespace}"
        print(
            f"no remedy on record{where}; the operator's incidents: kubectl get pressureincidents {place}"
        )
    return OK


async def show(campaign: Campaign, incident: str, output: str) -> int:
    """Prints the incident with what was measured, as md, json or html, or says why that is missing.
    Errors: InputError, OutsideError.
    """
    from barostat.remedy.history import taken_back_by
    from barostat.shells.reports.incident.post_mortem import as_json, post_mortem
    from barostat.shells.reports.sheet.forms import shown

    store = campaign.store
    state, looks, unseen = await store.post_mortem(incident)
    if output == "json":
        if unseen:
            print_progress(unseen)
        print(as_json(state, looks))
        return OK
    states, _ = await store.every(state.plan.target.name)
    document = post_mortem(state, looks, unseen, taken_back_by(states, incident))
    sys.stdout.write(shown(document, output))
    return OK


async def go_on(campaign: Campaign, incident: str, abort: str) -> int:
    """The exit code of the incident once it has ended, or was stopped. `abort`: why it is taken
    back; empty to go on.

    Errors: InputError where there is none; OutsideError.
    """
    from barostat.core.errors import InputError
    from barostat.remedy.history import is_open

    try:
        state, limits = await campaign.store.read(incident)
    except InputError as error:
        told = (
            await campaign.owners_back_without_record(incident) if error.where == incident else None
        )
        if told is None:
            raise
        print_owners(told)
        print_result(f"{incident}: it ended before anything was begun")
        return OUTSIDE if told.failed else OK
    if abort and is_open(state) and state.committed:
        print_progress(
            "every replica has proved the change already: it goes on to its end, and can "
            "then be taken back with `barostat rollback`"
        )
    over = not is_open(state)
    code = print_end(await campaign.go_on(state, limits, abort=abort), campaign.namespace)
    if abort and over and state.phase == "Done":
        print_result(
            f"nothing is left to abort; what takes it back: barostat rollback {incident} "
            f"-n {campaign.namespace}"
        )
        return REFUSED
    return code
