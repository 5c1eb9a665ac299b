"""Remedies for the operator: the same campaign as `barostat mitigate`, within one program.

A stalled scheduler has no setting to change: its replicas are restarted one by one, by evictions,
so that disruption budgets hold.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from barostat.catalog.polling import INTERVAL_S
from barostat.core.errors import InputError, OutsideError
from barostat.core.limits import ServingLimits
from barostat.core.proposed_change import Restart
from barostat.io.clock import Clock
from barostat.io.kubernetes.client.cluster import Cluster
from barostat.io.kubernetes.client.failures import RequestFailed
from barostat.io.kubernetes.client.resources import PODS
from barostat.io.kubernetes.recording.live import Options
from barostat.io.mitigation.campaign import Campaign, Ended, GatewayAccess, new_id
from barostat.judge.mitigation.planning import Wish
from barostat.judge.mitigation.prepared import NothingPrepared, Prepared
from barostat.operator.incident import IncidentPlan
from barostat.operator.step import Key, Outcome, RemedyEnded
from barostat.platform.objects import condition, name_of, text
from barostat.platform.workloads import kind_named
from barostat.remedy.history import is_open
from barostat.remedy.journal import cut_sentence
from barostat.remedy.plan import RemedyPlan
from barostat.remedy.state import State

LOOK_S = 30.0
STALLED_LOOK_S = 90.0
"""A scheduler is stalled only after a minute in which nothing runs."""
OURS = "op-"
"""How the id of a remedy begins that an operator began: another operator may continue it. One that
a person began is the person's.
"""
READY_S = 1800.0
READ_OUT_S = 20.0
"""Time for remedies to finish their current write when the operator stops."""
POLL_S = 5.0


@dataclass(slots=True)
class Healing:
    """One plan or remedy at a time for each workload.

    `limits`: the ServingLimits of a workload, as the cluster holds them. `gateway`: how gateways
    are reached. `leads`: asked before anything is begun.
    """

    cluster: Cluster
    clock: Clock
    gateway: GatewayAccess
    leads: Callable[[], bool]
    limits: Callable[[Key], ServingLimits | None]
    tell: Callable[[str], None]
    _running: dict[Key, tuple[asyncio.Task[RemedyEnded], asyncio.Event]] = field(
        default_factory=dict
    )

    @property
    def is_busy(self) -> bool:
        """True while a plan or a remedy is being worked on."""
        return bool(self._running)

    def begin(
        self,
        key: Key,
        *,
        carry_out: bool,
        may_restart: bool = True,
        cause: str = "",
        resume_since: float | None = None,
    ) -> None:
        """Work on it in the background; `ended` has the result. `resume_since`: another operator may
        have begun, or ended, a remedy since then.
        """
        if key in self._running:
            return
        stop = asyncio.Event()
        look_s = STALLED_LOOK_S if cause == "hung-engine" else LOOK_S
        work = self._guarded(
            key,
            stop,
            look_s,
            carry_out=carry_out,
            may_restart=may_restart,
            resume_since=resume_since,
        )
        self._running[key] = asyncio.create_task(work), stop

    def stop(self, key: Key) -> None:
        """Finish the write that is under way, and begin nothing more."""
        if key in self._running:
            self._running[key][1].set()

    def ended(self) -> tuple[RemedyEnded, ...]:
        """Return the remedies that have ended since the last call."""
        done = [key for key, (task, _) in self._running.items() if task.done()]
        return tuple(self._running.pop(key)[0].result() for key in done)

    async def close(self) -> None:
        """Everything has stopped between two writes, or is cancelled after a while."""
        for _, stop in self._running.values():
            stop.set()
        tasks = [task for task, _ in self._running.values()]
        if tasks:
            _, late = await asyncio.wait(tasks, timeout=READ_OUT_S)
            for task in late:
                task.cancel()
            await asyncio.gather(*late, return_exceptions=True)
        self._running.clear()

    async def _guarded(
        self,
        key: Key,
        stop: asyncio.Event,
        look_s: float,
        *,
        carry_out: bool,
        may_restart: bool,
        resume_since: float | None,
    ) -> RemedyEnded:
        try:
            campaign = self._campaign(key, stop, look_s)
            if isinstance(campaign, str):
                return RemedyEnded(key, "refused", campaign)
            if not carry_out:
                return await self._proposed(key, campaign)
            return await self._healed(
                key, campaign, stop, may_restart=may_restart, resume_since=resume_since
            )
        except (InputError, OutsideError) as error:
            return RemedyEnded(key, "refused", str(error))
        except Exception as error:  # a bug of ours in one remedy must not end the watch over all
            return RemedyEnded(
                key, "refused", f"this is a bug in barostat ({type(error).__name__}: {error})"
            )

    def _campaign(self, key: Key, stop: asyncio.Event, look_s: float) -> Campaign | str:
        kind = kind_named(key.kind)
        if kind is None or not kind.rolls:
            return f"a {key.kind} is not changed by barostat; change what makes it"
        return Campaign(
            self.cluster,
            key.namespace,
            key.name,
            Options(look_s, INTERVAL_S),
            self.clock,
            lambda line: self.tell(f"{key}: {line}"),
            self.limits(key),
            gateway=self.gateway,
            kind=kind,
            stop=stop,
            one_look=True,  # the second one, after that which opened the incident
            progress=lambda _: None,
        )

    async def _proposed(self, key: Key, campaign: Campaign) -> RemedyEnded:
        found = await campaign.prepare(
            Wish(f"{OURS}{new_id(key.name)}"), await campaign.held_limits()
        )
        if isinstance(found, NothingPrepared):
            return RemedyEnded(key, "proposed", _with_passed(found))
        against = "; ".join(_against(found))
        plan = _incident_plan(found.plan, refused=against)
        said = f"{found.plan.change} ({found.plan.strategy})"
        return RemedyEnded(
            key, "proposed", f"{said}; it would be refused: {against}" if against else said, plan
        )

    async def _healed(
        self,
        key: Key,
        campaign: Campaign,
        stop: asyncio.Event,
        *,
        may_restart: bool,
        resume_since: float | None,
    ) -> RemedyEnded:
        incidents, why = await campaign.incidents()
        if incidents is None:
            return RemedyEnded(key, "refused", f"earlier incidents could not be read: {why}")
        begun = next((one for one in incidents if is_open(one)), None)
        if begun is not None:
            if not begun.plan.id.startswith(OURS):
                return RemedyEnded(
                    key, "refused", f"incident {begun.plan.id} of a person is not over"
                )
            state, limits = await campaign.store.read(begun.plan.id)
            return _outcome(key, await campaign.go_on(state, limits))
        over = [
            one
            for one in incidents
            if resume_since is not None
            and one.plan.id.startswith(OURS)
            and one.plan.made_at >= resume_since
        ]
        if over:  # its operator went between the end of the remedy and telling of it
            return _of_state(key, max(over, key=lambda one: one.plan.made_at))
        wish = Wish(f"{OURS}{new_id(key.name)}", autonomy="act")
        found = await campaign.prepare(wish, await campaign.held_limits())
        if isinstance(found, NothingPrepared):
            return await self._without_plan(key, campaign, found, stop, may_restart=may_restart)
        plan = found.plan
        if against := _against(found):
            refused = "; ".join(against)
            return RemedyEnded(key, "refused", refused, _incident_plan(plan, refused=refused))
        if not may_restart and not plan.at_edge and plan.strategy != "scale-out":
            why = f"{plan.change} restarts replicas; it waits for the quiet hours"
            return RemedyEnded(key, "deferred", why, _incident_plan(plan, refused=why))
        if stop.is_set() or not self.leads():
            return RemedyEnded(key, "stopped", "this operator does not lead any more")
        return _outcome(key, await campaign.carry_out(found, None))

    # --- a stalled scheduler

    async def _without_plan(
        self,
        key: Key,
        campaign: Campaign,
        found: NothingPrepared,
        stop: asyncio.Event,
        *,
        may_restart: bool,
    ) -> RemedyEnded:
        seen = campaign.last_seen
        stalled = [
            replica
            for replica in (seen.report.replicas if seen is not None else ())
            if replica.diagnosis.cause == "hung-engine"
            and any(isinstance(step.change, Restart) for step in replica.next)
        ]
        if not stalled:
            return RemedyEnded(key, "refused", _with_passed(found))
        because = stalled[0].diagnosis.summary
        plan = IncidentPlan("controlled-restart", "restart one by one", because, "restart")
        if not may_restart:
            return RemedyEnded(key, "deferred", "a restart waits for the quiet hours", plan)
        for replica in stalled:
            if stop.is_set() or not self.leads():
                return RemedyEnded(key, "stopped", "this operator does not lead any more", plan)
            why = await self._restarted(key, campaign, replica.name, stop)
            if why:
                return RemedyEnded(key, "handed-off", f"{replica.name}: {why}", plan, True)
        names = ", ".join(replica.name for replica in stalled)
        return RemedyEnded(
            key, "verified", f"restarted: {names}; as many are Ready as before", plan, True
        )

    async def _restarted(self, key: Key, campaign: Campaign, pod: str, stop: asyncio.Event) -> str:
        """Empty once the pod is replaced and as many are Ready as it takes, else why not."""
        found = await self.cluster.get(PODS, pod, key.namespace)
        if isinstance(found, RequestFailed):
            return "" if found.kind == "not-found" else found.why
        uid = text(found, "metadata", "uid")
        eviction = {
            "apiVersion": "policy/v1",
            "kind": "Eviction",
            "metadata": {"name": pod, "namespace": key.namespace},
            "deleteOptions": {"preconditions": {"uid": uid}},
        }
        deadline = self.clock.now() + READY_S
        evicted = False
        while self.clock.now() < deadline and not stop.is_set():
            if not evicted:
                made = await self.cluster.create(
                    PODS, eviction, key.namespace, name=pod, subresource="eviction"
                )
                evicted = not isinstance(made, RequestFailed) or made.kind == "not-found"
                if isinstance(made, RequestFailed) and made.kind == "forbidden":
                    return made.why
            elif await self._whole(key, campaign, uid):
                return ""
            await asyncio.sleep(POLL_S)
        return f"its successor was not Ready within {READY_S / 60:.0f} min"

    async def _whole(self, key: Key, campaign: Campaign, gone: str) -> bool:
        """True if the pod with that UID is gone and all desired pods are Ready."""
        seen = campaign.last_seen
        if seen is None:
            return False
        labels = campaign.kind.query(key.name, seen.home)
        listed = await self.cluster.list(PODS, key.namespace, labels=labels)
        if isinstance(listed, RequestFailed):
            return False
        uids = {text(pod, "metadata", "uid") for pod in listed.items}
        ready = [
            name_of(pod)
            for pod in listed.items
            if campaign.kind.answers(pod) and text(condition(pod, "Ready"), "status") == "True"
        ]
        return gone not in uids and len(ready) >= seen.replicas


def _against(found: Prepared) -> tuple[str, ...]:
    owners = tuple(f"{owner.kind} {owner.name} would revert it" for owner in found.in_the_way)
    return (*found.against, *owners)


def _with_passed(found: NothingPrepared) -> str:
    """Why there is no plan, with what was passed over: an autoscaler's maximum, a gateway that is
    not there.
    """
    return "; ".join((found.why, *found.passed_over))


def _incident_plan(plan: RemedyPlan, *, refused: str = "", record: str = "") -> IncidentPlan:
    return IncidentPlan(plan.lever, str(plan.change), plan.because, plan.strategy, refused, record)


def _outcome(key: Key, ended: Ended) -> RemedyEnded:
    made = _of_state(key, ended.state)
    if ended.stopped or ended.state.superseded:
        return replace(made, outcome="stopped")
    return made


def _of_state(key: Key, state: State) -> RemedyEnded:
    return RemedyEnded(
        key,
        _of_phase(state),
        "; ".join(filter(None, (state.why or state.phase, cut_sentence(state.cut)))),
        _incident_plan(state.plan, record=state.plan.id),
        changed=bool(state.revision),
    )


def _of_phase(state: State) -> Outcome:
    match state.phase:
        case "Done":
            return "verified"
        case "RolledBack":
            return "inconclusive" if state.verified == "inconclusive" else "taken-back"
        case "Refused":
            return "refused"
        case _:
            return "handed-off"
