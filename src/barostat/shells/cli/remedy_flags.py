"""What the verbs that change a cluster have in common: the target, the cluster, how they talk, what their ends mean."""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TYPE_CHECKING, TypeVar

from barostat.shells.cli.durations import interval, seconds
from barostat.shells.cli.unread import let_go

if TYPE_CHECKING:
    from barostat.io.remedy.campaign import Campaign
    from barostat.remedy.state import State

OK, ROLLED_BACK, CANNOT_TELL, OUTSIDE, REFUSED, STOPPED = 0, 1, 3, 4, 5, 130
Result = TypeVar("Result")


def add_cluster(parser: argparse.ArgumentParser) -> None:
    """The flags that name a cluster."""
    group = parser.add_argument_group("the cluster (as kubectl has them)")
    group.add_argument("-n", "--namespace", metavar="NS", help="namespace of the target (default: that of the context)")
    group.add_argument("--context", metavar="NAME", help="context of the kubeconfig")
    group.add_argument("--kubeconfig", metavar="FILE", help="kubeconfig (default: $KUBECONFIG, ~/.kube/config, the pod's own account)")


def add_look(parser: argparse.ArgumentParser) -> None:
    """How long to look before judging."""
    parser.add_argument(
        "--for", dest="for_s", type=seconds, default=30.0, metavar="TIME", help="how long to look before judging (default 30s)"
    )
    parser.add_argument(
        "--interval", dest="interval_s", type=interval, default=5.0, metavar="TIME", help="time between scrapes (default 5s)"
    )


def deployment(target: str) -> str:
    """The Deployment's name.

    Errors: InputError for what is no Deployment.
    """
    from barostat.core.errors import InputError
    from barostat.io.kubernetes.resources import DEPLOYMENTS
    from barostat.io.kubernetes.target import parsed

    try:
        resource, name = parsed(target)
    except InputError:
        raise InputError("is no Deployment's name; write deploy/NAME", target) from None
    if resource is not DEPLOYMENTS:
        raise InputError("only Deployments are changed by us; `barostat diagnose` tells what to change in other workloads", target)
    return name


def within(arguments: argparse.Namespace, name: str, work: Callable[[Campaign], Awaitable[Result]]) -> Result:
    """What the work gives, on that Deployment of the cluster (an empty name: only its namespace is needed)."""
    from barostat.core.errors import InputError
    from barostat.io import limits_file
    from barostat.io.clock import SteadyClock
    from barostat.io.kubernetes.cluster import Cluster
    from barostat.io.kubernetes.kubeconfig import find_access
    from barostat.io.kubernetes.live import Options
    from barostat.io.remedy.campaign import Campaign

    for_s, interval_s = getattr(arguments, "for_s", None), getattr(arguments, "interval_s", 0.0)
    if for_s is not None and for_s < interval_s:
        raise InputError(f"takes at least one interval of {interval_s:g} s: what happens is seen between two looks", "--for")
    access = find_access(arguments.kubeconfig, arguments.context)
    given = getattr(arguments, "limits", None)
    limits = None
    if given is not None:
        from pathlib import Path

        limits = limits_file.load(Path(given))

    async def go() -> Result:
        cluster = Cluster(access)
        options = Options(getattr(arguments, "for_s", 30.0), getattr(arguments, "interval_s", 5.0))
        try:
            return await work(Campaign(cluster, arguments.namespace or access.namespace, name, options, SteadyClock(), say, limits))
        finally:
            await cluster.close()

    return asyncio.run(go())


async def owners_back(campaign: Campaign, state: State, *, everyone: bool = False) -> None:
    """Whom the incident, or the one that it has undone, paused has the workload again, as far as it is over.

    `everyone`: whatever they would do, and whom an earlier version of ours paused.
    """
    from barostat.io.remedy.pausing import hand_back, still_paused

    incidents = [state.plan.id, *([state.plan.undoes] if state.phase == "Done" and state.plan.undoes else []), *([""] if everyone else [])]
    keep = () if everyone else still_paused(state)
    for told in await hand_back(campaign.cluster, campaign.namespace, state.plan.target.name, incidents, keep):
        say(told)


def say(text: str) -> None:
    """A line of progress for a person. A remedy goes on where nobody reads it."""
    with suppress(OSError):
        print(text, file=sys.stderr, flush=True)


def tell(text: str) -> None:
    """A line of the result. A remedy goes on, and ends with its own code, where nobody reads it."""
    try:
        print(text, flush=True)
    except OSError:
        let_go()


def end_code(state: State, *, stopped: bool) -> int:
    """0 verified, 1 rolled back, 3 inconclusive or handed over, 5 refused."""
    if stopped:
        return STOPPED
    match state.phase:
        case "Done":
            return OK
        case "RolledBack":
            return CANNOT_TELL if state.verified == "inconclusive" else ROLLED_BACK
        case "Refused":
            return REFUSED
        case _:
            return CANNOT_TELL


def how_it_ended(state: State, namespace: str, *, stopped: bool) -> str:
    """A sentence on stdout."""
    if stopped and not state.revision:
        return f"{state.plan.id}: stopped before anything was begun"
    if stopped:
        verb = f"{state.plan.id} -n {namespace}"
        return f"{state.plan.id}: stopped in {state.phase}. On: barostat incident resume {verb}; back: barostat incident abort {verb}"
    if state.superseded:
        return f"{state.plan.id}: another run goes on with it: {state.why}"
    words = {"Done": "done", "RolledBack": "taken back", "Refused": "refused", "HandedOff": "handed over to a person"}
    left = f"; left to undo: {', '.join(type(act).__name__ for act in reversed(state.undo))}" if state.phase == "HandedOff" else ""
    return f"{state.plan.id}: {words.get(state.phase, state.phase)}: {state.why}{left}"
