"""What can happen next: to the machine, to its requests, and in the world without us. Every event,
in every order.

States of the machine, requests and worlds are kept once each and named by numbers; epochs, which
only ever get compared, are kept as ranks, so that any number of crashes stays finite.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from tests.model import laws
from tests.model.cluster import (
    OLD,
    Broken,
    Claim,
    Request,
    Setting,
    Stray,
    World,
    as_found_next,
    drained,
    free_gpus,
    given_up,
    perform,
    plain,
    rank,
    starts,
)
from tests.model.kinds import is_done, own_acts, settle
from tests.model.machines import KEY, LATE, Machines, Numbered
from tests.model.ordinals import place_of, unit
from tests.model.plans import AGAIN, facts_of, first_state, plan_of

from barostat.remedy.acts import (
    READS,
    Act,
    AwaitCalm,
    AwaitCanary,
    AwaitDrained,
    AwaitHome,
    AwaitRolled,
    AwaitSpare,
    AwaitUnit,
    Conflict,
    Done,
    Failed,
    Gather,
    Judged,
    KeepPrevious,
    Lost,
    Observe,
    Outcome,
    PickReplica,
    PickSurplus,
    PickUnit,
    PodRef,
    Refused,
    TightenGateway,
)
from barostat.remedy.state import (
    Aborted,
    Answer,
    Answered,
    Began,
    Event,
    Gathered,
    Resumed,
    State,
    Tick,
)

OUTCOMES: tuple[Outcome, ...] = ("better", "worse", "inconclusive")
RENEWS = (Observe, AwaitCalm)
"""Acts during which a limit at the gateway is renewed."""
Node = tuple[int, int, bool, int]
"""Where machine and world stand, by number: the machine, what it has sent, whether that took
effect, the world. Nothing sent: -1.
"""


class Moves:
    """Everything that can happen in one setting."""

    def __init__(self, setting: Setting) -> None:
        self.setting = setting
        self.own = own_acts(setting)
        self.plans = [plan_of(setting, number) for number in range(AGAIN)]
        self.machines = Machines(setting)
        self.worlds: Numbered[World] = Numbered()
        self.lawful: dict[int, Broken] = {}
        self.around: dict[int, tuple[bool, list[tuple[str, int, Broken]]]] = {}
        self.performed: dict[
            tuple[int, int, int], tuple[int, Refused | Conflict | None, Broken]
        ] = {}
        self.broken: Broken = ()

    def world(self, world: World) -> int:
        """The number of that world, as `plain` makes it."""
        return self.worlds.number(plain(world))

    def following(self, node: Node) -> Iterator[tuple[str, Node]]:
        """Everything that can happen next, each with its name. Broken laws are left in `broken`."""
        machine, out, arrived, at = node
        state = self.machines.states[machine]
        for name, after, broken in self.surroundings(at)[1]:
            self.broken += broken
            yield name, (machine, out, arrived, after)
        if self.machines.resumable(state):
            yield self.hear(node, "a person has it resumed", "Resumed", Resumed(0.0))
        if state.ended:
            yield from self.next_plan(node, state)
            return
        if state.waiting is None:
            fresh = self.worlds.values[at].record < 0
            event: Event = Began(0.0) if fresh else Resumed(0.0)
            yield self.hear(
                node,
                "the run begins" if fresh else "another run resumes",
                type(event).__name__,
                event,
            )
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
        """(whether that world is at rest, what can happen in it without us): controllers, starts,
        other people, a stray request.
        """
        known = self.around.get(at)
        if known is not None:
            return known
        world = self.worlds.values[at]
        moves: list[tuple[str, int, Broken]] = []
        settled, broken = settle(world, self.setting)
        if settled != world:
            moves.append(("the controllers act", self.world(settled), broken))
        else:
            moves += [(name, self.world(after), ()) for name, after in starts(world, self.setting)]
        rest = not moves
        if world.edge is not None:
            moves.append(
                (
                    "the lease runs out, or the gateway starts anew",
                    self.world(world._replace(edge=None)),
                    (),
                )
            )
        if world.stray is not None:
            claim, request = world.stray
            after, _ = perform(
                world, self.setting, claim, request, self.plans[claim.plan].lever, self.own
            )
            broken = (
                laws.of_act(world, after, self.setting, None, None, request, stray=True)
                if after != world
                else ()
            )
            moves.append(
                (
                    f"from the dead run: {says(request.act)}",
                    self.world(after._replace(stray=None)),
                    broken,
                )
            )
        if world.kept:
            over = world._replace(kept="")
            moves.append(("the time of the kept unit is over", self.world(over), ()))
        for kind in () if world.disturbed else self.setting.others:
            disturbed = world._replace(disturbed=kind)
            if kind == "template":
                moves.append(("somebody changes home's template", self.world(disturbed), ()))
            elif kind == "scale":
                moves.append(
                    (
                        "somebody scales home up",
                        self.world(disturbed._replace(replicas=world.replicas + 1)),
                        (),
                    )
                )
            elif kind == "claim" and world.claim is not None:
                moves.append(
                    ("somebody takes our claim off", self.world(disturbed._replace(claim=None)), ())
                )
            elif kind == "gpu" and free_gpus(world, self.setting) > 0:
                moves.append(("somebody takes a free GPU", self.world(disturbed), ()))
            elif kind == "rival" and world.claim is None:
                moves.append(
                    (
                        "another incident claims home",
                        self.world(disturbed._replace(claim=Claim(-1, 0))),
                        (),
                    )
                )
        self.around[at] = rest, moves
        return self.around[at]

    def hear(self, node: Node, said: str, name: str, event: Event) -> tuple[str, Node]:
        """The machine hears of that event, and sends what it sends."""
        machine, out, arrived, at = node
        moved = self.machines.move(machine, name, event)
        if isinstance(event, Gathered | Resumed) or name == "better":
            world = self.worlds.values[at]
            state = self.machines.states[moved.machine]
            if isinstance(event, Resumed):
                world = world._replace(epoch=world.epoch + moved.renewed, acted=False)
            elif name == "better":
                world = world._replace(told_proved=True)
            elif state.phase not in ("Refused", "Confirming"):
                world = world._replace(told_confirmed=True)
            at = self.world(world)
        after = self.machines.states[moved.machine]
        if after.ended and not self.machines.resumable(after):
            return said, (moved.machine, -1, False, self.world(_over(self.worlds.values[at])))
        if moved.sent >= 0:
            return said, (moved.machine, moved.sent, False, at)
        kept = self.machines.states[moved.machine].waiting is not None
        return said, (moved.machine, out if kept else -1, arrived and kept, at)

    def told(self, node: Node, said: str, name: str, answer: Answer) -> tuple[str, Node]:
        """The machine hears that answer to what is outstanding."""
        return self.hear(node, said, name, Answered(0.0, KEY, answer))

    def next_plan(self, node: Node, state: State) -> Iterator[tuple[str, Node]]:
        """After one that was taken back the next lever is tried. Where the first plan keeps a unit,
        the second one comes after it is done.
        """
        number = self.plans.index(state.plan) + 1
        if self.setting.keeps:
            if state.phase == "Done" and not state.superseded and number == 1:
                world = as_found_next(self.worlds.values[node[3]], state.plan.lever)
                yield from self.planned(world, number)
            return
        if state.phase != "RolledBack" or state.superseded or number >= len(self.plans):
            return
        yield from self.planned(self.worlds.values[node[3]], number)

    def planned(self, world: World, number: int) -> Iterator[tuple[str, Node]]:
        """The plan of that number is made in that world."""
        world = _over(world)._replace(epoch=1, parents=(*world.parents, world.ended))
        yield (
            "the next plan",
            (self.machines.number(first_state(self.plans[number])), -1, False, self.world(world)),
        )

    def crash(self, node: Node, state: State) -> tuple[str, Node]:
        """The program is killed; what it had sent may still arrive. The next one starts from the
        record.
        """
        _, out, arrived, at = node
        world = self.worlds.values[at]
        stray = world.stray
        request = self.machines.sent.values[out] if out >= 0 and not arrived else None
        if (
            isinstance(request, Request)
            and isinstance(request.act, RENEWS)
            and state.plan.edge is not None
        ):
            request = replace_act(request)
        if (
            self.setting.strays
            and isinstance(request, Request)
            and not isinstance(request.act, READS)
        ):
            stray = Stray(Claim(self.plans.index(state.plan), world.epoch), request)
        machine = (
            world.record if world.record >= 0 else self.machines.number(first_state(state.plan))
        )
        after = self.machines.states[machine]
        if after.ended and not self.machines.resumable(after):
            world = _over(world)
        return "the program is killed", (
            machine,
            -1,
            False,
            self.world(world._replace(stray=stray, acted=False)),
        )

    def recording(self, node: Node) -> Iterator[tuple[str, Node]]:
        """A record is on its way."""
        machine, out, arrived, at = node
        if arrived:
            yield self.told(node, "the record is acknowledged", "done", Done())
        else:
            record = self.machines.sent.values[out]
            assert isinstance(record, int)
            world = self.worlds.values[at]
            written = self.world(world._replace(record=record, record_epoch=world.epoch))
            yield "the record is written", (machine, out, True, written)
            yield self.told(node, "the record is refused", "refused", Refused("no"))
        yield self.told(node, "no answer", "lost", Lost("nothing came"))

    def acting(self, node: Node) -> Iterator[tuple[str, Node]]:
        """An act is on its way, or under way."""
        machine, out, arrived, at = node
        request = self.machines.sent.values[out]
        assert isinstance(request, Request)
        act = request.act
        if isinstance(act, READS):
            yield from self.reading(node, request)
            return
        if arrived:
            if is_done(self.worlds.values[at], self.setting, act, request.pod):
                pod = PodRef("w0", "") if isinstance(act, KeepPrevious) else None
                yield self.told(node, "done", "done", Done(pod))
            elif isinstance(act, KeepPrevious):
                world = self.worlds.values[at]
                plan = self.plans.index(self.machines.states[machine].plan)
                gone = self.world(given_up(world, Claim(plan, world.epoch)))
                without = (machine, out, arrived, gone)
                yield self.told(without, "no node takes it", "refused", Refused("no node"))
        else:
            after, denied, broken = self.arrival(machine, out, at, request)
            if denied is not None:
                yield self.told(node, f"{says(act)}: {denied.why}", type(denied).__name__, denied)
            else:
                self.broken += broken
                yield says(act), (machine, out, True, after)
                yield self.told(node, f"{says(act)} is refused", "refused", Refused("no"))
        yield self.told(node, "no answer", "lost", Lost("nothing came"))

    def arrival(
        self, machine: int, out: int, at: int, request: Request
    ) -> tuple[int, Refused | Conflict | None, Broken]:
        """What the request makes of the world, why it does not, and the laws that it breaks."""
        known = self.performed.get((machine, out, at))
        if known is not None:
            return known
        world, state = self.worlds.values[at], self.machines.states[machine]
        claim = Claim(self.plans.index(state.plan), world.epoch)
        after, denied = perform(world, self.setting, claim, request, state.plan.lever, self.own)
        broken: Broken = ()
        if denied is None and after != world:
            if perform(after, self.setting, claim, request, state.plan.lever, self.own)[0] != after:
                broken = ("L6: the same act again changes the world again",)
            record = self.machines.states[world.record] if world.record >= 0 else None
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
                for name, facts in (
                    ("the facts are in", good),
                    ("a fact is unread", unread),
                    ("a fact is against it", against),
                ):
                    yield self.hear(node, name, "facts", Gathered(0.0, KEY, facts))
            case Observe() | AwaitCalm() if self.setting.strategy == "edge-live":
                yield from self.held(node, request)
            case Observe():
                for outcome in OUTCOMES:
                    yield self.told(node, f"judged {outcome}", outcome, Judged(outcome))
            case PickReplica():
                able = [
                    pod for pod in world.pods if pod.owner == "home" and pod.serves and pod.listed
                ]
                for pod in {pod.version: pod for pod in reversed(able)}.values():
                    yield self.told(
                        node,
                        f"{pod.name} is picked",
                        f"pick {pod.name}",
                        Done(PodRef(pod.name, "")),
                    )
                yield self.told(node, "none can be picked", "refused", Refused("none"))
            case PickSurplus(_, over):
                by = (lambda pod: -place_of(pod)) if self.setting.rolls == "ordinals" else rank
                owned = sorted((pod for pod in world.pods if pod.owner == "home"), key=by)
                done = Done(PodRef(owned[0].name, "")) if len(owned) > over else Done()
                yield self.told(
                    node,
                    f"surplus: {done.pod.name if done.pod else 'none'}",
                    f"pick {done.pod and done.pod.name}",
                    done,
                )
            case AwaitDrained(slot):
                if is_done(world, self.setting, act, request.pod):
                    gone = (machine, out, arrived, self.world(drained(world, request.pod)))
                    yield self.told(gone, f"{slot} is drained", "done", Done())
                    yield self.hear(gone, f"{slot} is not drained in time", "tick", Tick(LATE))
                return
            case PickUnit(_, place, changed):
                found = unit(world, place)
                if found is not None or place >= world.replicas:
                    fits = found is not None and (not changed or found.version != OLD)
                    named = found.name if found is not None and fits else "none"
                    done = Done(PodRef(named, "")) if fits else Done()
                    yield self.told(node, f"unit {place}: {named}", f"pick {named}", done)
                yield self.hear(node, f"{says(act)}: late", "tick", Tick(LATE))
            case AwaitSpare() | AwaitHome() | AwaitUnit() | AwaitCanary() | AwaitRolled():
                if is_done(world, self.setting, act, ""):
                    ref = _named(world, act)
                    ready = f"done {ref.name}" if ref is not None else "done"
                    yield self.told(node, f"{says(act)}: Ready", ready, Done(ref))
                else:
                    yield self.told(
                        node, f"{says(act)}: it will not be", "failed", Failed("a crash loop")
                    )
                yield self.hear(node, f"{says(act)}: late", "tick", Tick(LATE))
        yield self.told(node, "no answer", "lost", Lost("nothing came"))

    def held(self, node: Node, request: Request) -> Iterator[tuple[str, Node]]:
        """What is watched while the gateway holds the limit: it is renewed, then something comes of
        it.
        """
        machine, out, arrived, at = node
        world = self.worlds.values[at]
        if world.edge is None or world.edge.epoch != world.epoch:
            after, denied, broken = self.arrival(
                machine, self.machines.sent.number(replace_act(request)), at, replace_act(request)
            )
            if denied is None:
                self.broken += broken
                yield "the limit is renewed", (machine, out, arrived, after)
            else:
                yield self.told(
                    node, f"{says(request.act)}: {denied.why}", type(denied).__name__, denied
                )
        elif isinstance(request.act, AwaitCalm):
            yield self.told(node, "the load is gone", "done", Done())
            yield self.hear(node, "the load is not gone in time", "tick", Tick(LATE))
        else:
            for outcome in OUTCOMES:
                yield self.told(node, f"judged {outcome}", outcome, Judged(outcome))

    def check_world(self, at: int) -> Broken:
        """The laws that this world breaks."""
        known = self.lawful.get(at)
        if known is None:
            known = self.lawful[at] = laws.of_world(self.worlds.values[at], self.setting)
        return known


def _over(world: World) -> World:
    """The same without what only a run that goes on would look at."""
    return world._replace(
        record=-1, record_epoch=0, epoch=0, told_confirmed=False, told_proved=False, acted=False
    )


def _named(world: World, act: Act) -> PodRef | None:
    """The pod that the answer to a wait names."""
    match act:
        case AwaitSpare(index):
            return PodRef(f"s{index}", "")
        case AwaitCanary():
            return PodRef("c0", "")
        case AwaitUnit(_, place):
            found = unit(world, place)
            return PodRef(found.name, "") if found is not None else None
    return None


def replace_act(request: Request) -> Request:
    """The renewal of the limit, as whoever watches it sends it."""
    return request._replace(act=TightenGateway())


def says(act: Act) -> str:
    """The act in a word and its numbers."""
    values = " ".join(str(getattr(act, name)) for name in act.__dataclass_fields__)
    return f"{type(act).__name__} {values}".strip()
