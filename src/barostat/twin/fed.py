"""The fast form of one engine that is fed while it runs: requests come from outside, one by one,
and time is advanced in small stretches.

What it decides is what `EventSkippingRun` decides for the same arrivals. A step that has begun is
not taken back: a request that comes while it runs waits for the next, as in the engine.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable

from barostat.twin.event_skipping.run import EventSkippingRun
from barostat.twin.event_skipping.state import DECODE, EventSkippingState
from barostat.twin.intake import NS, Intake
from barostat.twin.outcome import Life, Outcome
from barostat.twin.pace import Pace
from barostat.twin.request import Row
from barostat.twin.settings import Settings

_NEVER = 1 << 62


class _FedIntake(Intake):
    """The requests that were put in. `ended` are those that finished since it was last emptied."""

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings, ())
        self.ended: list[tuple[str, int]] = []
        self.tell_first_token: Callable[[int], None] | None = None
        self._put = 0

    def put(self, row: Row, at_ns: int) -> None:
        self._put += 1
        heapq.heappush(self._due, (at_ns, self._put, row))
        self._look()

    def first_token(self, prompt_tokens: int) -> None:
        super().first_token(prompt_tokens)
        if self.tell_first_token is not None:
            self.tell_first_token(prompt_tokens)

    def finished(self, request_id: str, at_ns: int) -> None:
        super().finished(request_id, at_ns)
        self.ended.append((request_id, at_ns))


class FedEngine(EventSkippingRun):
    """One engine. Mutable. `state`: from `state_for`; none is needed for one group of full
    attention without shared prefixes.
    """

    def __init__(
        self, settings: Settings, pace: Pace, state: EventSkippingState | None = None
    ) -> None:
        super().__init__(settings, (), pace, state)
        self._fed = self._intake = _FedIntake(settings)
        self._until_ns = _NEVER

    @property
    def now_ns(self) -> int:
        """When the next step can begin."""
        return self._now_ns

    @property
    def usable_blocks(self) -> int:
        """Blocks that its requests can hold."""
        return self._settings.usable_blocks

    @property
    def is_stuck(self) -> bool:
        """True where what runs and waits never goes on."""
        return bool(self._outcome.stuck)

    @property
    def outcome(self) -> Outcome:
        """What became of everything so far; steps, the end and rejections are as of now."""
        outcome = self._outcome
        outcome.steps, outcome.end_ns = len(outcome.load), self._state.last_end_ns
        outcome.rejections, outcome.clamped_outputs = self._intake.rejections, self._intake.clamped
        return outcome

    @property
    def busy(self) -> bool:
        """True if something runs, waits, or was put in."""
        return bool(self._state.running or self._state.waiting) or self._intake.next_ns is not None

    @property
    def next_ns(self) -> int | None:
        """When something happens next here; None where nothing will."""
        if self._state.running or self._state.waiting:
            return self._now_ns
        arrival = self._intake.next_ns
        return None if arrival is None else max(self._now_ns, self._pace.start_ns(arrival))

    def put(self, row: Row, at_s: float) -> None:
        """The request arrives at that time, or with the next step where that is past."""
        self.put_at(row, round(at_s * NS))

    def put_at(self, row: Row, at_ns: int) -> None:
        """The same in whole nanoseconds."""
        self._fed.put(row, at_ns)

    def tell_first_tokens(self, hear: Callable[[int], None]) -> None:
        """Who counts prompts that are not through hears of each first token."""
        self._fed.tell_first_token = hear
        self._prompts_count = True

    def advance(self, until_ns: int) -> list[tuple[str, int]]:
        """Steps that begin before then, up to one in which requests end: (request, when it
        ended).
        """
        state, fed = self._state, self._fed
        while not fed.ended:
            arrival = fed.next_ns
            if not state.running and not state.waiting:
                if arrival is None:
                    break
                self._now_ns = max(self._now_ns, self._pace.start_ns(arrival))
            if self._now_ns >= until_ns:
                break
            if arrival is not None and arrival <= self._now_ns:
                self._arrive()
            self._until_ns = until_ns if arrival is None else min(until_ns, arrival)
            blocked = bool(state.waiting) and not (self._blocked and not self._ending)
            if (not self._quiet() or blocked or not self._strode()) and not self._step():
                break
        ended, fed.ended = fed.ended, []
        return ended

    def _strode(self) -> bool:
        """True if steps were taken that decide nothing."""
        before = len(self._outcome.load)
        if self._state.decodes:
            self._stride(self._until_ns)
        return len(self._outcome.load) > before

    def progress(self) -> list[tuple[str, int]]:
        """What each running request has produced."""
        clock = self._state.clock + 1
        return [
            (
                mover.name,
                (mover.base + clock if mover.mode is DECODE else mover.tokens) - mover.prompt,
            )
            for mover in self._state.running.values()
        ]

    @property
    def lives(self) -> list[Life]:
        """The requests that were let in, in order of arrival."""
        return self._outcome.lives

    @property
    def load(self) -> tuple[float, int, int, int]:
        """(share of the blocks in use, running, waiting, preemptions so far)."""
        usable = self._settings.usable_blocks
        used = 1 - self._state.pool.free / usable
        return used, len(self._state.running), len(self._state.waiting), self._outcome.preemptions
