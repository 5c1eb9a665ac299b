"""Ranks of a mixture of experts: each step of one is a step of all, as its experts are spread over
them. A rank with nothing to compute runs a dummy batch, and every step lasts as long as the slowest
rank's.

Source: vLLM 0.32.0, DPEngineCoreProc.run_busy_loop (the ranks agree that all are idle after their
first step and then every dp_sync_interval steps).
"""

from __future__ import annotations

from collections.abc import Sequence

from barostat.core.uncollected import uncollected
from barostat.twin.data_parallel.balancer import Counts
from barostat.twin.data_parallel.ranks import (
    FrontEnd,
    RanksOutcome,
    together,
)
from barostat.twin.outcome import DRY
from barostat.twin.pace import Pace
from barostat.twin.request import Row
from barostat.twin.scheduler.rank_steps import RankSteps
from barostat.twin.settings import Settings

SYNC_STEPS = 32


class LockStep:
    """Ranks that step together. Mutable; `run` takes the workload to its end."""

    def __init__(
        self, settings: Settings, rows: Sequence[Row], pace: Pace, ranks: int, servers: int = 1,
        seed: int = 0,
    ) -> None:  # fmt: skip
        self._front = FrontEnd(settings, rows, ranks, servers, seed)
        own = self._front.rank_settings
        self._ranks = [RankSteps(own, pace, self._front.intake.first_token) for _ in range(ranks)]
        self._pace = pace
        self._usable, self._dry_steps = settings.usable_blocks, settings.dry_steps
        self._now_ns = self._counter = self._dummies = self._dry = 0

    def run(self) -> RanksOutcome:
        """Run to the end and return the outcome."""
        with uncollected():
            while self._move():
                pass
        outcomes = [rank.outcome for rank in self._ranks]
        return together(outcomes, self._front, self._usable, self._dummies)

    def _move(self) -> bool:
        """One step of all ranks. False at the end."""
        front, ranks = self._front, self._ranks
        if not any(rank.busy for rank in ranks) and not self._counter:
            arrival = front.intake.next_ns
            if arrival is None:
                return False
            self._now_ns = max(self._now_ns, self._pace.start_ns(arrival))
        for at_ns, place, row, output_tokens in front.arrived(self._now_ns):
            ranks[place].put(row, output_tokens, at_ns)
            self._tell(place)
        took = [rank.begin(self._now_ns) for rank in ranks]
        dummy_ns = self._pace.step_ns(0, 1, 0)
        end_ns = self._now_ns + max(dummy_ns if one is None else one for one in took)
        self._dummies += sum(1 for one in took if one is None)
        produced = 0
        for number, rank in enumerate(ranks):
            tokens, ended = rank.end(end_ns)
            produced += tokens
            self._tell(number, end_ns)
            front.finished(ended)
        self._now_ns = end_ns
        self._dry = 0 if produced or not any(rank.busy for rank in ranks) else self._dry + 1
        if self._dry > self._dry_steps:
            for rank in ranks:
                if rank.busy:
                    rank.outcome.stuck = DRY.format(self._dry_steps)
            return False
        self._counter += 1
        idle = not any(rank.busy for rank in ranks)
        if idle and (self._counter == 1 or self._counter % SYNC_STEPS == 0):
            self._counter = 0
        return True

    def _tell(self, number: int, at_ns: int | None = None) -> None:
        used, running, waiting = self._ranks[number].load
        self._front.coordinator.tells(
            number, Counts(waiting, running, used), self._now_ns if at_ns is None else at_ns
        )
