"""Event-skipping twin that accepts requests while it runs: they are put in one by one, and time
advances in small stretches.

It decides as `EventSkippingRun` does for the same arrivals. A request that arrives during a step
waits for the next one, as in the engine.
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
    """Requests that were put in. `ended`: requests finished since it was last emptied."""

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
    """One engine. Mutable. `state`: from `state_for`; optional for one full-attention group without
    shared prefixes.
    """

    def __init__(
        self, settings: Settings, pace: Pace, state: EventSkippingState | None = None
    ) -> None:
        super().__init__(settings, (), pace, state)
        self._fed = self._intake = _FedIntake(settings)
        self._until_ns = _NEVER

    @property
    def now_ns(self) -> int:
        """Earliest start of the next step, in ns."""
        return self._now_ns

    @property
    def usable_blocks(self) -> int:
        """Blocks available to requests."""
        return self._settings.usable_blocks

    @property
    def is_stuck(self) -> bool:
        """True if running and waiting requests can never proceed."""
        return bool(self._outcome.stuck)

    @property
    def outcome(self) -> Outcome:
        """Outcome so far; steps, end and rejections are brought up to date."""
        outcome = self._outcome
        outcome.steps, outcome.end_ns = len(outcome.load), self._state.last_end_ns
        outcome.rejections, outcome.clamped_outputs = self._intake.rejections, self._intake.clamped
        return outcome

    @property
    def busy(self) -> bool:
        """True if a request runs, waits, or is due."""
        return bool(self._state.running or self._state.waiting) or self._intake.next_ns is not None

    @property
    def next_ns(self) -> int | None:
        """Time of the next event, in ns; None if there is none."""
        if self._state.running or self._state.waiting:
            return self._now_ns
        arrival = self._intake.next_ns
        return None if arrival is None else max(self._now_ns, self._pace.start_ns(arrival))

    def put(self, row: Row, at_s: float) -> None:
        """Let a request arrive at that time, or with the next step if that time has passed."""
        self.put_at(row, round(at_s * NS))

    def put_at(self, row: Row, at_ns: int) -> None:
        """Like `put`, with the time in ns."""
        self._fed.put(row, at_ns)

    def tell_first_tokens(self, hear: Callable[[int], None]) -> None:
        """Call `hear` with the prompt's tokens at each first token, for callers that count
        unfinished prompts.
        """
        self._fed.tell_first_token = hear
        self._prompts_count = True

    def advance(self, until_ns: int) -> list[tuple[str, int]]:
        """Run steps that begin before `until_ns`, up to the first in which requests end. Returns
        (request, end in ns) of those.
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
        """Skip steps without decisions; True if there were any."""
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
        """Admitted requests in order of arrival."""
        return self._outcome.lives

    @property
    def load(self) -> tuple[float, int, int, int]:
        """(share of the blocks in use, running, waiting, preemptions so far)."""
        usable = self._settings.usable_blocks
        used = 1 - self._state.pool.free / usable
        return used, len(self._state.running), len(self._state.waiting), self._outcome.preemptions
