"""What the verbs that change a cluster have in common: the target, the cluster, how they talk, what
their ends mean.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, TypeVar

from barostat.catalog.polling import FOR_S, INTERVAL_S
from barostat.shells.cli.closed_output import print_or_let_go
from barostat.shells.cli.cluster_flags import add_kubeconfig_flags
from barostat.shells.cli.durations import add_interval, parse_duration

if TYPE_CHECKING:
    from barostat.io.mitigation.campaign import Campaign, Ended, GatewayAccess
    from barostat.io.mitigation.owner_pausing import HandedBack
    from barostat.remedy.state import State

OK, ROLLED_BACK, CANNOT_TELL, OUTSIDE, REFUSED, STOPPED = 0, 1, 3, 4, 5, 130
Result = TypeVar("Result")


def add_cluster(parser: argparse.ArgumentParser) -> None:
    """The flags that name a cluster."""
    add_kubeconfig_flags(parser.add_argument_group("cluster"), "the target")


def add_gateway(parser: argparse.ArgumentParser) -> None:
    """How a gateway before the target is reached."""
    group = parser.add_argument_group("gateway in front of the target")
    group.add_argument(
        "--gateway",
        metavar="URL",
        help="admin URL, e.g. http://host:8081 (default: found through the gateway's pods)",
    )
    group.add_argument(
        "--gateway-token-file",
        metavar="FILE",
        help="the gateway's --admin-token-file; needed to set limits there",
    )


def gateway_access(arguments: argparse.Namespace) -> GatewayAccess:
    """Errors: InputError for what is no URL, or a file that holds no token."""
    from pathlib import Path

    from barostat.io.input_files.secret_file import secret_in
    from barostat.io.kubernetes.recording.gateway_door import admin_url
    from barostat.io.mitigation.campaign import GatewayAccess

    url, token = getattr(arguments, "gateway", None), getattr(arguments, "gateway_token_file", None)
    return GatewayAccess(admin_url(url) if url else "", secret_in(Path(token)) if token else "")


def add_look(parser: argparse._ActionsContainer) -> None:
    """How long to look before judging."""
    parser.add_argument(
        "--for",
        "--window",
        dest="for_s",
        type=parse_duration,
        default=FOR_S,
        metavar="TIME",
        help=f"observe for this long before judging (default {FOR_S:g}s)",
    )
    add_interval(parser)


def add_output(parser: argparse.ArgumentParser) -> None:
    """The form of the result."""
    parser.add_argument(
        "-o",
        "--output",
        choices=("text", "json"),
        default="text",
        help="format of the result (default text)",
    )


def within(
    arguments: argparse.Namespace, target: str, work: Callable[[Campaign], Awaitable[Result]]
) -> Result:
    """Return what the work gives for that workload (KIND/NAME; empty: only its namespace is needed).

    Errors: InputError for what is no target in a cluster.
    """
    import asyncio

    from barostat.core.errors import InputError
    from barostat.io.clock import SteadyClock
    from barostat.io.input_files import limits_file
    from barostat.io.kubernetes.client.cluster import Cluster
    from barostat.io.kubernetes.client.kubeconfig import find_access
    from barostat.io.kubernetes.recording.live import Options
    from barostat.io.kubernetes.recording.target import parsed, require_namespace
    from barostat.io.mitigation.campaign import Campaign
    from barostat.platform.workloads.deployment import KIND as DEPLOYMENT

    kind, name = parsed(target) if target else (DEPLOYMENT, "")
    for_s, interval_s = getattr(arguments, "for_s", None), getattr(arguments, "interval_s", 0.0)
    if for_s is not None and for_s < interval_s:
        raise InputError(
            f"takes at least one interval of {interval_s:g} s: what happens is seen "
            "between two looks",
            "--for",
        )
    access, gateway = (
        find_access(arguments.kubeconfig, arguments.context),
        gateway_access(arguments),
    )
    given = getattr(arguments, "limits", None)
    limits = None
    if given is not None:
        from pathlib import Path

        limits = limits_file.load(Path(given))

    async def go() -> Result:
        cluster = Cluster(access)
        options = Options(
            getattr(arguments, "for_s", FOR_S), getattr(arguments, "interval_s", INTERVAL_S)
        )
        try:
            await require_namespace(cluster, arguments.namespace or access.namespace)
            namespace = arguments.namespace or access.namespace
            return await work(
                Campaign(
                    cluster,
                    namespace,
                    name,
                    options,
                    SteadyClock(),
                    print_progress,
                    limits,
                    gateway=gateway,
                    kind=kind,
                )
            )
        finally:
            await cluster.close()

    return asyncio.run(go())


def print_progress(text: str) -> None:
    """A line of progress for a person. A remedy goes on where nobody reads it."""
    print_or_let_go(text, sys.stderr)


def print_result(text: str) -> None:
    """A line of the result. A remedy goes on, and ends with its own code, where nobody reads it."""
    print_or_let_go(text, sys.stdout)


DRY_RUN_ENDS = "nothing was written; the same command without --dry-run plans again and asks first"


def print_end(ended: Ended, namespace: str) -> int:
    """Print how a run ended, which owners were resumed and what a person types next; return the
    exit code.
    """
    print_owners(ended.owners)
    print_result(how_it_ended(ended.state, namespace, stopped=ended.stopped))
    for line in () if ended.stopped else next_commands(ended.state, namespace):
        print_progress(line)
    return end_code(ended)


def print_owners(back: HandedBack) -> None:
    """A line of progress for each who was paused."""
    for told in back.told:
        print_progress(told)


def end_code(ended: Ended) -> int:
    """0 verified, 1 rolled back, 3 inconclusive or handed over, 4 verified but an owner could not
    be handed back, 5 refused.
    """
    state = ended.state
    if ended.stopped:
        return STOPPED
    match state.phase:
        case "Done":
            return OUTSIDE if ended.owners.failed else OK
        case "RolledBack":
            return CANNOT_TELL if state.verified == "inconclusive" else ROLLED_BACK
        case "Refused":
            return REFUSED
        case _:
            return CANNOT_TELL


def next_commands(state: State, namespace: str) -> tuple[str, ...]:
    """What a person types after a remedy that ended, a line each."""
    verb = f"{state.plan.id} -n {namespace}"
    shown = (f"  barostat incident show {verb}   # what was measured, and each step",)
    if state.superseded or state.phase not in ("Done", "RolledBack"):
        return ()
    if state.phase == "RolledBack" or state.plan.edge is not None or state.plan.undoes:
        return shown
    return (
        *shown,
        f"  barostat verify {verb}   # does it still hold?",
        f"  barostat rollback {verb}   # take it back",
    )


def how_it_ended(state: State, namespace: str, *, stopped: bool) -> str:
    """A sentence on stdout."""
    from barostat.remedy.journal import cut_sentence, left_to_do, left_to_undo

    if stopped and not state.revision:
        return f"{state.plan.id}: stopped before anything was begun"
    if stopped:
        verb = f"{state.plan.id} -n {namespace}"
        return (
            f"{state.plan.id}: stopped in {state.phase}. On: barostat incident resume {verb}; "
            f"back: barostat incident abort {verb}"
        )
    if state.superseded:
        return f"{state.plan.id}: another run goes on with it: {state.why}"
    words = {
        "Done": "done",
        "RolledBack": "taken back",
        "Refused": "refused",
        "HandedOff": "handed over to a person",
    }
    said = "; ".join(filter(None, (state.why, cut_sentence(state.cut))))
    told = f"{state.plan.id}: {words.get(state.phase, state.phase)}: {said}"
    if state.phase != "HandedOff":
        return told
    forward, back = ", ".join(left_to_do(state)), ", ".join(left_to_undo(state))
    left = (
        f"every replica has proved the change already; left to do: {forward}"
        if forward
        else f"left to undo: {back}"
    )
    return (
        f"{told}; {left}; tried again by: barostat incident resume {state.plan.id} -n {namespace}"
    )
