"""The control loop: scrape, judge, decide, act; once per interval.

Engines (pods, scrapes)  ->  examine  ->  TargetSeen  ->  step  ->  IncidentObjects, Healing,
Notifications

An operator that does not lead scrapes nothing; it waits for the lease.
"""

from __future__ import annotations

import asyncio
import json
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from barostat.core.errors import InputError
from barostat.core.limits import ServiceLevel, ServingLimits
from barostat.core.units import many
from barostat.io.clock import Clock
from barostat.io.input_files import limits_file
from barostat.io.kubernetes.client.cluster import Cluster
from barostat.io.kubernetes.client.failures import RequestFailed
from barostat.io.kubernetes.client.kubeconfig import SERVICE_ACCOUNT, ClusterAccess
from barostat.io.kubernetes.client.resources import NAMESPACES, resource_of
from barostat.io.prometheus.client import Prometheus
from barostat.judge.diagnosis.diagnose import Examination, examine
from barostat.judge.evidence.recording import Recording
from barostat.operator.engines import Engines
from barostat.operator.healing import Healing
from barostat.operator.incident import SERVING_LIMITS, IncidentTarget, rfc3339, seconds_of
from barostat.operator.incident_objects import IncidentObjects, limits_place
from barostat.operator.lease import Lease
from barostat.operator.listening import FiringAlert, Listening
from barostat.operator.metrics import Metrics, page, together
from barostat.operator.notifications import Notifications
from barostat.operator.policy import OFF, SWITCH, Policy, policy_of
from barostat.operator.predictions import predictions
from barostat.operator.prometheus_pages import PrometheusPages
from barostat.operator.settings import OperatorSettings
from barostat.operator.shards import balance, lease_name, shard_of
from barostat.operator.step import (
    Answer,
    Emit,
    Forget,
    Harm,
    Heal,
    Keep,
    Key,
    Notify,
    OperatorState,
    Plan,
    Prediction,
    Seen,
    StopHealing,
    TargetSeen,
    key_of,
    step,
    wants_trial,
)
from barostat.operator.verdict import figures_of, harm_of, judged, tried, verdict_of
from barostat.platform.objects import Object, count, mapping, text
from barostat.platform.workloads import kind_named

POLICY_EVERY_S = 60.0
TRIALS_IN_ROUND = 1
"""Plans tried on the twin. A trial takes two seconds of a core, and harm is recorded without it."""
DEEP_EVERY_S = 60.0
AT_ONCE = 16
VERDICTS_AT_ONCE = 4
ROUND_ENDS_S = 5.0
"""Time for the round under way when the operator stops; then it is cancelled."""
JUDGING_SHARE = 0.6
"""Of an interval: verdicts are begun for this long in each round, then engines are scraped again."""


@dataclass(slots=True)
class Surrounding:
    """Facts about a workload besides its engines: uid and annotations of itself and of its
    namespace, and its limits.
    """

    target: IncidentTarget
    annotations: Object = field(default_factory=dict)
    namespace_annotations: Object = field(default_factory=dict)
    limits: ServingLimits | None = None
    limits_object: Object | None = None
    read_at: float = float("-inf")


