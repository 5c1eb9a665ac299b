"""What can happen next: to the machine, to its requests, and in the world without us. Every event, in every order.

States of the machine, requests and worlds are kept once each and named by numbers; epochs, which only ever get compared, are kept as
ranks, so that any number of crashes stays finite.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Generic, NamedTuple, TypeVar

from tests.model import laws
from tests.model.cluster import (
    Broken,
    Claim,
    Request,
    Setting,
    Stray,
    World,
    drained,
    home_serving,
    is_done,
    perform,
    plain,
    rank,
    settle,
    starts,
)

from barostat.core.change import Change, pressure_relieved
from barostat.remedy.acts import (
    READS,
    Act,
    AwaitDrained,
    AwaitHome,
    AwaitSpare,
    Conflict,
    Done,
    Failed,
    Gather,
    Judged,
    Lost,
    Observe,
    Outcome,
    PickReplica,
    PickSurplus,
    PodRef,
    Refused,
)
from barostat.remedy.machine import current, step
from barostat.remedy.plan import Bounds, Plan, Target
from barostat.remedy.precheck import Facts
from barostat.remedy.state import Aborted, Answer, Answered, Began, Do, Event, Gathered, Resumed, State, Tick, WriteRecord

Value = TypeVar("Value")
OUTCOMES: tuple[Outcome, ...] = ("better", "worse", "inconclusive")
LATE = 1e12
KEY = "due"
AGAIN = 3
"""Plans that are tried one after the other: each lever once, and the first once more, which the budget must refuse."""


Node = tuple[int, int, bool, int]
"""Where machine and world stand, by number: the machine, what it has sent, whether that took effect, the world. Nothing sent: -1."""


class Moved(NamedTuple):
    """What an event makes of a machine, by number: the machine after it, what it sends (-1: nothing), whether its epoch is a new one."""

    machine: int
    sent: int
    renewed: bool


def plan_of(setting: Setting, number: int) -> Plan:
    """The plan that is tried as that number."""
    lever = setting.levers[number % len(setting.levers)]
    return Plan(
        id=f"i{number}",
        made_at=0.0,
        target=Target("apps/v1", "Deployment", "inference", "vllm", "u-1"),
        cause="kv-preemption-thrash",
        lever=lever,
        change=Change("replicas" if setting.strategy == "scale-out" else "argument", f"--{lever}", None, "1"),
        expectation=pressure_relieved(),
        strategy=setting.strategy,
        replicas=setting.replicas,
        serving=setting.replicas,
        floor=setting.replicas - 1,
        baseline=(("arrivals_per_s", 4.0),),
        template="as-found",
        because="the model",
        autonomy="act",
        bounds=Bounds(attempts=setting.attempts),
    )


def facts_of(world: World, setting: Setting) -> Facts:
    """What a look at that world says, with everything else in order."""
    return Facts(
        at=0.0,
        cause="kv-preemption-thrash",
        evidence_at=0.0,
        lever_fits=True,
        bad_nodes=(),
        rollout_age_s=1e9,
        template="as-found" if world.disturbed != "template" else "another",
        rollout_complete=True,
        replicas=world.replicas,
        serving=home_serving(world),
        spare_schedulable=True,
        quota_left=2,
        disruption_minimum=0,
        autoscaler="",
        owner="",
        separable=True,
        claim="" if world.claim is None else f"i{world.claim.plan}#{world.claim.epoch}",
        changes_last_hour=world.changes,
        changes_per_hour=setting.changes_per_hour,
        missing_rights=(),
    )


class Numbered(Generic[Value]):
    """Values, each kept once and named by a number."""

    def __init__(self) -> None:
        self.values: list[Value] = []
        self.numbers: dict[Value, int] = {}

    def number(self, value: Value) -> int:
        """The number of that value."""
        found = self.numbers.get(value)
        if found is None:
            found = self.numbers[value] = len(self.values)
            self.values.append(value)
        return found


class Moves:
    """Everything that can happen in one setting."""

    def __init__(self, setting: Setting) -> None:
        self.setting = setting
        self.plans = [plan_of(setting, number) for number in range(AGAIN)]
        self.machines: list[State] = []
        self.numbers: dict[object, int] = {}
        self.steps: dict[tuple[int, str, object], Moved] = {}
        self.sent: Numbered[Request | int] = Numbered()
        self.worlds: Numbered[World] = Numbered()
        self.lawful: dict[int, Broken] = {}
        self.around: dict[int, tuple[bool, list[tuple[str, int, Broken]]]] = {}
        self.performed: dict[tuple[int, int, int], tuple[int, Refused | Conflict | None, Broken]] = {}
        self.broken: Broken = ()
        self.checked: set[int] = set()

    # --- the machine, each state once

    def number(self, state: State) -> int:
        """The number of that state, without what only people read and without what only grows."""
        waiting = None if state.waiting is None else replace(state.waiting, key=KEY, until=0.0)
        flags = (state.recorded, state.committed, state.back, state.verified, state.claiming, state.approved, state.superseded)
        key: object = (state.plan.id, state.phase, state.cursor, state.undo, state.pods, waiting, bool(state.aborting), flags)
        if state.ended and not self.resumable(state):
            key = (state.plan.id, state.phase, state.superseded)
        found = self.numbers.get(key)
        if found is None:
            found = self.numbers[key] = len(self.machines)
            short = replace(state, timeline=(), conditions=(), epoch=1, revision=0, why="", waiting=waiting)
            self.machines.append(short)
        return found

    def move(self, machine: int, name: str, event: Event) -> Moved:
        """What the event makes of the machine. `name` is the event's, for the memory: each is worked out once."""
        known = (machine, name, event.facts if isinstance(event, Gathered) else None)
        cached = self.steps.get(known)
        if cached is None:
            state = self.machines[machine]
            after, commands = step(state, event)
            sent: list[Request | int] = []
            for command in commands:
                match command:
                    case WriteRecord(_, _, kept):
                        sent.append(self.number(kept))
                    case Do(_, _, act, home, pod):
                        sent.append(Request(act, pod.name if pod else "", home))
            assert len(sent) <= 1, "one thing is outstanding at a time"
            cached = Moved(self.number(after), self.sent.number(sent[0]) if sent else -1, after.epoch > state.epoch)
            self.steps[known] = cached
        return cached

    def check_machine(self, machine: int) -> Broken:
        """L5 and L6, as far as they are about the machine alone: silence ends it, and an answer to something else changes nothing."""
        if machine in self.checked:
            return ()
        state = self.machines[machine]
        for answer in (Done(), Refused("late"), Lost("late"), Judged("better")):
            if step(state, Answered(0.0, "another", answer)) != (state, ()):
                return ("L6: an answer to something that is not outstanding changes the state",)
        path: list[int] = []
        while machine not in self.checked:
            path.append(machine)
            state = self.machines[machine]
            if state.ended:
                break
            event: Event = Tick(LATE) if state.waiting is not None else (Began(0.0) if state.phase == "Confirming" else Resumed(0.0))
            name = "tick" if state.waiting is not None else type(event).__name__
            following = self.move(machine, name, event).machine
            if following in path:
                act = current(state)
                return (f"L5: when nothing answers, {type(act).__name__ if act else state.phase} never ends",)
            machine = following
        self.checked.update(path)
        return ()

    # --- what can happen next

    def resumable(self, state: State) -> bool:
        """True for what was handed off, where a person may have it resumed."""
        return self.setting.resumes and state.phase == "HandedOff" and state.ended and not state.superseded

    def world(self, world: World) -> int:
        """The number of that world, as `plain` makes it."""
        return self.worlds.number(plain(world))

    def following(self, node: Node) -> Iterator[tuple[str, Node]]:
        """Everything that can happen next, each with its name. Broken laws are left in `broken`."""
        machine, out, arrived, at = node
        state = self.machines[machine]
        for name, after, broken in self.surroundings(at)[1]:
            self.broken += broken
            yield name, (machine, out, arrived, after)
        if self.resumable(state):
            yield self.hear(node, "a person has it resumed", "Resumed", Resumed(0.0))
        if state.ended:
            yield from self.next_plan(node, state)
            return
        if state.waiting is None:
            fresh = self.worlds.values[at].record < 0
            event: Event = Began(0.0) if fresh else Resumed(0.0)
            yield self.hear(node, "the run begins" if fresh else "another run resumes", type(event).__name__, event)
            return
        if self.setting.aborts and not (state.back or state.committed or state.aborting):
            yield self.hear(node, "a person ends it", "abort", Aborted(0.0))
        if self.setting.crashes:
            yield self.crash(node, state)
        if state.waiting.kind in ("record", "final"):
            yield from self.recording(node)
        elif state.waiting.kind == "act":
            yield from self.acting(node)
        else:
            yield self.hear(node, "time passes", "tick", Tick(LATE))

    def surroundings(self, at: int) -> tuple[bool, list[tuple[str, int, Broken]]]:
        """(whether that world is at rest, what can happen in it without us): controllers, starts, other people, a stray request."""
        known = self.around.get(at)
        if known is not None:
            return known
        world = self.worlds.values[at]
        moves: list[tuple[str, int, Broken]] = []
        settled, broken = settle(world)
        if settled != world:
            moves.append(("the controllers act", self.world(settled), broken))
        else:
            moves += [(name, self.world(after), ()) for name, after in starts(world, self.setting)]
        rest = not moves
        if world.stray is not None:
            claim, request = world.stray
            after, _ = perform(world, self.setting, claim, request, self.plans[claim.plan].lever)
            broken = laws.of_act(world, after, self.setting, None, None, request, stray=True) if after != world else ()
            moves.append((f"from the dead run: {says(request.act)}", self.world(after._replace(stray=None)), broken))
        for kind in () if world.disturbed else self.setting.others:
            disturbed = world._replace(disturbed=kind)
            if kind == "template":
                moves.append(("somebody changes home's template", self.world(disturbed), ()))
            elif kind == "scale":
                moves.append(("somebody scales home up", self.world(disturbed._replace(replicas=world.replicas + 1)), ()))
            elif kind == "claim" and world.claim is not None:
                moves.append(("somebody takes our claim off", self.world(disturbed._replace(claim=None)), ()))
            elif kind == "rival" and world.claim is None:
                moves.append(("another incident claims home", self.world(disturbed._replace(claim=Claim(-1, 0))), ()))
        self.around[at] = rest, moves
        return self.around[at]

    def hear(self, node: Node, said: str, name: str, event: Event) -> tuple[str, Node]:
        """The machine hears of that event, and sends what it sends."""
        machine, out, arrived, at = node
        moved = self.move(machine, name, event)
        if isinstance(event, Gathered | Resumed) or name == "better":
            world = self.worlds.values[at]
            state = self.machines[moved.machine]
            if isinstance(event, Resumed):
                world = world._replace(epoch=world.epoch + moved.renewed, acted=False)
            elif name == "better":
                world = world._replace(told_proved=True)
            elif state.phase not in ("Refused", "Confirming"):
                world = world._replace(told_confirmed=True)
            at = self.world(world)
        after = self.machines[moved.machine]
        if after.ended and not self.resumable(after):
            return said, (moved.machine, -1, False, self.world(_over(self.worlds.values[at])))
        if moved.sent >= 0:
            return said, (moved.machine, moved.sent, False, at)
        kept = self.machines[moved.machine].waiting is not None
        return said, (moved.machine, out if kept else -1, arrived and kept, at)

    def told(self, node: Node, said: str, name: str, answer: Answer) -> tuple[str, Node]:
        """The machine hears that answer to what is outstanding."""
        return self.hear(node, said, name, Answered(0.0, KEY, answer))

    def next_plan(self, node: Node, state: State) -> Iterator[tuple[str, Node]]:
        """After one that was taken back the next lever is tried."""
        number = self.plans.index(state.plan) + 1
        if state.phase != "RolledBack" or state.superseded or number >= len(self.plans):
            return
        world = self.worlds.values[node[3]]
        world = _over(world)._replace(epoch=1, parents=(*world.parents, world.ended))
        yield "the next plan", (self.number(State(self.plans[number])), -1, False, self.world(world))

    def crash(self, node: Node, state: State) -> tuple[str, Node]:
        """The program is killed; what it had sent may still arrive. The next one starts from the record."""
        _, out, arrived, at = node
        world = self.worlds.values[at]
        stray = world.stray
        request = self.sent.values[out] if out >= 0 and not arrived else None
        if self.setting.strays and isinstance(request, Request) and not isinstance(request.act, READS):
            stray = Stray(Claim(self.plans.index(state.plan), world.epoch), request)
        machine = world.record if world.record >= 0 else self.number(State(state.plan))
        after = self.machines[machine]
        if after.ended and not self.resumable(after):
            world = _over(world)
        return "the program is killed", (machine, -1, False, self.world(world._replace(stray=stray, acted=False)))

    def recording(self, node: Node) -> Iterator[tuple[str, Node]]:
        """A record is on its way."""
        machine, out, arrived, at = node
        if arrived:
            yield self.told(node, "the record is acknowledged", "done", Done())
        else:
            record = self.sent.values[out]
            assert isinstance(record, int)
            world = self.worlds.values[at]
            written = self.world(world._replace(record=record, record_epoch=world.epoch))
            yield "the record is written", (machine, out, True, written)
            yield self.told(node, "the record is refused", "refused", Refused("no"))
        yield self.told(node, "no answer", "lost", Lost("nothing came"))

    def acting(self, node: Node) -> Iterator[tuple[str, Node]]:
        """An act is on its way, or under way."""
        machine, out, arrived, at = node
        request = self.sent.values[out]
        assert isinstance(request, Request)
        act = request.act
        if isinstance(act, READS):
            yield from self.reading(node, request)
            return
        if arrived:
            if is_done(self.worlds.values[at], act, request.pod):
                yield self.told(node, "done", "done", Done())
        else:
            after, denied, broken = self.arrival(machine, out, at, request)
            if denied is not None:
                yield self.told(node, f"{says(act)}: {denied.why}", type(denied).__name__, denied)
            else:
                self.broken += broken
                yield says(act), (machine, out, True, after)
                yield self.told(node, f"{says(act)} is refused", "refused", Refused("no"))
        yield self.told(node, "no answer", "lost", Lost("nothing came"))

    def arrival(self, machine: int, out: int, at: int, request: Request) -> tuple[int, Refused | Conflict | None, Broken]:
        """What the request makes of the world, why it does not, and the laws that it breaks."""
        known = self.performed.get((machine, out, at))
        if known is not None:
            return known
        world, state = self.worlds.values[at], self.machines[machine]
        claim = Claim(self.plans.index(state.plan), world.epoch)
        after, denied = perform(world, self.setting, claim, request, state.plan.lever)
        broken: Broken = ()
        if denied is None and after != world:
            if perform(after, self.setting, claim, request, state.plan.lever)[0] != after:
                broken = ("L6: the same act again changes the world again",)
            record = self.machines[world.record] if world.record >= 0 else None
            broken += laws.of_act(world, after, self.setting, state, record, request, stray=False)
            after = after._replace(acted=True)
        found = self.performed[machine, out, at] = self.world(after), denied, broken
        return found

    def reading(self, node: Node, request: Request) -> Iterator[tuple[str, Node]]:
        """A look, or a wait."""
        machine, out, arrived, at = node
        world, act = self.worlds.values[at], request.act
        match act:
            case Gather():
                good = facts_of(world, self.setting)
                unread, against = replace(good, owner=None), replace(good, owner="Helm")
                for name, facts in (("the facts are in", good), ("a fact is unread", unread), ("a fact is against it", against)):
                    yield self.hear(node, name, "facts", Gathered(0.0, KEY, facts))
            case Observe():
                for outcome in OUTCOMES:
                    yield self.told(node, f"judged {outcome}", outcome, Judged(outcome))
            case PickReplica():
                able = [pod for pod in world.pods if pod.owner == "home" and pod.serves and pod.listed]
                for pod in {pod.version: pod for pod in reversed(able)}.values():
                    yield self.told(node, f"{pod.name} is picked", f"pick {pod.name}", Done(PodRef(pod.name, "")))
                yield self.told(node, "none can be picked", "refused", Refused("none"))
            case PickSurplus(_, over):
                owned = sorted((pod for pod in world.pods if pod.owner == "home"), key=rank)
                done = Done(PodRef(owned[0].name, "")) if len(owned) > over else Done()
                yield self.told(node, f"surplus: {done.pod.name if done.pod else 'none'}", f"pick {done.pod and done.pod.name}", done)
            case AwaitDrained(slot):
                if is_done(world, act, request.pod):
                    gone = (machine, out, arrived, self.world(drained(world, request.pod)))
                    yield self.told(gone, f"{slot} is drained", "done", Done())
                    yield self.hear(gone, f"{slot} is not drained in time", "tick", Tick(LATE))
                return
            case AwaitSpare() | AwaitHome():
                if is_done(world, act, ""):
                    ref = PodRef(f"s{act.index}", "") if isinstance(act, AwaitSpare) else None
                    yield self.told(node, f"{says(act)}: Ready", "done", Done(ref))
                else:
                    yield self.told(node, f"{says(act)}: it will not be", "failed", Failed("a crash loop"))
                yield self.hear(node, f"{says(act)}: late", "tick", Tick(LATE))
        yield self.told(node, "no answer", "lost", Lost("nothing came"))

    def check_world(self, at: int) -> Broken:
        """The laws that this world breaks."""
        known = self.lawful.get(at)
        if known is None:
            known = self.lawful[at] = laws.of_world(self.worlds.values[at], self.setting)
        return known


def _over(world: World) -> World:
    """The same without what only a run that goes on would look at."""
    return world._replace(record=-1, record_epoch=0, epoch=0, told_confirmed=False, told_proved=False, acted=False)


def says(act: Act) -> str:
    """The act in a word and its numbers."""
    values = " ".join(str(getattr(act, name)) for name in act.__dataclass_fields__)
    return f"{type(act).__name__} {values}".strip()
