"""One engine of several, a step at a time: it reports the duration of its own step and is notified
when the step ends.
"""

from __future__ import annotations

from collections.abc import Callable

from barostat.twin.intake import Intake
from barostat.twin.pace import Pace
from barostat.twin.request import Row
from barostat.twin.scheduler.run import Steps
from barostat.twin.scheduler.scheduler import Step
from barostat.twin.settings import Settings


class _OfFront(Intake):
    """No rows of its own: their results are passed to the front end."""

    def __init__(self, settings: Settings, first_token: Callable[[int], None]) -> None:
        super().__init__(settings, ())
        self._told = first_token
        self.ended: list[tuple[str, int]] = []

    def first_token(self, prompt_tokens: int) -> None:
        self._told(prompt_tokens)

    def finished(self, request_id: str, at_ns: int) -> None:
        self.ended.append((request_id, at_ns))


class RankSteps(Steps):
    """A rank. Mutable. `begin` and `end` are called in turn."""

    def __init__(self, settings: Settings, pace: Pace, first_token: Callable[[int], None]) -> None:
        super().__init__(settings, (), pace)
        self._fed = self._intake = _OfFront(settings, first_token)
        self._made: Step | None = None
        self._under_way: tuple[Step, int] | None = None

    @property
    def busy(self) -> bool:
        """True if something runs, waits or is under way."""
        return bool(self.scheduler.unfinished) or self._under_way is not None

    @property
    def load(self) -> tuple[float, int, int]:
        """(share of the blocks in use, running, waiting)."""
        scheduler = self.scheduler
        used = 1 - scheduler.kv.pool.free_blocks / self._settings.usable_blocks
        return used, len(scheduler.running), len(scheduler.waiting)

    def put(self, row: Row, output_tokens: int, at_ns: int) -> None:
        """Let a request arrive at that time, in ns."""
        self._add(at_ns, row, output_tokens)

    def begin(self, now_ns: int) -> int | None:
        """The next step is made up: how long it takes by itself, None if it computes nothing."""
        self._now_ns = now_ns
        self._made = self.scheduler.schedule()
        duration_ns = self._account(self._made)
        return duration_ns if self._made.scheduled else None

    def end(self, end_ns: int) -> tuple[int, list[tuple[str, int]]]:
        """The step ends then, however long it would have taken: (requests that got a token, those
        that are over).
        """
        made, self._made = self._made, None
        assert made is not None
        if self._settings.async_scheduling:
            taken, self._under_way = self._under_way, (made, end_ns) if made.scheduled else None
        else:
            taken = (made, end_ns)
        if taken is not None:
            self._take_in(*taken)
        if made.scheduled:
            self.outcome.end_ns = end_ns
        ended, self._fed.ended = self._fed.ended, []
        return len(made.sampling), ended