@dataclass(slots=True, repr=False)
class Operator:
    """One operator. `cluster` for everything but the lease, which has connections of its own: a
    hundred scrapes must not hold up a renewal.
    """

    settings: OperatorSettings
    cluster: Cluster
    lease: Lease
    clock: Clock
    tell: Callable[[str], None]
    engines: Engines
    objects: IncidentObjects
    healing: Healing
    notifications: Notifications
    state: OperatorState = field(default_factory=OperatorState)
    around: dict[Key, Surrounding] = field(default_factory=dict)
    verdicts: dict[Key, TargetSeen] = field(default_factory=dict)
    alerts: dict[Key, str] = field(default_factory=dict)
    switched_off: bool = False
    judged: int = 0
    judged_s: float = 0.0
    turn_s: float = 0.0
    turns: int = 0
    _fired: list[FiringAlert] = field(default_factory=list)
    _deep_at: dict[Key, float] = field(default_factory=dict)
    _following: bool = False
    _switch_at: float = float("-inf")
    _trials_in_round: int = 0
    _examining: asyncio.Lock = field(default_factory=asyncio.Lock)
    _told_workloads: int | None = None
    _told_unread: dict[object, str] = field(default_factory=dict)

    async def turn(self) -> None:
        """Run one round: scrape, judge, act; only stand by without the lease."""
        began = time.monotonic()
        if not self.lease.leads:
            await self._stand_by()
            return
        kept = None
        if not self.state.leads:
            kept = await self.objects.read()
            if kept is None:
                return
            kept = tuple(one for one in kept if self.engines.mine(key_of(one)))
            self.objects.adopt(kept)
        if not self._following:
            await self.engines.start()
            self._following = True
        if not self.engines.listed.is_set():
            with suppress(TimeoutError):
                await asyncio.wait_for(self.engines.listed.wait(), self.settings.interval_s)
            if not self.engines.listed.is_set():
                return
        await self.engines.look(self.settings.interval_s * 0.8)
        self._tell_watched()
        now = self.clock.now()
        await self._read_around(now)
        self._take_alerts()
        looks = await self._judge(now)
        seen = Seen(
            self.lease.leads,
            looks,
            self.healing.ended(),
            kept,
            self.switched_off,
            self.clock.set_by_s(),
        )
        self.state, commands = step(self.state, seen, self.clock.now())
        for command in commands:
            self._do(command)
        await self.objects.settle()
        self.turns += 1
        self.turn_s = time.monotonic() - began

    def _tell_watched(self) -> None:
        """Say how many engines are watched, whenever the number of their workloads changes."""
        workloads = len(self.engines.workloads())
        if workloads == self._told_workloads:
            return
        self._told_workloads = workloads
        settings = self.settings
        if workloads or settings.shards > 1:
            engines = many(len(self.engines.engines), "engine")
            self.tell(f"watches {engines} of {many(workloads, 'workload')}")
            return
        chosen = f" with the labels {settings.selector}" if settings.selector else ""
        place = f"namespace {settings.namespace}" if settings.namespace else "the cluster"
        self.tell(f"there is no vLLM pod{chosen} in {place}; it waits for one")

    async def _stand_by(self) -> None:
        """Nothing is watched, written or healed by one that does not lead."""
        if not self.state.leads and not self._following:
            return
        self.state, commands = step(self.state, Seen(False), self.clock.now())
        for command in commands:
            self._do(command)
        await self.healing.close()
        self.objects.forget_all()
        await self.engines.stop()
        self.engines.listed.clear()
        self._following = False
        self.verdicts.clear()
        self._told_workloads = None

    def _do(self, command: object) -> None:
        match command:
            case Keep(incident):
                self.objects.keep(incident)
            case Forget():
                self.objects.forgotten.append(command)
            case Emit():
                self.objects.events.append(command)
                self.tell(
                    f"{command.target.name} in {command.namespace}: {command.reason}: {command.message}"
                )
            case Notify(incident, firing):
                self.notifications.put(incident, firing=firing)
            case Answer(said):
                self.notifications.say(said)
            case Plan(key, _):
                self.healing.begin(key, carry_out=False)
            case Heal(key, _, may_restart, resume, cause):
                open_one = self.state.targets[key].incident
                since = None
                if resume and open_one is not None:
                    since = seconds_of(open_one.spec.first_harm_at)
                self.healing.begin(
                    key,
                    carry_out=True,
                    may_restart=may_restart,
                    cause=cause,
                    resume_since=since,
                )
            case StopHealing(key):
                self.healing.stop(key)

    # --- judging

    async def _judge(self, now: float) -> dict[Key, TargetSeen]:
        """Return the workloads with their state, newly judged if due."""
        open_ones = [key for key, one in self.state.targets.items() if one.incident is not None]
        due = self.engines.due(self.alerts, open_ones, now)
        fresh = await self._fresh_verdicts(due, now)
        present = self.engines.workloads()
        looks: dict[Key, TargetSeen] = {}
        for key in sorted(present):
            around = self.around.get(key)
            if around is None:
                continue
            policy = self._policy(around)
            if key in fresh:
                looks[key] = self.verdicts[key] = fresh[key]
                self._limits_status(around, fresh[key], now)
            else:
                looks[key] = TargetSeen(around.target, policy, judged=False)
        for key in self._watched() - present:
            if (around := self.around.get(key)) is not None:
                looks[key] = TargetSeen(
                    around.target, self._policy(around), judged=False, present=False
                )
        for gone in set(self.verdicts) - present:
            del self.verdicts[gone]
        self.alerts = {key: name for key, name in self.alerts.items() if key not in fresh}
        return looks

    async def _fresh_verdicts(self, due: Iterable[Key], now: float) -> dict[Key, TargetSeen]:
        """Verdicts in this order, for as long as a round may take: what is left stays due. Several
        at a time, because most of one that harm is found in is waiting for logs and events.
        """
        waiting = iter(due)
        made: dict[Key, TargetSeen] = {}
        self._trials_in_round = 0
        until = time.monotonic() + JUDGING_SHARE * self.settings.interval_s

        async def work() -> None:
            for key in waiting:
                around = self.around.get(key)
                if around is None:
                    continue
                self.engines.schedule.judged(key, now)
                policy = self._policy(around)
                if not policy.disabled:
                    made[key] = await self._verdict(key, around, policy, now)
                if time.monotonic() > until:
                    return

        await asyncio.gather(*(work() for _ in range(VERDICTS_AT_ONCE)))
        return made

    async def _verdict(
        self, key: Key, around: Surrounding, policy: Policy, now: float
    ) -> TargetSeen:
        recording = self.engines.recording(key)
        if recording is None:
            return TargetSeen(around.target, policy, judged=False)
        examined = await self._examined(recording)
        harm = harm_of(examined)
        wants_more = harm is not None or key in self.alerts
        if wants_more and now - self._deep_at.get(key, float("-inf")) >= DEEP_EVERY_S:
            self._deep_at[key] = now
            deeper = await self.engines.deep_recording(key)
            if deeper is not None and deeper.replicas:
                examined = await self._examined(deeper)
                harm = harm_of(examined) or harm
                recording = deeper
        limits = around.limits
        slo = limits.spec.slo if limits is not None else ServiceLevel()
        known = self.state.targets.get(key)
        if harm is not None and known is not None and wants_trial(known.incident):
            harm = await self._with_trial(examined, recording, slo) or harm
        coming: tuple[Prediction, ...] = ()
        if harm is None:
            coming = predictions(
                examined.report.replicas,
                examined.shown,
                slo,
                self.engines.memory(key),
                self.engines.looks(key),
            )
        kind = kind_named(key.kind)
        return TargetSeen(
            around.target,
            policy,
            judged(examined),
            harm,
            figures_of(examined.shown.values(), now),
            coming,
            "" if kind is not None and kind.rolls else f"a {key.kind} is not changed by barostat",
            self.alerts.get(key, ""),
            verdict_of(examined),
        )

    async def _examined(self, recording: Recording) -> Examination:
        """Judged in a thread of its own, so that renewals of the lease are not held up; one at a
        time, as more would only take the processor from each other.
        """
        async with self._examining:
            began = time.monotonic()
            found = await asyncio.to_thread(examine, recording)
        self.judged += 1
        self.judged_s += time.monotonic() - began
        return found

    async def _with_trial(
        self, examined: Examination, recording: Recording, slo: ServiceLevel
    ) -> Harm | None:
        """The same harm with its plan tried on the twin, for one workload in each round."""
        if self._trials_in_round >= TRIALS_IN_ROUND:
            return None
        self._trials_in_round += 1
        async with self._examining:
            after = await asyncio.to_thread(tried, examined, recording, slo)
        return harm_of(after, was_tried=True)

    def _policy(self, around: Surrounding) -> Policy:
        remedy = around.limits.spec.remedy if around.limits is not None else None
        return policy_of(
            self.settings.defaults, around.annotations, around.namespace_annotations, remedy
        )

    # --- what surrounds a workload

    async def _read_around(self, now: float) -> None:
        """Uid, annotations and limits of each workload, read again once in a while."""
        watched = self._watched()
        due = [
            key
            for key in watched
            if key not in self.around or now - self.around[key].read_at > POLICY_EVERY_S
        ]
        for gone in set(self.around) - watched:
            del self.around[gone]
            self._told_unread.pop(gone, None)
        if now - self._switch_at > POLICY_EVERY_S / 4:
            self._switch_at = now
            self.switched_off = (await self._annotations(self.settings.home)).get(SWITCH) == OFF
        if not due:
            return
        limits = await self._limits()
        namespaces = {key.namespace for key in due}
        annotations = {name: await self._annotations(name) for name in sorted(namespaces)}
        for first in range(0, len(due), AT_ONCE):
            part = due[first : first + AT_ONCE]
            found = await asyncio.gather(*(self._workload(key) for key in part))
            for key, item in zip(part, found, strict=True):
                if item is None:
                    continue
                held, source = limits.get(key, (None, None))
                self.around[key] = Surrounding(
                    IncidentTarget(
                        text(item, "apiVersion"), key.kind, key.name, text(item, "metadata", "uid")
                    ),
                    mapping(item, "metadata", "annotations"),
                    annotations[key.namespace],
                    held,
                    source,
                    now,
                )

    def _watched(self) -> set[Key]:
        """The workloads that have engines, and those that have an open incident: in the middle of a
        remedy a workload may have no engine of its own.
        """
        open_ones = {key_of(one) for one in self.objects.wanted.values() if not one.ended}
        return self.engines.workloads() | open_ones

    async def _workload(self, key: Key) -> Object | None:
        kind = kind_named(key.kind)
        if kind is None:
            return None
        found = await self.cluster.get(
            resource_of(kind), key.name, key.namespace, metadata_only=True
        )
        if isinstance(found, RequestFailed):
            self._tell_once(key, f"{key} is not judged: {found.why}")
            return None
        self._told_unread.pop(key, None)
        return {**found, "apiVersion": kind.api.api_version}

    def _tell_once(self, about: object, why: str) -> None:
        """Say why something is not read, again only for another reason."""
        if self._told_unread.get(about) != why:
            self._told_unread[about] = why
            self.tell(why)

    async def _annotations(self, namespace: str) -> Object:
        """Return the namespace's annotations; empty without permission to read them."""
        found = await self.cluster.get(NAMESPACES, namespace, metadata_only=True)
        return {} if isinstance(found, RequestFailed) else mapping(found, "metadata", "annotations")

    async def _limits(self) -> dict[Key, tuple[ServingLimits | None, Object]]:
        """ServingLimits by the workload that they are for. Unreadable ones are reported."""
        listed = await self.cluster.list(SERVING_LIMITS, self.settings.namespace)
        if isinstance(listed, RequestFailed):
            if listed.kind != "not-found":
                self._tell_once(SERVING_LIMITS, listed.why)
            return {}
        found: dict[Key, tuple[ServingLimits | None, Object]] = {}
        for item in listed.items:
            namespace, name = limits_place(item)
            target = mapping(item, "spec", "targetRef")
            key = Key(namespace, text(target, "kind") or "Deployment", text(target, "name") or name)
            try:
                held = _as_limits(item, f"servinglimits {name} in {namespace}")
            except InputError as error:
                self._tell_once(limits_place(item), str(error))
                held = None
            found[key] = held, item
        return found

    def _limits_status(self, around: Surrounding, look: TargetSeen, now: float) -> None:
        """Whether the workload holds to its limits, on the ServingLimits themselves."""
        item = around.limits_object
        if item is None or not look.judged:
            return
        place = limits_place(item)
        generation = count(item, "metadata", "generation") or 1
        status, reason, said = "True", "NoHarm", look.verdict
        if around.limits is None:
            status, reason, said = "Unknown", "Unreadable", "The limits cannot be read."
        elif look.harm is not None:
            status, reason, said = "False", look.harm.cause, look.harm.summary
        elif look.predictions:
            reason, said = look.predictions[0].kind, look.predictions[0].sentence
        former = self.objects.statuses.get(place, {})
        before: dict[str, Any] = next(iter(former.get("conditions", [])), {})
        same = (before.get("status"), before.get("reason")) == (status, reason)
        if same and before.get("observedGeneration") == generation:
            return
        changed = before.get("status") != status
        self.objects.statuses[place] = {
            "observedGeneration": generation,
            "conditions": [
                {
                    "type": "Held",
                    "status": status,
                    "reason": "".join(part.capitalize() for part in reason.split("-"))
                    if "-" in reason
                    else reason,
                    "message": said[:1000],
                    "lastTransitionTime": rfc3339(now) if changed else before["lastTransitionTime"],
                    "observedGeneration": generation,
                }
            ],
        }

    # --- alerts

    def fired(self, alerts: list[FiringAlert]) -> None:
        """Alertmanager says that these fire."""
        self._fired += alerts

    def _take_alerts(self) -> None:
        for alert in self._fired:
            for key in self.engines.workloads():
                if self._is_about(alert.labels, key):
                    self.alerts[key] = alert.name
        self._fired.clear()

    def _is_about(self, labels: Mapping[str, str], key: Key) -> bool:
        if labels.get("namespace", key.namespace) != key.namespace:
            return False
        pods = {engine.name for engine in self.engines.of(key)}
        named = labels.get("pod") in pods or labels.get(key.kind.lower()) == key.name
        return named or labels.get("workload") == key.name

    # --- for its own page

    def metrics(self) -> Metrics:
        """Return the operator's own metrics."""
        return Metrics(
            leading=float(self.lease.leads),
            engines=len(self.engines.engines),
            workloads=len(self.engines.workloads()),
            remedies_running=sum(one.healing for one in self.state.targets.values()),
            turn_seconds=self.turn_s,
            turns_total=self.turns,
            scrapes_total=self.engines.scrapes,
            scrapes_failed_total=self.engines.failed_scrapes,
            prometheus_pages_total=self.engines.from_prometheus,
            verdicts_total=self.judged,
            verdict_seconds_total=self.judged_s,
            writes_total=self.objects.writes,
            writes_failed_total=self.objects.failures,
            notifications_sent_total=self.notifications.sent,
            notifications_lost_total=self.notifications.lost,
        )

    def open_causes(self) -> Counter[str]:
        """Causes of the incidents that are open."""
        targets = self.state.targets.values()
        return Counter(one.incident.spec.cause for one in targets if one.incident is not None)

    def ready(self) -> str:
        """Why it is not ready; empty if it is. One that waits for the lease is ready to take it."""
        if self.lease.leads and self._following and not self.engines.listed.is_set():
            return "the pods have not been listed yet"
        return ""


