"""Owners that have a switch leave a workload alone for the length of an incident, and take it up
again after it.

What gives it back is written on the workload (barostat.dev/paused) before anything is paused, so
that any machine can do it. One that would take the change in force back stays paused until a person
has put the change into its source: it would replace all replicas at once. An owner is noted once,
with what it was before anybody of ours paused it, and by whom.

A plan's own owners are paused and resumed by its acts; `hand_back` is for a person who says that
the change is in its source, and for incidents of earlier versions, whose plans do not name their
owners.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from barostat.core.errors import InputError, OutsideError
from barostat.io.kubernetes.client.cluster import Cluster, Object
from barostat.io.kubernetes.client.failures import RequestFailed
from barostat.io.kubernetes.client.resources import (
    ARGO_APPLICATIONS,
    AUTOSCALERS,
    FLUX_HELM_RELEASES,
    FLUX_KUSTOMIZATIONS,
    SCALED_OBJECTS,
    Resource,
    workload_resource,
)
from barostat.io.mitigation.act_context import TRIES, ActContext, settled
from barostat.io.mitigation.marked_target import (
    kind_of_target,
    marks_patch,
    read_home,
    target_resource,
    typed,
)
from barostat.io.mitigation.target_reader import ActTiming, Denied, annotation, may_come
from barostat.judge.mitigation.paused_mark import (
    KINDS,
    Entry,
    Who,
    entry_of,
    incident_of,
    is_entry,
    read_mark,
    who,
    with_entries,
)
from barostat.platform.objects import name_of, text
from barostat.platform.owner import Switch
from barostat.remedy.acts import Done, Lost, PauseOwner, Refused, ResumeOwner
from barostat.remedy.annotations import CLAIM, PAUSED, read_claim
from barostat.remedy.plan import ROLLBACK, Target, takes_back
from barostat.remedy.state import Do, State

Fence = Callable[[], Awaitable[None]]
"""Checks just before a write that the change still belongs to this run. Errors: Denied."""
OWNERS: dict[str, Resource] = {
    found.kind: found
    for found in (
        ARGO_APPLICATIONS,
        AUTOSCALERS,
        FLUX_HELM_RELEASES,
        FLUX_KUSTOMIZATIONS,
        SCALED_OBJECTS,
    )
}
"""Owners that have a switch, by kind."""


async def unfenced() -> None:
    """Nothing: no other run can be meant."""


async def pause(
    cluster: Cluster,
    target: Target,
    switches: Sequence[Switch],
    incident: str,
    fence: Fence = unfenced,
) -> list[str]:
    """Pause each owner; return a sentence each. Owners paused by an earlier incident stay noted as
    its own.

    Errors: InputError if the workload's annotation cannot be read; nothing is paused then.
    OutsideError, with the missing right, after resuming those paused so far. Those of `fence`,
    which runs before every write.
    """
    home = await read_home(cluster, target)
    if isinstance(home, RequestFailed):
        raise home.error()
    found, wrong = read_mark(home)
    if wrong:
        raise InputError(wrong, typed(target))
    entries = [entry_of(switch, incident) for switch in switches]
    paused, stale = await _as_they_are(cluster, found, switches)
    own = [entry for entry in found if is_entry(entry) and incident_of(entry) == incident]
    noted = await _remarked(
        cluster,
        target,
        lambda now: with_entries([entry for entry in now if entry not in stale], entries),
        fence,
    )
    if isinstance(noted, RequestFailed):
        raise noted.error()
    told = []
    for place, switch in enumerate(switches):
        if switch in paused:
            ours = (switch.kind, switch.namespace, switch.name) in map(who, own)
            told.append(f"{switch} is paused already{'' if ours else ', by an earlier incident'}")
            continue
        await fence()
        write = cluster.patch(
            OWNERS[switch.kind],
            switch.name,
            dict(switch.pause),
            switch.namespace or None,
            how="merge",
        )
        done = await settled(write, ActTiming())
        if isinstance(done, RequestFailed):
            back = await _undone(cluster, target, incident, entries, place, done, fence)
            raise OutsideError("; ".join((done.why, *back)), retryable=done.may_pass)
        told.append(f"paused {switch}{': ' + switch.note if switch.note else ''}")
    return told


async def _undone(
    cluster: Cluster,
    target: Target,
    incident: str,
    entries: Sequence[Entry],
    place: int,
    done: RequestFailed,
    fence: Fence,
) -> list[str]:
    """Resume the owners paused so far, including the failed one if its outcome is unknown.

    Owners paused by another act of the incident stay paused: that act has its own undo.
    """
    first_not = place + 1 if done.uncertain else place
    tried, rest = [who(entry) for entry in entries[:first_not]], entries[first_not:]
    unmarked = await _remarked(
        cluster, target, lambda now: [entry for entry in now if entry not in rest], fence
    )
    told = [unmarked.why] if isinstance(unmarked, RequestFailed) else []
    return [
        *told,
        *(await hand_back(cluster, target, (incident,), only=tried, fence=fence)).told,
    ]


def still_paused(state: State) -> tuple[str, ...]:
    """Return the kinds that stay paused: all while the incident is open; those that would revert
    the change while it is in force.

    All if another run continues it. None without a record: nothing was started, and it cannot be
    resumed.
    """
    if state.superseded:
        return KINDS
    if state.phase not in ("Done", "RolledBack", "Refused"):
        return KINDS if state.revision else ()
    if state.phase != "Done" or state.plan.lever == ROLLBACK:
        return ()
    return tuple(kind for kind in KINDS if takes_back(kind, state.plan.change))


@dataclass(frozen=True, slots=True)
class HandedBack:
    """A sentence for each owner that is noted. `failed`: one that was to have the workload again
    may not have it.
    """

    told: list[str] = field(default_factory=list)
    failed: bool = False


async def hand_back(
    cluster: Cluster, target: Target, incidents: Collection[str], keep: Collection[str] = (), *,
    only: Collection[Who] | None = None, fence: Fence = unfenced,
) -> HandedBack:  # fmt: skip
    """Resume the owners that these incidents paused for the workload, except the kinds in `keep`.

    `incidents`: an empty id stands for entries without one. `only`: restrict to these. Failed and
    unreadable ones are reported and stay noted.

    Law: L8, no owner is resumed while another incident's change is in flight.
    """
    home = await read_home(cluster, target)
    if isinstance(home, RequestFailed):
        return HandedBack(
            [f"whether an owner is paused could not be read: {home.why}"], failed=True
        )
    found, wrong = read_mark(home)
    failed = bool(wrong)
    told = [f"{typed(target)}: {wrong}"] if wrong else []
    over: list[Entry] = []
    flying = read_claim(annotation(home, CLAIM)).incident
    for entry in filter(is_entry, found):
        if only is not None and who(entry) not in only:
            continue
        owner = f"{entry['kind']} {entry['name']}"
        if (by := incident_of(entry)) not in incidents:
            paused = f"incident {by} paused it" if by else "an earlier incident paused it"
            told.append(
                f"{owner} stays paused: {paused}; back: barostat incident resume "
                f"{by or 'ID'} -n {target.namespace}"
            )
            continue
        if flying and flying not in incidents:
            back = f"once it is over: barostat incident resume {by or 'ID'} -n {target.namespace}"
            told.append(
                f"{owner} stays paused: the change of incident {flying} is in flight; {back}"
            )
            continue
        if entry["kind"] in keep:
            told.append(f"{owner} stays paused")
            continue
        done = await _resumed(cluster, entry, fence)
        if isinstance(done, RequestFailed) and done.kind != "not-found":
            told.append(f"{owner} is still paused: {done.why}")
            failed = True
            continue
        told.append(
            f"{owner} is no more" if isinstance(done, RequestFailed) else f"{owner} has it again"
        )
        over.append(entry)
    unmarked = (
        await _remarked(
            cluster,
            target,
            lambda now: [entry for entry in now if entry not in over],
            fence,
        )
        if over
        else []
    )
    if isinstance(unmarked, RequestFailed):
        return HandedBack([*told, unmarked.why], failed=True)
    return HandedBack(told, failed)


async def _resumed(cluster: Cluster, entry: Entry, fence: Fence) -> Object | RequestFailed:
    await fence()
    write = cluster.patch(
        OWNERS[entry["kind"]],
        entry["name"],
        entry["resume"],
        entry["namespace"] or None,
        how="merge",
    )
    return await settled(write, ActTiming())


# --- the acts


async def pause_owner(context: ActContext, do: Do, act: PauseOwner) -> Done:
    """PauseOwner: noted, then paused; whom an earlier incident has paused stays noted as its own.

    Errors: Denied, OutsideError, InputError.
    """
    owner = context.plan.owners[act.index]
    await context.checked_home(do)
    pause_by, resume_by = json.loads(owner.pause), json.loads(owner.resume)
    switch = Switch("", owner.kind, owner.namespace, owner.name, pause_by, resume_by, owner.note)
    target = context.plan.target
    fence = partial(context.look_again, do)
    (told,) = await pause(context.cluster, target, [switch], context.plan.id, fence)
    return Done(note=told)


async def resume_owner(context: ActContext, do: Do, act: ResumeOwner) -> Done:
    """ResumeOwner: it has the workload again as the mark says, and is noted no more. One whom
    another incident paused is left to that.

    Errors: Denied.
    """
    plan, target = context.plan, context.plan.target
    owner = plan.owners[act.index]
    wanted, incidents = (owner.kind, owner.namespace, owner.name), {plan.id, owner.by} - {""}
    home = await context.claimed_home(do)

    def without(now: list[Any]) -> list[Any]:
        return [entry for entry in now if not (is_entry(entry) and who(entry) == wanted)]

    entries = [entry for entry in read_mark(home)[0] if is_entry(entry) and who(entry) == wanted]
    if not entries:
        return Done(note="it was not paused")
    if incident_of(entries[0]) not in incidents:
        return Done(
            note=(
                "it stays paused: incident "
                f"{incident_of(entries[0]) or 'of an earlier version'} paused it"
            )
        )
    fence = partial(context.look_again, do, claim_only=True)
    done = await _resumed(context.cluster, entries[0], fence)
    if isinstance(done, RequestFailed) and done.kind != "not-found":
        raise Denied(Lost(done.why) if may_come(done) else Refused(done.why))
    unmarked = await _remarked(context.cluster, target, without, fence)
    if isinstance(unmarked, RequestFailed):
        raise Denied(Lost(unmarked.why) if may_come(unmarked) else Refused(unmarked.why))
    return Done(note="it is no more" if isinstance(done, RequestFailed) else "")


# --- the mark


async def _remarked(
    cluster: Cluster,
    target: Target,
    change: Callable[[list[Any]], list[Any]],
    fence: Fence,
) -> list[Any] | RequestFailed:
    """The mark after that change of what it was at the moment of writing, or why it was not
    written. One that is no list is left alone.
    """
    failed = RequestFailed("conflict", f"{typed(target)} changes all the time")
    resource = target_resource(target)
    for _ in range(TRIES):
        home = await read_home(cluster, target)
        if isinstance(home, RequestFailed):
            return home
        now, wrong = read_mark(home)
        if wrong and not now:
            return RequestFailed("invalid", f"{typed(target)}: {wrong}")
        after = change(now)
        if after == now:
            return after
        noted = {PAUSED: json.dumps(after) if after else None}
        version = text(home, "metadata", "resourceVersion")
        patch, sub = marks_patch(kind_of_target(target), version, noted)
        await fence()
        written = await settled(
            cluster.patch(
                resource, target.name, patch, target.namespace, how="merge", subresource=sub
            ),
            ActTiming(),
        )
        if not isinstance(written, RequestFailed):
            return after
        if written.kind != "conflict" and not written.uncertain:
            return written
        failed = written
    return failed


# --- the owners


async def _as_they_are(
    cluster: Cluster, noted: Sequence[Entry], switches: Sequence[Switch]
) -> tuple[list[Switch], list[Entry]]:
    """Return (noted owners that are still paused, the notes of those that are not)."""
    paused, stale = [], []
    for switch in switches:
        entry = next(
            (
                entry
                for entry in noted
                if who(entry) == (switch.kind, switch.namespace, switch.name)
            ),
            None,
        )
        found = (
            None
            if entry is None
            else await cluster.get(OWNERS[switch.kind], switch.name, switch.namespace or None)
        )
        if entry is None or found is None or isinstance(found, RequestFailed):
            continue
        if _holds(found, switch.pause):
            paused.append(switch)
        elif not _is_left(found, switch.pause, entry["resume"]):
            stale.append(entry)
    return paused, stale


def _is_left(found: Any, pause: Any, before: Any) -> bool:
    """True if anything of that pause is there that was not so before it."""
    if not isinstance(pause, Mapping):
        return bool(found == pause and before != pause)
    inner, former = (item if isinstance(item, Mapping) else {} for item in (found, before))
    return any(_is_left(inner.get(key), value, former.get(key)) for key, value in pause.items())


async def noted_by(cluster: Cluster, namespace: str, incident: str) -> list[Target]:
    """The Deployments on which that incident has noted somebody: earlier versions left no record
    and knew no other kind. Errors: OutsideError.
    """
    found = await cluster.list(workload_resource("deployments"), namespace)
    if isinstance(found, RequestFailed):
        raise found.error()
    return [
        Target("apps/v1", "Deployment", namespace, name_of(item), text(item, "metadata", "uid"))
        for item in found.items
        if any(is_entry(entry) and incident_of(entry) == incident for entry in read_mark(item)[0])
    ]


def _holds(found: Any, patch: Any) -> bool:
    """True if that merge patch would change nothing."""
    if not isinstance(patch, Mapping):
        return bool(found == patch)
    inner = found if isinstance(found, Mapping) else {}
    return all(_holds(inner.get(key), value) for key, value in patch.items())
