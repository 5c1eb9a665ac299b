"""One remedy from the first look to its end: plans, carries out, resumes. What the command line and the operator call."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

import yaml

from barostat.core.errors import InputError, OutsideError
from barostat.core.limits import API_VERSION, KIND, LimitsSpec, RemedyLimits, ServingLimits
from barostat.io import limits_file
from barostat.io.clock import Clock
from barostat.io.kubernetes.cluster import Cluster
from barostat.io.kubernetes.failures import Failed
from barostat.io.kubernetes.live import Options
from barostat.io.kubernetes.resources import CONFIG_MAPS
from barostat.io.limits_schema import fields_of
from barostat.io.remedy import facts as reading
from barostat.io.remedy.confirming import confirming, with_patience
from barostat.io.remedy.driver import Ask, Driver, Tell, new_holder
from barostat.io.remedy.ground import Ground, Pace
from barostat.io.remedy.home import LIMITS_KEY, limits_name
from barostat.io.remedy.measuring import before
from barostat.io.remedy.store import Store
from barostat.judge.remedy_facts import facts
from barostat.judge.remedy_plan import NoPlan, Planned, Wish, limits_after, plan_for
from barostat.judge.remedy_scene import Seen
from barostat.platform.objects import text
from barostat.remedy.plan import Plan
from barostat.remedy.precheck import Facts
from barostat.remedy.state import Aborted, Began, Event, Resumed, State

KNOWN = frozenset(
    f"{key}.{inner}"
    for key, (_, kind) in fields_of(LimitsSpec).items()
    if key in ("request", "engine", "capacity", "edge")
    for inner in fields_of(kind)
)
"""Paths that a limits file has a place for; other flags of the engine are not its business."""


def new_id(name: str) -> str:
    """An id that no other incident has, and that fits into the names of what belongs to it."""
    return f"{name[:28].strip('-.').replace('.', '-')}-{uuid.uuid4().hex[:6]}"


@dataclass(slots=True)
class Campaign:
    """One target in one cluster."""

    cluster: Cluster
    namespace: str
    name: str
    options: Options
    clock: Clock
    tell: Tell
    limits: ServingLimits | None = None
    pace: Pace = field(default_factory=Pace)
    _seen: Seen | None = None

    async def look(self) -> Seen:
        """The target and all around it. Errors: InputError, OutsideError."""
        self._seen = await reading.see(self.cluster, self.namespace, self.name, self.options, self.clock, lambda _: None)
        return self._seen

    async def held_limits(self) -> ServingLimits | None:
        """The limits that the cluster holds for the target, or those that were given.

        Errors: InputError for a ConfigMap that cannot be read as limits; OutsideError where it is not known whether there is one.
        """
        if self.limits is not None:
            return self.limits
        found = await self.cluster.get(CONFIG_MAPS, limits_name(self.name), self.namespace)
        if isinstance(found, Failed) and found.kind != "not-found":
            raise found.error()
        held = "" if isinstance(found, Failed) else text(found, "data", LIMITS_KEY)
        return limits_file.parse(held, f"configmap {limits_name(self.name)}") if held else None

    async def plan(self, seen: Seen, wish: Wish) -> tuple[Planned | NoPlan, str]:
        """The plan, and the limits file that will hold once it is in force. Errors: InputError, OutsideError."""
        held = await self.held_limits()
        earlier: list[State] = []
        with suppress(OutsideError):  # the facts tell that they could not be read
            earlier, _ = await Store(self.cluster, self.namespace).every(self.name)
        made = plan_for(seen, wish, held, earlier)
        if isinstance(made, NoPlan):
            return made, ""
        window = seen.windows()[made.replica.name]
        return made, _limits_text(limits_after(made.plan, made.replica, window, held), held, made, self.name)

    async def facts(self, plan: Plan, seen: Seen | None = None) -> Facts:
        """The facts for that plan: made anew unless a look is given. Errors: InputError, OutsideError."""
        seen = seen or await self.look()
        held = await self.held_limits()
        unread = ""
        earlier = None
        try:
            earlier, _ = await Store(self.cluster, self.namespace).every(self.name)
        except OutsideError as error:
            unread = str(error)
        return facts(seen, plan, earlier, held.spec.remedy if held is not None else RemedyLimits(), unread)

    async def carry_out(self, plan: Plan, limits: str, ask: Ask | None) -> tuple[State, bool]:
        """(how it ended, whether a person stopped it). `ask`: None where the answer is yes already, or the plan needs none."""
        approved = ask is None and plan.autonomy != "act"
        return await self._drive(State(plan, approved=approved), limits, ask, Began(self.clock.now(), new_holder()))

    async def resume(self, state: State, limits: str, *, abort: str = "") -> tuple[State, bool]:
        """The same for an incident that another run began; `abort`: why it is taken back."""
        events: list[Event] = [Resumed(self.clock.now(), new_holder())]
        if abort:
            events.append(Aborted(self.clock.now(), abort))
        return await self._drive(state, limits, None, *events)

    async def _drive(self, state: State, limits: str, ask: Ask | None, *first: Event) -> tuple[State, bool]:
        state = replace(state, plan=with_patience(state.plan, self.options.for_s))
        ground = Ground(self.cluster, state.plan, self.clock, self.pace)
        before(ground, self._seen)

        async def once() -> Facts:
            found = await self.facts(state.plan)
            before(ground, self._seen)
            return found

        async def gather() -> Facts:
            return await confirming(once, state.plan, self.clock, self.tell)

        driver = Driver(ground, Store(self.cluster, self.namespace, self.pace), gather, limits, self.tell, ask)
        ended = await driver.run(state, *first)
        return ended, driver.stopped and not ended.ended


def _limits_text(found: Mapping[str, tuple[str, str]], held: ServingLimits | None, made: Planned, name: str) -> str:
    """The limits file with these numbers, each with its reason; what was held stays. Empty where there is no number for it."""
    known = {path: entry for path, entry in found.items() if path.removeprefix("spec.") in KNOWN}
    if not known:
        return ""
    document: dict[str, Any] = limits_file.as_document(held) if held is not None else {"apiVersion": API_VERSION, "kind": KIND, "spec": {}}
    spec = document["spec"]
    spec.setdefault("targetRef", {"apiVersion": "apps/v1", "kind": "Deployment", "name": name})
    because = document.setdefault("because", {})
    for path, (value, why) in known.items():
        parts = path.split(".")[1:]
        node = spec
        for part in parts[:-1]:
            node = node.setdefault(part, {})
        node[parts[-1]] = yaml.safe_load(value)
        because[path.removeprefix("spec.")] = f"incident {made.plan.id}, {made.plan.cause}: {why}"[:300]
    written = str(yaml.safe_dump(document, sort_keys=False, allow_unicode=True, width=140))
    try:
        limits_file.parse(written)
    except InputError:
        return ""
    return written