def _as_limits(item: Object, source: str) -> ServingLimits:
    """The limits that the object holds. Errors: InputError."""
    document: dict[str, Any] = {
        key: item[key] for key in ("apiVersion", "kind", "spec", "because") if key in item
    }
    document["metadata"] = {"name": text(item, "metadata", "name")}
    return limits_file.parse(json.dumps(document), source)


def made(
    settings: OperatorSettings,
    access: ClusterAccess,
    clock: Clock,
    tell: Callable[[str], None],
    shard: int = 0,
    first: Lease | None = None,
) -> Operator:
    """The operator of one shard with all its parts. `first`: the lease of the first shard."""
    cluster = Cluster(access)
    lease = Lease(
        Cluster(access),
        settings.home,
        lease_name(settings.lease, shard),
        settings.identity,
        tell,
        settings.shards,
        first,
    )
    inside = access.token_file == SERVICE_ACCOUNT / "token"
    direct = settings.via == "pods" or (settings.via == "auto" and inside)
    engines = Engines(cluster, settings.namespace, clock, direct, settings.selector, tell)
    if settings.prometheus is not None:
        engines.prometheus = PrometheusPages(Prometheus(settings.prometheus), tell)
    if settings.shards > 1:
        engines.mine = lambda key: shard_of(key, settings.shards) == shard

    def leads() -> bool:
        return lease.leads

    operator: Operator

    def limits(key: Key) -> ServingLimits | None:
        around = operator.around.get(key)
        return around.limits if around is not None else None

    operator = Operator(
        settings,
        cluster,
        lease,
        clock,
        tell,
        engines,
        IncidentObjects(cluster, settings.namespace, clock, leads, tell),
        Healing(cluster, clock, settings.gateway, leads, limits, tell),
        Notifications(settings.webhooks, clock, tell),
    )
    lease.may_give = lambda: not operator.healing.is_busy
    return operator


