"""`barostat incident`: what was changed and why, from the record in the cluster; and what was left unfinished, resumed or taken back."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from barostat.shells.cli.remedy_flags import OK, REFUSED, add_cluster, add_look, end_code, how_it_ended, owners_back, say, tell, within

if TYPE_CHECKING:
    from barostat.io.remedy.campaign import Campaign
    from barostat.io.remedy.store import Store
    from barostat.remedy.state import State

EPILOG = """\
examples:
  barostat incident list -n inference
  barostat incident show vllm-3f9a1c -n inference -o html > postmortem.html
  barostat incident resume vllm-3f9a1c -n inference        from any machine, also after kill -9
  barostat incident abort vllm-3f9a1c -n inference         takes back what was begun

exit codes: as of `barostat mitigate`; list and show: 0
"""


def add_parser(verbs: Any) -> None:
    """Add the verb."""
    parser = verbs.add_parser(
        "incident",
        help="list, show, resume or abort what `mitigate` began",
        description="Incidents are kept in the cluster, a ConfigMap each, so that any machine can go on with one.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    kinds = parser.add_subparsers(dest="kind", metavar="list|show|resume|abort", required=True)
    listed = kinds.add_parser("list", help="every incident of the namespace, the newest first")
    listed.add_argument("-o", "--output", choices=("table", "json"), default="table", help="form (default table)")
    add_cluster(listed)
    shown = kinds.add_parser("show", help="one incident: what was planned, measured and done, how it ended")
    shown.add_argument("id", metavar="ID")
    shown.add_argument("-o", "--output", choices=("md", "json", "html"), default="md", help="form (default md)")
    add_cluster(shown)
    for kind, text in (
        ("resume", "go on where it stopped, forward or back; of one that ended: hand a paused owner back"),
        ("abort", "take back what was begun"),
    ):
        one = kinds.add_parser(kind, help=text)
        one.add_argument("id", metavar="ID")
        add_look(one)
        add_cluster(one)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Do what was asked for."""
    match arguments.kind:
        case "list":
            return within(arguments, "", lambda campaign: _list(campaign, arguments.output))
        case "show":
            return within(arguments, "", lambda campaign: show(campaign, arguments.id, arguments.output))
        case _:
            abort = "a person ended it" if arguments.kind == "abort" else ""
            return within(arguments, "", lambda campaign: go_on(campaign, arguments.id, abort))


async def _list(campaign: Campaign, output: str) -> int:
    from barostat.io.remedy.store import Store
    from barostat.shells.incident_report import line, list_json

    states, odd = await Store(campaign.cluster, campaign.namespace).every()
    if output == "json":
        print(list_json(states, odd))
        return OK
    for state in states:
        print(line(state))
    for problem in odd:
        print(f"cannot be read: {problem}")
    if not states and not odd:
        print(f"no incident in namespace {campaign.namespace}")
    return OK


async def show(campaign: Campaign, incident: str, output: str) -> int:
    """Prints the incident with what was measured, as md, json or html, or says why that is missing. Errors: InputError, OutsideError."""
    from barostat.io.remedy.store import Store
    from barostat.remedy.history import taken_back_by
    from barostat.shells.incident_report import as_html, as_json, as_markdown

    store = Store(campaign.cluster, campaign.namespace)
    state, looks, unseen = await store.post_mortem(incident)
    if output == "json":
        if unseen:
            say(unseen)
        print(as_json(state, looks))
        return OK
    states, _ = await store.every(state.plan.target.name)
    print({"md": as_markdown, "html": as_html}[output](state, looks, unseen, taken_back_by(states, incident)))
    return OK


async def go_on(campaign: Campaign, incident: str, abort: str) -> int:
    """The exit code of the incident once it has ended, or was stopped. `abort`: why it is taken back; empty to go on.

    Errors: InputError where there is none; OutsideError.
    """
    from barostat.core.errors import InputError
    from barostat.io.remedy.store import Store
    from barostat.remedy.history import is_open

    try:
        state, limits = await Store(campaign.cluster, campaign.namespace).read(incident)
    except InputError as error:
        if error.where != incident or not await _back_without_record(campaign, incident):
            raise
        tell(f"{incident}: it ended before anything was begun")
        return OK
    campaign.name = state.plan.target.name
    if not is_open(state):
        if not abort:
            await owners_back(campaign, state, everyone=True)
        tell(how_it_ended(state, campaign.namespace, stopped=False))
        if abort and state.phase == "Done":
            tell(f"nothing is left to abort; what takes it back: barostat rollback {incident} -n {campaign.namespace}")
            return REFUSED
        return end_code(state, stopped=False)
    if abort and state.committed:
        say("every replica has proved the change already: it goes on to its end, and can then be taken back with `barostat rollback`")
    state, stopped = await campaign.resume(state, limits, abort=abort)
    if not stopped:
        await owners_back(campaign, state)
    tell(how_it_ended(state, campaign.namespace, stopped=stopped))
    return end_code(state, stopped=stopped)


async def _back_without_record(campaign: Campaign, incident: str) -> bool:
    """Whom it paused has the workload again; False where it paused nobody. A run that is killed before it begins leaves no record."""
    from barostat.io.remedy.pausing import hand_back, noted_by

    names = await noted_by(campaign.cluster, campaign.namespace, incident)
    for name in names:
        for told in await hand_back(campaign.cluster, campaign.namespace, name, (incident,)):
            say(told)
    return bool(names)


async def meant(store: Store, wanted: str, *, rollbacks: bool = False) -> tuple[State | None, list[State]]:
    """(the incident of that id, or of deploy/NAME the one that is open or in force; all incidents of its target, the newest first).

    Errors: InputError where there is no incident at all; OutsideError.
    """
    from barostat.core.errors import InputError
    from barostat.remedy.history import latest
    from barostat.shells.cli.remedy_flags import deployment

    if "/" not in wanted:
        state, _ = await store.read(wanted)
        states, _ = await store.every(state.plan.target.name)
        return state, states
    states, _ = await store.every(deployment(wanted))
    if not states:
        raise InputError(f"no incident of it in namespace {store.namespace}", wanted)
    return latest(states, rollbacks=rollbacks), states
