"""The loop: events to the machine, its commands to the cluster, until it has ended or a person
wants it stopped.

Ctrl-C or SIGTERM once: what is being written is finished, nothing new is begun, and it can be
resumed. Twice: it leaves at once; the record is there.
"""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import time
import uuid
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field

from barostat.core.errors import InputError, OutsideError
from barostat.io.mitigation.act_context import ActContext
from barostat.io.mitigation.performer import Gathering, perform
from barostat.io.mitigation.store import Store
from barostat.remedy.acts import READS, WAITS, Lost, Observe, Refused
from barostat.remedy.journal import about
from barostat.remedy.machine import current, step
from barostat.remedy.state import (
    Aborted,
    Answer,
    Answered,
    Approved,
    Declined,
    Do,
    Emit,
    Event,
    State,
    Tick,
    WriteRecord,
)

Tell = Callable[[str], None]
Ask = Callable[[], Awaitable[bool]]


def new_holder() -> str:
    """A name that no other run has."""
    host = socket.gethostname().replace("#", "-").replace("/", "-")[:40]
    return f"{host}-{os.getpid()}-{uuid.uuid4().hex[:6]}"


@dataclass(slots=True)
class Driver:
    """Carries one plan out. `stopped`: a person stopped it, and it can be resumed.

    `stop`: set by a program that runs several; signals are then its business.
    """

    ground: ActContext
    store: Store
    gather: Gathering
    limits: str
    tell: Tell
    ask: Ask | None = None
    stop: asyncio.Event | None = None
    stopped: bool = False
    _events: asyncio.Queue[Event] = field(default_factory=asyncio.Queue)
    _task: asyncio.Task[None] | None = None
    _ending: set[asyncio.Task[None]] = field(default_factory=set)
    _asking: asyncio.Task[None] | None = None
    _told: int = 0
    _waits_for: str = ""

    async def run(self, state: State, *first: Event) -> State:
        """The state in which it ended, or was stopped. `first`: Began, or Resumed and perhaps
        Aborted.
        """
        loop = asyncio.get_running_loop()
        if self.stop is None:
            with suppress(NotImplementedError, RuntimeError, ValueError):
                loop.add_signal_handler(signal.SIGINT, self._interrupted)
                loop.add_signal_handler(signal.SIGTERM, self._interrupted)
        self._told = len(state.timeline)
        for event in first:
            self._events.put_nowait(event)
        held: Do | None = None
        try:
            while True:
                event = await self._next()
                self.stopped = self.stopped or (self.stop is not None and self.stop.is_set())
                state, commands = step(state, event)
                self._show(state)
                for command in commands:
                    if isinstance(command, Emit):
                        await self._emit(state, command)
                    elif self.stopped and isinstance(command, Do):
                        held = command
                    else:
                        self._begin(command)
                        self._show_wait(state, command)
                if state.ended or held is not None or (self.stopped and self._may_leave(state)):
                    return state
                if (
                    state.waiting is not None
                    and state.waiting.kind == "consent"
                    and self.ask is not None
                    and self._asking is None
                ):
                    self._asking = asyncio.create_task(self._consent(self.ask))
        finally:
            left = [task for task in (self._task, self._asking) if task is not None]
            for task in left:
                task.cancel()
            await asyncio.gather(*left, *self._ending, return_exceptions=True)
            if self.stop is None:
                with suppress(NotImplementedError, RuntimeError, ValueError):
                    loop.remove_signal_handler(signal.SIGINT)
                    loop.remove_signal_handler(signal.SIGTERM)

    async def _next(self) -> Event:
        """The next event; where nothing comes, that time has passed."""
        try:
            return await asyncio.wait_for(self._events.get(), self.ground.pace.poll_s)
        except TimeoutError:
            return Tick(self.ground.clock.now())

    def _begin(self, command: Do | WriteRecord) -> None:
        """A new command ends whatever is still waited for, but comes after a write that is on its
        way.
        """
        if self._task is not None and not self._task.done():
            self._task.cancel()
            self._ending.add(self._task)
            self._task.add_done_callback(self._ending.discard)
        self._task = asyncio.create_task(self._carry_out(command, frozenset(self._ending)))

    async def _carry_out(
        self, command: Do | WriteRecord, before: frozenset[asyncio.Task[None]]
    ) -> None:
        if before:
            await asyncio.wait(before)
        try:
            event: Event
            if isinstance(command, WriteRecord):
                event = Answered(
                    self.ground.clock.now(), command.key, await self._recorded(command)
                )
            else:
                event = await perform(self.ground, command, self.gather, self.limits)
        except Exception as error:  # a bug of ours must not leave a remedy hanging in the middle
            why = f"this is a bug in barostat ({type(error).__name__}: {error})"
            event = Answered(self.ground.clock.now(), command.key, Refused(why))
        self._events.put_nowait(event)

    async def _recorded(self, command: WriteRecord) -> Answer:
        try:
            return await self.store.write(command, self.limits, self.ground.looks.values())
        except OutsideError as error:
            return Lost(str(error)) if error.retryable else Refused(str(error))

    async def _consent(self, ask: Ask) -> None:
        try:
            yes = await ask()
        except Exception:  # whatever kept the answer away, it was no yes
            yes = False
        now = self.ground.clock.now()
        self._events.put_nowait(Approved(now) if yes else Declined(now))

    async def _emit(self, state: State, command: Emit) -> None:
        try:
            why = await self.store.emit(state.plan.target, state.plan.id, command)
        except (InputError, OutsideError) as error:
            why = str(error)
        if why:
            self.tell(f"(no event was written: {why})")

    def _show(self, state: State) -> None:
        for entry in state.timeline[self._told :]:
            self.tell(f"{entry.event}{': ' + entry.detail if entry.detail else ''}")
        self._told = len(state.timeline)

    def _show_wait(self, state: State, command: Do | WriteRecord) -> None:
        """Say once for each long wait what it is for, and when it ends at the latest."""
        if not isinstance(command, Do) or command.key == self._waits_for:
            return
        self._waits_for = command.key
        if isinstance(command.act, (*WAITS, Observe)):
            left_s = command.until - self.ground.clock.now()
            until = time.strftime("%H:%M:%S", time.localtime(command.until))
            what = about(state, command.act, "")
            named = f"{type(command.act).__name__}{': ' + what if what else ''}"
            self.tell(f"waiting for {named}: until {until} ({left_s:.0f} s) at most")

    def _may_leave(self, state: State) -> bool:
        """Between two writes, or while something is only read or waited for."""
        if state.waiting is None or state.waiting.kind in ("consent", "rest"):
            return True
        return state.waiting.kind == "act" and isinstance(current(state), READS)

    def _interrupted(self) -> None:
        if self.stopped:
            os._exit(130)
        self.stopped = True
        self.tell("stopping after what is being written just now (Ctrl-C again leaves at once)")


__all__ = ["Aborted", "Driver", "new_holder"]