def made_all(
    settings: OperatorSettings, access: ClusterAccess, clock: Clock, tell: Callable[[str], None]
) -> tuple[Operator, ...]:
    """An operator for each shard, in one process."""
    found = [made(settings, access, clock, tell)]
    for shard in range(1, settings.shards):
        found.append(made(settings, access, clock, tell, shard, found[0].lease))
    for own in found:
        others = [one.lease for one in found if one is not own]
        own.lease.held_beside = lambda others=others: sum(one.leads for one in others)  # type: ignore[misc]
    return tuple(found)


async def live(operator: Operator, stop: asyncio.Event) -> None:
    """Run rounds until stopped."""
    interval_s = operator.settings.interval_s
    while not stop.is_set():
        began = time.monotonic()
        await operator.turn()
        pause_s = interval_s if operator.state.leads else min(2.0, interval_s)
        with suppress(TimeoutError):
            left_s = max(0.05, pause_s - (time.monotonic() - began))
            await asyncio.wait_for(stop.wait(), left_s)


async def ended(operator: Operator) -> None:
    """Everything of it has stopped; another operator may take its lease."""
    await operator.healing.close()
    await operator.engines.stop()
    with suppress(Exception):  # it runs out by itself
        await operator.lease.release()
    await operator.lease.cluster.close()
    await operator.cluster.close()


