"""A workload through several engines behind one endpoint: data parallelism with vLLM's own
balancing.

Each rank has a scheduler, a pool and a prefix cache of its own. Ranks of a dense model run on their
own (`Ranks`); those of a mixture of experts take each step together (`lock_step.py`).

Source: vLLM 0.32.0, DPLBAsyncMPClient, EngineCoreProc.run_busy_loop.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from heapq import merge

from barostat.core.errors import InputError
from barostat.core.uncollected import uncollected
from barostat.twin.data_parallel.balancer import Balancer, Counts
from barostat.twin.data_parallel.coordinator import CHANGED_NS, Coordinator
from barostat.twin.fed import FedEngine
from barostat.twin.forms import state_for
from barostat.twin.intake import Intake
from barostat.twin.outcome import Outcome
from barostat.twin.pace import Pace
from barostat.twin.request import Row
from barostat.twin.settings import Settings
from barostat.twin.workload.random_streams import Dice

_NEVER = 1 << 62


@dataclass(frozen=True, slots=True)
class RanksOutcome:
    """Outcome of each rank, and of all together as one engine with all their blocks. `places`: rank
    by request, of those that were let in.
    """

    ranks: tuple[Outcome, ...]
    together: Outcome
    places: dict[str, int] = field(default_factory=dict)
    dummy_steps: int = 0


class FrontEnd:
    """The API servers before the ranks: what is let in, and to which rank it goes. Mutable.

    Which server a connection reaches is the kernel's choice: it is thrown by `seed`.
    `rank_settings`: those of a rank, which refuses nothing that was let in here.

    Errors: InputError for a row that names a rank that does not exist.
    """

    def __init__(
        self, settings: Settings, rows: Sequence[Row], ranks: int, servers: int, seed: int
    ) -> None:
        _check_ranks(rows, ranks)
        self.rank_settings = replace(
            settings, max_queued_requests=None, max_queued_tokens=None, edge_input_tokens=None
        )
        self.intake = Intake(settings, rows)
        self.places: dict[str, int] = {}
        self._balancers = [Balancer(ranks, servers, server) for server in range(servers)]
        self.coordinator = Coordinator(ranks, self._balancers)
        self._dice = Dice(seed, "data-parallel/api-server")
        self._servers: dict[str, int] = {}

    def arrived(self, until_ns: int) -> Iterator[tuple[int, int, Row, int]]:
        """Yield the requests admitted by then: (arrival, rank, row, tokens that it will produce)."""
        for at_ns, row, output_tokens in self.intake.until(until_ns):
            self.coordinator.until(at_ns)
            server = int(self._dice.uniform() * len(self._balancers))
            rank = self._balancers[server].choose(row.rank)
            self._servers[row.request_id] = server
            self.places[row.request_id] = rank
            yield at_ns, rank, row, output_tokens

    def finished(self, ended: Iterable[tuple[str, int]]) -> None:
        """These requests are over, at these times."""
        for name, at_ns in ended:
            self._balancers[self._servers.pop(name)].finished(self.places[name])
            self.intake.finished(name, at_ns)


def _check_ranks(rows: Iterable[Row], ranks: int) -> None:
    """Nothing, where every row that asks for a rank asks for one that is there.

    Errors: InputError.
    """
    for row in rows:
        if row.rank is not None and not 0 <= row.rank < ranks:
            raise InputError(
                f"request {row.request_id} asks for rank {row.rank} of {ranks}",
                "data_parallel_rank",
            )


class Ranks:
    """Ranks that run each on their own. Mutable; `run` takes the workload to its end."""

    def __init__(
        self, settings: Settings, rows: Sequence[Row], pace: Pace, ranks: int, servers: int = 1,
        seed: int = 0,
    ) -> None:  # fmt: skip
        self._front = FrontEnd(settings, rows, ranks, servers, seed)
        own = self._front.rank_settings
        self._engines = [FedEngine(own, pace, state_for(own, rows)) for _ in range(ranks)]
        for engine in self._engines:
            engine.tell_first_tokens(self._front.intake.first_token)

    def run(self) -> RanksOutcome:
        """Run to the end and return the outcome."""
        with uncollected():
            while self._move():
                pass
        return together(
            [engine.outcome for engine in self._engines],
            self._front,
            self._engines[0].usable_blocks,
        )

    def _move(self) -> bool:
        """Advance the rank that is furthest behind, or let requests arrive. False at the end."""
        front, engines = self._front, self._engines
        arrival = front.intake.next_ns
        due = [
            (when, rank)
            for rank, engine in enumerate(engines)
            if (when := engine.next_ns) is not None and not engine.is_stuck
        ]
        if not due and arrival is None:
            return False
        soonest = _NEVER if arrival is None else arrival
        if due and min(due)[0] < soonest:
            due.sort()
            when, rank = due[0]
            until = min(soonest, when + CHANGED_NS, due[1][0] + 1 if len(due) > 1 else _NEVER)
            ended = engines[rank].advance(max(until, when + 1))
            self._tell(rank)
            front.finished(ended)
            return True
        assert arrival is not None
        for at_ns, rank, row, output_tokens in front.arrived(arrival):
            known = row._replace(output_tokens=output_tokens, after_id=None)
            engines[rank].put_at(known, at_ns)
        return True

    def _tell(self, rank: int) -> None:
        engine = self._engines[rank]
        used, running, waiting, _ = engine.load
        self._front.coordinator.tells(rank, Counts(waiting, running, used), engine.now_ns)


def together(
    outcomes: Sequence[Outcome], front: FrontEnd, usable_blocks: int, dummy_steps: int = 0
) -> RanksOutcome:
    """The ranks' outcomes beside each other and as one. `usable_blocks`: of each."""
    whole = Outcome(
        lives=sorted(
            (life for outcome in outcomes for life in outcome.lives),
            key=lambda life: life.arrival_ns,
        ),
        rejections=front.intake.rejections,
        load=merged_loads([outcome.load for outcome in outcomes], [usable_blocks] * len(outcomes)),
        gaps=sum((outcome.gaps for outcome in outcomes), Counter[int]()),
        clamped_outputs=front.intake.clamped,
        end_ns=max((outcome.end_ns for outcome in outcomes), default=0),
        stuck="; ".join(
            f"rank {rank}: {outcome.stuck}"
            for rank, outcome in enumerate(outcomes)
            if outcome.stuck
        ),
    )
    for name in ("steps", "request_steps", "scheduled_tokens", "preemptions", "recomputed_tokens",
                 "cached_tokens", "looked_up_tokens"):  # fmt: skip
        setattr(whole, name, sum(getattr(outcome, name) for outcome in outcomes))
    return RanksOutcome(tuple(outcomes), whole, front.places, dummy_steps)


def merged_loads(
    loads: Sequence[Sequence[tuple[int, int, int, int]]], usable_blocks: Sequence[int]
) -> list[tuple[int, int, int, int]]:
    """The loads of several engines as one: at each step of any, the sums of what each had last.
    `usable_blocks`: of each.
    """
    now = [(blocks, 0, 0) for blocks in usable_blocks]
    found: list[tuple[int, int, int, int]] = []
    tagged = (
        [(at_ns, rank, (free, running, waiting)) for at_ns, free, running, waiting in load]
        for rank, load in enumerate(loads)
    )
    for at_ns, rank, state in merge(*tagged):
        now[rank] = state
        free, running, waiting = (sum(column) for column in zip(*now, strict=True))
        if found and found[-1][0] == at_ns:
            found.pop()
        found.append((at_ns, free, running, waiting))
    return found
