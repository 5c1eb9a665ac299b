"""One remedy from the first look to its end: prepared, carried out, resumed, rolled back. What the
command line and the operator call.

mitigate   prepare -> (a person) -> carry_out          rollback   change_in_force -> prepare_rollback -> (a person) -> carry_out
resume, abort   go_on                                  verify     change_in_force -> look
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from barostat.core.errors import InputError, OutsideError
from barostat.core.limits import RemedyLimits, ServingLimits
from barostat.io.clock import Clock
from barostat.io.kubernetes.client.cluster import Cluster
from barostat.io.kubernetes.recording.gateway_door import GatewayDoors
from barostat.io.kubernetes.recording.live import Options
from barostat.io.kubernetes.recording.target import parsed
from barostat.io.mitigation import facts as reading
from barostat.io.mitigation.act_context import ActContext
from barostat.io.mitigation.confirming import confirming, with_patience
from barostat.io.mitigation.driver import Ask, Driver, Tell, new_holder
from barostat.io.mitigation.gateway_hold import GatewayHold
from barostat.io.mitigation.limits_held import limits_before, limits_in_cluster, limits_text
from barostat.io.mitigation.measuring import before
from barostat.io.mitigation.owner_pausing import HandedBack, hand_back, noted_by, still_paused
from barostat.io.mitigation.preview import preview
from barostat.io.mitigation.store import Store
from barostat.io.mitigation.target_reader import ActTiming
from barostat.judge.mitigation.facts import facts
from barostat.judge.mitigation.gateways import unfound
from barostat.judge.mitigation.kept_units import is_kept
from barostat.judge.mitigation.paused_mark import planned
from barostat.judge.mitigation.planning import NoRemedy, Wish, limits_after, plan_for, rollback_plan
from barostat.judge.mitigation.prepared import NothingPrepared, Prepared, hinderers, standing_of
from barostat.judge.mitigation.target_snapshot import ALL_PODS, TargetSnapshot
from barostat.platform.workloads import WorkloadKind, kind_named
from barostat.platform.workloads.deployment import KIND as DEPLOYMENT
from barostat.remedy.history import is_open, latest
from barostat.remedy.plan import RemedyPlan
from barostat.remedy.precheck import Facts
from barostat.remedy.state import Aborted, Began, Event, Resumed, State

Incidents = tuple[list[State] | None, str]
"""The incidents of the target, the newest first, or None and why they could not be read."""


def new_id(name: str) -> str:
    """An id that no other incident has, and that fits into the names of what belongs to it."""
    return f"{name[:28].strip('-.').replace('.', '-')}-{uuid.uuid4().hex[:6]}"


def _looked(seen: TargetSnapshot, namespace: str) -> str:
    """Return where gateways were searched for, and what could not be read."""
    if why := seen.unread.get("gateways"):
        return f"namespace {namespace} ({why})"
    return "any namespace" if seen.lists.get(ALL_PODS) else f"namespace {namespace}"


@dataclass(frozen=True, slots=True)
class Ended:
    """How a run ended, whether a person stopped it, and the state of paused owners."""

    state: State
    stopped: bool = False
    owners: HandedBack = field(default_factory=HandedBack)


@dataclass(frozen=True, slots=True)
class GatewayAccess:
    """How gateways are reached. `url`: of the admin page of the one before the target; empty: those
    that say so. `token`: to set limits.
    """

    url: str = ""
    token: str = field(default="", repr=False)


@dataclass(slots=True)
class Campaign:
    """One target in one cluster. `limits`: as given, else those in the cluster. `gateway`: how to
    reach it. `one_look`: the observation for the plan also confirms the cause. `stop`: ends a run
    early instead of signals, so that several can run in one process. `progress`: how an observation
    proceeds, if not for `tell`.
    """

    cluster: Cluster
    namespace: str
    name: str
    options: Options
    clock: Clock
    tell: Tell
    limits: ServingLimits | None = None
    pace: ActTiming = field(default_factory=ActTiming)
    gateway: GatewayAccess = field(default_factory=GatewayAccess)
    kind: WorkloadKind = DEPLOYMENT
    stop: asyncio.Event | None = None
    one_look: bool = False
    progress: Tell | None = None
    _seen: TargetSnapshot | None = None
    _lacking: tuple[str, ...] | None = None
    """Rights found missing since the last look, which the next one need not ask for."""

    @property
    def typed(self) -> str:
        """The workload as a person types it, with its namespace."""
        return f"{self.kind.typed(self.name)} in {self.namespace}"

    @property
    def store(self) -> Store:
        """The incidents of the namespace."""
        return Store(self.cluster, self.namespace, self.pace)

    @property
    def last_seen(self) -> TargetSnapshot | None:
        """The snapshot of the last look; None before the first."""
        return self._seen

    # --- looking and planning

    async def look(self) -> TargetSnapshot:
        """The target and all around it. Errors: InputError, OutsideError, where it stays so for as
        long as a look is tried again.
        """
        began = self.clock.now()
        doors = self.doors()
        while True:
            try:
                self._seen = await reading.see(
                    self.cluster,
                    self.namespace,
                    self.kind,
                    self.name,
                    self.options,
                    self.clock,
                    self.progress or self.tell,
                    self.pace,
                    doors,
                    self._lacking,
                )
                self._lacking = None
                if any(map(is_kept, self._seen.lists.get("pods", []))):
                    await self._may_keep(self._seen)
                return self._seen
            except OutsideError as error:
                if not error.retryable or self.clock.now() - began > self.pace.patience_s:
                    raise
                self.tell(f"asked again: {error}")
                await asyncio.sleep(self.pace.poll_s)
            finally:
                await doors.close()

    async def lacking_rights(self) -> tuple[str, ...]:
        """The rights that carrying out any plan needs and that are missing; none where that could
        not be asked, or where a person makes the change by hand. The next look takes this answer.
        """
        if not self.kind.rolls:
            return ()
        self._lacking = await reading.lacking_rights(
            self.cluster, self.pace, self.namespace, self.kind
        )
        return self._lacking or ()

    def doors(self) -> GatewayDoors:
        """The gateways before the target, to look at and to write to."""
        return GatewayDoors(
            self.cluster, self.namespace, self.name, self.gateway.url, self.gateway.token
        )

    async def held_limits(self) -> ServingLimits | None:
        """The limits that were given, or those that the cluster holds for the target. Errors:
        InputError, OutsideError.
        """
        if self.limits is not None:
            return self.limits
        try:
            return await limits_in_cluster(
                self.cluster, self.namespace, self.name, self.pace, self.tell
            )
        except OutsideError as error:
            raise await reading.with_rights(
                error, self.cluster, self.pace, self.namespace, self.kind
            ) from error

    async def incidents(self) -> Incidents:
        """Return the target's incidents, as far as they can be read."""
        try:
            return (await self.store.every(self.name, self.kind.api.kind))[0], ""
        except OutsideError as error:
            return None, str(error)

    async def prepare(
        self, wish: Wish, held: ServingLimits | None, *, pause_owners: bool = False
    ) -> Prepared | NothingPrepared:
        """A plan for the target with its facts, from one look. `held`: the limits to keep to.
        Nothing is written.

        Errors: InputError, OutsideError.
        """
        incidents = await self.incidents()
        for state in filter(is_open, incidents[0] or ()):
            verb = f"{state.plan.id} -n {self.namespace}"
            self.tell(
                f"note: incident {state.plan.id} is not over ({state.phase}): barostat "
                f"incident resume {verb}, or abort {verb}"
            )
        seen = await self.look()
        for note in seen.recording.missing:
            self.tell(f"note: {note}")
        if self.gateway.token and (
            lost := unfound(seen.gateways, looked=_looked(seen, self.namespace))
        ):
            return NothingPrepared(lost, "refused")
        remedy = held.spec.remedy if held is not None else RemedyLimits()
        if wish.keep_previous_s or (wish.keep_previous_s is None and remedy.keep_previous_seconds):
            await self._may_keep(seen)
        self.tell("planning")
        # in a thread: the twin is asked for seconds, and an operator has a lease to renew meanwhile
        made = await asyncio.to_thread(plan_for, seen, wish, held, incidents[0] or ())
        if isinstance(made, NoRemedy):
            return NothingPrepared(
                made.why,
                "refused" if wish.requested is not None else standing_of(seen),
                made.passed_over,
            )
        found = self._judged(seen, made.plan, held, incidents, pause_owners=pause_owners)
        written = limits_text(
            limits_after(made.plan, made.replica, seen.windows()[made.replica.name], held),
            held,
            made.plan,
        )
        return replace(found, replica=made.replica, limits=written, passed_over=made.passed_over)

    async def prepare_rollback(
        self, done: RemedyPlan, wish: Wish, *, pause_owners: bool = False
    ) -> Prepared | NothingPrepared:
        """The plan that takes a change back that is in force. Nothing is written. Errors:
        InputError, OutsideError.
        """
        incidents, held, seen = await self.incidents(), await self.held_limits(), await self.look()
        made = await asyncio.to_thread(rollback_plan, seen, done, wish)
        if isinstance(made, NoRemedy):
            return NothingPrepared(made.why, "refused", made.passed_over)
        _, written = await self.store.read(done.id)
        before = await limits_before(self.cluster, self.namespace, done, written, self.pace)
        return replace(
            self._judged(seen, made, held, incidents, pause_owners=pause_owners), limits=before
        )

    async def _may_keep(self, seen: TargetSnapshot) -> None:
        """Ask for the rights to keep a unit of a former version."""
        if seen.cannot_keep is None:
            seen.cannot_keep = await reading.lacking_to_keep(
                self.cluster, self.pace, self.namespace
            )

    def _judged(
        self,
        seen: TargetSnapshot,
        plan: RemedyPlan,
        held: ServingLimits | None,
        incidents: Incidents,
        *,
        pause_owners: bool,
    ) -> Prepared:
        found = hinderers(seen, plan.strategy)
        switches = [owner.switch for owner in found if owner.switch is not None]
        if pause_owners and len(switches) == len(found):
            plan, found = replace(plan, owners=(*plan.owners, *map(planned, switches))), ()
        return Prepared(seen, plan, self._facts(seen, plan, held, incidents), in_the_way=found)

    @staticmethod
    def _facts(
        seen: TargetSnapshot, plan: RemedyPlan, held: ServingLimits | None, incidents: Incidents
    ) -> Facts:
        return facts(
            seen,
            plan,
            incidents[0],
            held.spec.remedy if held is not None else RemedyLimits(),
            incidents[1],
        )

    async def with_writes(self, prepared: Prepared) -> Prepared:
        """The same with what the server would make of it: asked for as a dry run, nothing is
        written.
        """
        self.tell("asking the server what it would make of it")
        return replace(
            prepared,
            writes=tuple(
                await preview(ActContext(self.cluster, prepared.plan, self.clock, self.pace))
            ),
        )

    # --- carrying out

    async def carry_out(self, prepared: Prepared, ask: Ask | None) -> Ended:
        """The end of it. `ask`: None if the answer is yes already, or the plan needs none."""
        plan = prepared.plan
        approved = ask is None and plan.autonomy != "act"
        return await self._drive(
            State(plan, approved=approved),
            prepared.limits,
            ask,
            Began(self.clock.now(), new_holder()),
        )

    async def go_on(self, state: State, limits: str, *, abort: str = "") -> Ended:
        """Continue an incident that another run started; `abort`: why it is reverted. For an ended
        incident, only resume its paused owners.
        """
        self.aim_at(state.plan)
        if not is_open(state):
            return Ended(
                state,
                owners=HandedBack() if abort else await self.owners_back(state, everyone=True),
            )
        events: list[Event] = [Resumed(self.clock.now(), new_holder())]
        if abort:
            events.append(Aborted(self.clock.now(), abort))
        return await self._drive(state, limits, None, *events)

    async def _drive(self, state: State, limits: str, ask: Ask | None, *first: Event) -> Ended:
        state = replace(state, plan=with_patience(state.plan, self.options.for_s))
        context = ActContext(self.cluster, state.plan, self.clock, self.pace, tell=self.tell)
        if state.plan.edge is not None:
            context.hold = GatewayHold(self.doors())
        before(context, self._seen)

        async def once() -> Facts:
            seen, self.one_look = self._seen if self.one_look else None, False
            found = self._facts(
                seen or await self.look(),
                state.plan,
                await self.held_limits(),
                await self.incidents(),
            )
            before(context, self._seen)
            return found

        async def gather() -> Facts:
            return await confirming(once, state.plan, self.clock, self.tell)

        driver = Driver(context, self.store, gather, limits, self.tell, ask, self.stop)
        try:
            ended = await driver.run(state, *first)
        finally:
            if context.hold is not None:
                await context.hold.close()
        stopped = driver.stopped and not ended.ended
        return Ended(
            ended,
            stopped,
            HandedBack() if stopped and ended.revision else await self.owners_back(ended),
        )

    def aim_at(self, plan: RemedyPlan) -> None:
        """Go on with the workload that the plan is for."""
        self.name, found = plan.target.name, kind_named(plan.target.kind)
        if found is None:
            raise InputError(f"is for a {plan.target.kind}, a kind that is not known", plan.id)
        self.kind = found

    # --- incidents that are there

    async def change_in_force(
        self, wanted: str, *, rollbacks: bool = False
    ) -> tuple[State | None, list[State]]:
        """(the incident of that id, or of a workload (KIND/NAME) the one that is open or in force;
        all of its target, the newest first).

        Errors: InputError where there is no incident at all; OutsideError.
        """
        if "/" not in wanted:
            state, _ = await self.store.read(wanted)
            self.aim_at(state.plan)
            states, _ = await self.store.every(self.name, self.kind.api.kind)
            return state, states
        self.kind, self.name = parsed(wanted)
        states, _ = await self.store.every(self.name, self.kind.api.kind)
        if not states:
            raise InputError(f"no incident of it in namespace {self.namespace}", wanted)
        return latest(states, rollbacks=rollbacks), states

    async def owners_back(self, state: State, *, everyone: bool = False) -> HandedBack:
        """Resume the owners that the incident, or the one that it reverted, has paused and may
        resume.

        The plan has resumed those it could: left are owners whose source contains the change by now
        (`everyone`, if a person says so), and those of records of earlier versions.
        """
        undone = [state.plan.undoes] if state.phase == "Done" and state.plan.undoes else []
        incidents = [state.plan.id, *undone, *([""] if everyone else [])]
        keep: Sequence[str] = () if everyone else still_paused(state)
        return await hand_back(self.cluster, state.plan.target, incidents, keep)

    async def owners_back_without_record(self, incident: str) -> HandedBack | None:
        """Resume the owners that a run of an earlier version paused before it wrote a record; None
        if there are none.
        """
        targets = await noted_by(self.cluster, self.namespace, incident)
        back = [await hand_back(self.cluster, target, (incident,)) for target in targets]
        return (
            HandedBack([line for one in back for line in one.told], any(one.failed for one in back))
            if targets
            else None
        )
