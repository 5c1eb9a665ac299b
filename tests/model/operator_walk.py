"""Every sequence of a few events after the first harm, through the operator's step: what the world
sees of it must keep the laws, whatever the operator remembers.

O1   an operator without the lease does nothing but stop what runs
O2   observe asks for nothing; recommend asks for plans only
O3   at most one remedy of a workload at a time
O4   a look that failed opens, changes and ends nothing
O5   at most one open incident of a workload, also after a crash
O6   the changes within an hour stay within the budget
O7   after two remedies that did not help, no third one of the same day, also after a crash
O8   a switch that is off stops what runs and lets nothing begin; the incident says that what was cut
     off waits
O9   an incident ends after two minutes without harm, not before, and says when
O10  outside the quiet hours, by the clock on the wall, no remedy may restart anything
O11  a remedy that was cut off is gone on with, not begun anew
O12  the third incident of one cause within a week says what prevents the next; none is forgotten
     within 30 days
O13  an incident after a remedy that was verified ends as healed, whatever is refused later

The world keeps its own account of times, remedies and incidents. It knows nothing of the operator's
state.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import product

from barostat.operator.incident import IncidentPlan, IncidentTarget, PressureIncident, rfc3339
from barostat.operator.policy import Policy, quiet_hours
from barostat.operator.step import (
    BREAKER_S,
    CALM_S,
    DID_NOT_HELP,
    RETENTION_S,
    RETRY_S,
    Command,
    Forget,
    Harm,
    Heal,
    Keep,
    Key,
    OperatorState,
    Outcome,
    Plan,
    RemedyEnded,
    Seen,
    StopHealing,
    TargetSeen,
    step,
)

KEY = Key("inference", "Deployment", "vllm")
TARGET = IncidentTarget("apps/v1", "Deployment", "vllm", "u1")
HARM = Harm("kv-preemption-thrash", "warning", "8/s", plan=IncidentPlan("edge", "edge: 4096"))
HOUR_S = 3600.0
BUDGET = 2
NIGHT = quiet_hours("0 2 * * * 4h")
AT_THREE = 1_790_046_000.0
"""An instant at 03:00 UTC."""

OUTCOMES: tuple[Outcome, ...] = (
    "verified", "taken-back", "refused", "inconclusive", "stopped",
)  # fmt: skip
MOVES = (
    "harm", "well", "calm", "blind", "gone", "lease lost", "crash", "object off", "all off", "observe",
    "hours", "a day", "clock set", *OUTCOMES,
)  # fmt: skip


class Broken(Exception):
    """A law does not hold."""


@dataclass
class World:
    """What happened, as somebody beside the operator wrote it down."""

    autonomy: str
    now: float = AT_THREE
    set_by_s: float = 0.0
    """How far the clock on the wall was set since the start."""
    state: OperatorState = field(default_factory=OperatorState)
    kept: dict[str, PressureIncident] = field(default_factory=dict)
    planning: bool = False
    healing: bool = False
    cut_off: bool = False
    """A remedy was stopped or lost with its operator before it had an outcome."""
    verified: bool = False
    """A remedy of the incident was verified, and none after it did not help."""
    changed_at: list[float] = field(default_factory=list)
    failed_at: list[float] = field(default_factory=list)
    harmed_at: float = 0.0
    adopted_at: float = 0.0
    """When the operator that leads took over; it waits for two calm minutes of its own."""
    first_harms: list[float] = field(default_factory=list)

    def law(self, name: str, holds: bool, what: str) -> None:
        """Errors: Broken."""
        if not holds:
            raise Broken(f"{name}: {what}")

    def move(self, name: str) -> None:
        """The next event, and what the operator makes of it.

        Errors: Broken.
        """
        self.now += {"well": 10.0, "calm": CALM_S, "hours": 2 * HOUR_S, "a day": 25 * HOUR_S}.get(
            name, RETRY_S
        )
        if name == "clock set":
            self.set_by_s += 6 * HOUR_S
        if name == "lease lost":
            self._without_the_lease()
        elif name == "crash":
            self.state = OperatorState()
            self._forgets()
        else:
            self._step(name)

    def _without_the_lease(self) -> None:
        self.state, commands = step(self.state, Seen(False), self.now)
        self.law("O1", all(isinstance(one, StopHealing) for one in commands), f"{commands}")
        self._forgets()

    def _forgets(self) -> None:
        """What was asked for is lost with whoever asked."""
        self.cut_off = self.cut_off or self.healing
        self.healing = self.planning = False

    def _look(self, name: str) -> TargetSeen | None:
        autonomy = "observe" if name == "observe" else self.autonomy
        policy = Policy(autonomy, name == "object off", BUDGET, NIGHT)  # type: ignore[arg-type]
        harm = None if name in ("well", "calm", "blind") else HARM
        return (
            None
            if name == "gone"
            else TargetSeen(TARGET, policy, judged=name != "blind", harm=harm)
        )

    def _ended(self, name: str) -> tuple[RemedyEnded, ...]:
        """The outcome of the remedy that runs, where the event is one."""
        if name in OUTCOMES and self.planning:
            self.planning = False
            return (RemedyEnded(KEY, "proposed", "so"),)
        if name not in OUTCOMES or not self.healing:
            return ()
        outcome: Outcome = name
        self.healing, self.cut_off = False, outcome == "stopped"
        if outcome in ("verified", "taken-back"):
            self.changed_at.append(self.now)
        if outcome in DID_NOT_HELP:
            self.failed_at.append(self.now)
        if outcome == "verified":
            self.failed_at.clear()
        if outcome == "verified" or outcome in DID_NOT_HELP:
            self.verified = outcome == "verified"
        return (RemedyEnded(KEY, outcome, "so", changed=outcome in ("verified", "taken-back")),)

    def _step(self, name: str) -> None:
        look, ended = self._look(name), self._ended(name)
        opened, before = self._open(), dict(self.kept)
        kept = None if self.state.leads else tuple(self.kept.values())
        off = name == "all off"
        seen = Seen(True, {KEY: look} if look else {}, ended, kept, off, self.set_by_s)
        if look and look.judged and look.harm and not look.policy.disabled:
            self.harmed_at = self.now
            if not opened:
                self.first_harms.append(self.now)
                self.verified = False
        if kept is not None:
            self.adopted_at = self.now
        self.state, commands = step(self.state, seen, self.now)
        self._written(commands)
        self._asked(look, off, commands)
        now_open = self._open()
        if name == "blind" and not ended:
            changed = [
                one for one in self.kept.values()
                if before.get(one.name, one).status.conditions != one.status.conditions
                and not self.healing
            ]  # fmt: skip
            self.law("O4", len(now_open) == len(opened) and not changed, f"{changed}")
        self.law("O5", len(now_open) <= 1, f"{len(now_open)} are open")
        for one in opened:
            if one.name not in {other.name for other in now_open} and look is not None:
                calm_s = self.now - self.harmed_at
                self.law("O9", calm_s >= CALM_S, f"ended after {calm_s:.0f} s without harm")
        calm_s = self.now - max(self.harmed_at, self.adopted_at)
        busy = self.healing or self.planning
        if name == "calm" and not busy and calm_s >= CALM_S:
            self.law("O9", not now_open, "harm is over and the incident is open")
        for one in self.kept.values():
            self.law("O9", not one.ended or one.status.ended_at is not None, "no end")
            if one.ended and before.get(one.name) != one and look is not None:
                wanted = "Healed" if self.verified else "Recovered"
                self.law("O13", one.status.phase == wanted, f"{one.status.phase}, not {wanted}")
        if name == "all off" and self.cut_off and now_open and self.autonomy == "act":
            reasons = {one.reason for one in now_open[0].status.conditions}
            self.law("O8", "SwitchedOff" in reasons, "nothing says that a remedy is held back")
        self._recurred()

    def _open(self) -> list[PressureIncident]:
        return [one for one in self.kept.values() if not one.ended]

    def _written(self, commands: Sequence[Command]) -> None:
        for command in commands:
            if isinstance(command, Keep):
                self.kept[command.incident.name] = command.incident
            if isinstance(command, Forget):
                gone = self.kept.pop(command.name)
                ended = gone.status.ended_at or ""
                self.law("O12", ended < rfc3339(self.now - RETENTION_S), "forgotten too early")

    def _asked(self, look: TargetSeen | None, off: bool, commands: Sequence[Command]) -> None:
        heals = [one for one in commands if isinstance(one, Heal)]
        plans = [one for one in commands if isinstance(one, Plan)]
        level = look.policy.autonomy if look else self.autonomy
        self.law("O2", level == "act" or not heals, f"{level} heals")
        self.law("O2", level != "observe" or not plans, "observe plans")
        self.planning = self.planning or bool(plans)
        self.law("O3", len(heals) <= (0 if self.healing else 1), "two remedies at a time")
        forbidden = off or bool(look and look.policy.disabled)
        self.law("O8", not (forbidden and heals), "a remedy begins while the switch is off")
        if forbidden and self.healing:
            stops = [one for one in commands if isinstance(one, StopHealing)]
            self.law("O8", bool(stops), "what runs is not stopped")
        for heal in heals:
            self.law("O11", heal.resume == self.cut_off, f"resume={heal.resume}")
            hours = NIGHT.covers(self.now + self.set_by_s)
            self.law("O10", hours or not heal.may_restart, "may restart outside the quiet hours")
            if not heal.resume:
                within = [at for at in self.changed_at if self.now - at < HOUR_S]
                self.law("O6", len(within) < BUDGET, f"{len(within)} changes within the hour")
                failed = [at for at in self.failed_at if self.now - at <= BREAKER_S]
                self.law("O7", len(failed) < 2, f"{len(failed)} remedies did not help")
            self.healing, self.cut_off = True, False

    def _recurred(self) -> None:
        week = [at for at in self.first_harms if self.now - at <= 7 * 24 * HOUR_S]
        for one in self._open():
            asks = len(week) >= 3
            self.law("O12", bool(one.status.proposals) == asks, f"{len(week)} within the week")


def broken(autonomy: str, moves: Sequence[str]) -> str:
    """The law that these events break, with the event at which it shows; empty where all hold."""
    world = World(autonomy)
    for number, name in enumerate(moves, 1):
        try:
            world.move(name)
        except Broken as law:
            return f"{law} (after {', '.join(moves[:number])})"
    return ""


def sequences(depth: int) -> Iterator[tuple[str, ...]]:
    """All sequences of so many events after the first harm, and a few long ones that no short one
    shows.
    """
    yield from (("harm", *moves) for moves in product(MOVES, repeat=depth))
    calm = ("calm", "harm")
    yield ("harm", *calm, *calm, *calm, *calm)
    yield ("harm", *calm, "crash", *calm, *calm)
    yield ("harm", "verified", "harm", "verified", "harm")
    yield ("harm", "verified", "harm", "verified", "harm", "calm")
    yield ("harm", *("calm",) * 20, "a day", "a day", *calm)


def walk(depth: int) -> list[str]:
    """Each law that some sequence breaks, with the first such sequence; empty where all hold."""
    found: dict[str, str] = {}
    for autonomy in ("observe", "recommend", "act"):
        for moves in sequences(depth):
            if said := broken(autonomy, moves):
                found.setdefault(said.partition(":")[0], f"{said}, autonomy {autonomy}")
    return [found[name] for name in sorted(found, key=lambda name: int(name[1:]))]