async def run(operators: Sequence[Operator]) -> int:
    """Run until SIGINT or SIGTERM; 0 then. Errors: OSError where the port is taken."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for name in (signal.SIGINT, signal.SIGTERM):
        with suppress(NotImplementedError, RuntimeError, ValueError):
            loop.add_signal_handler(name, stop.set)

    def fired(alerts: list[FiringAlert]) -> None:
        for one in operators:
            one.fired(alerts)

    def own_page() -> str:
        causes = sum((one.open_causes() for one in operators), Counter[str]())
        return page(together(one.metrics() for one in operators), causes)

    settings = operators[0].settings
    door = Listening(
        settings.host,
        settings.port,
        own_page,
        lambda: "; ".join(why for one in operators if (why := one.ready())),
        fired,
        settings.alertmanager_token,
    )
    await door.start()
    leases = [one.lease for one in operators]
    background = [
        asyncio.create_task(work)
        for work in (
            *(lease.keep() for lease in leases),
            *(one.notifications.run() for one in operators),
            *([balance(leases)] if len(leases) > 1 else []),
        )
    ]
    stopped = asyncio.create_task(stop.wait())
    lives = [asyncio.create_task(live(one, stop)) for one in operators]
    try:
        await asyncio.wait([stopped, *background, *lives], return_when=asyncio.FIRST_COMPLETED)
        for task in (*background, *lives):
            if task.done():
                task.result()
        ended_lives, _ = await asyncio.wait(lives, timeout=ROUND_ENDS_S)
        for task in ended_lives:
            task.result()
    finally:
        stopped.cancel()
        for task in lives:
            task.cancel()
        await asyncio.gather(*lives, return_exceptions=True)
        await asyncio.gather(*(one.healing.close() for one in operators))
        for task in background:
            task.cancel()
        await asyncio.gather(*background, return_exceptions=True)
        await door.stop()
        await asyncio.gather(*(ended(one) for one in operators))
    return 0
