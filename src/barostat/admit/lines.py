"""Lines: who may go to the same engines waits in one line, with turns, a claim, a pace and promises
of its own.

    request --not_on--> line of the engines that it may go to
    admitted on an engine, or ended there  --> each line that the engine is of: what its tenants
    were served, what runs, for how long

Engines of different models are in different lines, and nothing that happens in one of these is felt
in another. Where lines share engines (an adapter that some of them have, a request that comes back
from an engine that took no connection), what a tenant is served there counts in each of them, and
what comes free there is for who came first of those whose turn it is.

Whose turn it is in a line: virtual token counters, so that tenants that wait are served tokens in
proportion to their shares.

    admitted: counter += (input + expected output) / share        ended: counter += (what it was - what was expected) / share
    next is who waits and has the lowest counter; who begins to wait is lifted to four of its
    charges below the lowest of those that wait; where nobody does, below the highest that anybody
    was served to: hours without a queue are nobody's debt

Each line has counters of its own: shares are of the engines that a request may go to, and what a
tenant was served of one model is no debt at another.

Bound: between two tenants that both wait in a line the whole time and have something that fits,
what they were served on its engines, each over its share, differs by at most twice the largest
charge of one request over its share, plus what may pass a request that does not fit yet
(`waiting.py`: as much as it needs itself, on its replica; elsewhere, until there is as much free
there), plus how far the expected outputs of what runs are off, plus what other lines that share
these engines were given of them. Of what it was idle a tenant keeps a credit of four charges, once:
a tenant within its share that asks in small bursts would otherwise queue like the one that floods.
None is lost by being served late.
Source: Sheng et al., "Fairness in Serving Large Language Models", OSDI 2024 (VTC), with the charge
of the output moved to admission.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from heapq import heapify, heappop, heappush

from barostat.admit.asked import AskedRequest
from barostat.admit.held_forecast import NEVER, HeldForecast, Holding
from barostat.admit.learned import Learned
from barostat.admit.lengths import LengthClass
from barostat.admit.replica_news import AllPools, Pool
from barostat.admit.tenants import TenantLedger

_FEW, _MANY = 5, 200
_PRIORITY_S = 1.0
_PRIORITIES = 10


class Line:
    """Those that may go to all engines but `not_on`. Mutable.

    `replicas`, with their `names` and what their `pools` come to; `learned` of them; `beside`: the
    other lines that share an engine with it. `turns`: of tenants that asked, by name, those
    of them that wait in `waiting`. `queued` requests wait here, `by_rank`: by their priority class,
    in the order of arrival, `running` run on these engines, each `residence_s` long.
    `served_counter`: the highest counter that a tenant was served to. `promised_at`: up to when
    room was promised to those that were told to come back. `blocked`: the one whose turn it is and
    for which there was no room; it lays claim to `claimed`, where `claim_tokens` are its own.
    `asked_at`: when anybody last asked here; `looked_at`: when there was last no room for any that
    waits.
    """

    __slots__ = (
        "asked_at", "beside", "blocked", "by_rank", "claim_tokens", "claimed", "learned", "looked_at", "names", "not_on", "pools",
        "promised_at", "queued", "replicas", "residence_s", "running", "served_counter", "turns", "waiting",
    )  # fmt: skip

    def __init__(self, not_on: frozenset[str], learned: Learned) -> None:
        self.not_on = not_on
        self.replicas: list[ReplicaLedger] = []
        self.names: frozenset[str] = frozenset()
        self.pools = AllPools()
        self.learned = learned
        self.beside: list[Line] = []
        self.turns: dict[str, Turn] = {}
        self.waiting: dict[str, Turn] = {}
        self.queued = 0
        self.by_rank: dict[int, dict[int, Reservation]] = {}
        self.running = 0
        self.residence_s: float | None = None
        self.served_counter = 0.0
        self.promised_at = 0.0
        self.blocked: Reservation | None = None
        self.claimed: ReplicaLedger | None = None
        self.claim_tokens = 0.0
        self.looked_at = NEVER
        self.asked_at = NEVER

    def has(self, replicas: Iterable[ReplicaLedger], otherwise: Learned) -> None:
        """Of these replicas it has those that are not among its `not_on`. What is learned of these,
        or of some of them, it goes by; `otherwise`: where what it went by is learned of none.
        """
        self.replicas = [replica for replica in replicas if replica.name not in self.not_on]
        self.names = frozenset(replica.name for replica in self.replicas)
        pools = [replica.pool for replica in self.replicas]
        self.pools = AllPools(
            largest_tokens=max((pool.kv_tokens for pool in pools), default=0),
            longest_tokens=min(
                (pool.longest_tokens for pool in pools if pool.longest_tokens is not None),
                default=None,
            ),
            share_prefixes=all(pool.shares_prefixes for pool in pools),
        )
        if self.are_alike:
            self.learned = self.replicas[0].learned
        elif all(replica.learned is not self.learned for replica in self.replicas):
            self.learned = otherwise
        self.looked_at = NEVER

    @property
    def are_alike(self) -> bool:
        """Its engines serve the same."""
        return len({replica.learned for replica in self.replicas}) == 1

    def begin_as(self, other: Line | None, reservations: Mapping[int, Reservation]) -> None:
        """It is new, and what is known of those engines by the other line holds; those of the
        reservations that run on its engines already are known.
        """
        if other is not None:
            self.residence_s, self.served_counter, self.promised_at = (
                other.residence_s,
                other.served_counter,
                other.promised_at,
            )
            for known in other.turns.values():
                turn = self.turn(known.tenant, known.asked_at)
                turn.counter, turn.asked_at = known.counter, known.asked_at
        for replica in self.replicas:
            for number in replica.live:
                one = reservations[number]
                turn = self.turn(one.tenant, one.admitted_at)
                turn.runs(one.charge)
                one.turns.append(turn)

    def turn(self, tenant: TenantLedger, at: float) -> Turn:
        """Return the tenant's turn in this line; created on first use."""
        found = self.turns.get(tenant.name)
        if found is None:
            found = self.turns[tenant.name] = Turn(tenant, self, at)
        return found

    def asked(self, tenant: TenantLedger, at: float) -> Turn:
        """The tenant's turn here, who asks for something now: on engines of the lines beside it,
        too.
        """
        turn = self.turn(tenant, at)
        turn.asked_at = self.asked_at = at
        for line in self.beside:
            line.turn(tenant, at).asked_at = at
        return turn

    def enters(self, one: Reservation) -> None:
        """The request waits here from now on."""
        self.queued += 1
        same = self.by_rank.get(one.rank)
        if same is None:
            same = self.by_rank[one.rank] = {}
        same[one.number] = one

    def exits(self, one: Reservation) -> None:
        """The request does not wait here any more."""
        self.queued -= 1
        same = self.by_rank[one.rank]
        del same[one.number]
        if not same:
            del self.by_rank[one.rank]

    def queued_above(self, rank: int) -> int:
        """How many of more important classes wait."""
        if len(self.by_rank) == 1 and rank in self.by_rank:
            return 0
        return sum(len(same) for other, same in self.by_rank.items() if other < rank)

    def newest_below(self, rank: int) -> Reservation | None:
        """The newest request of the least important class that waits, if that is below this one."""
        lowest = max(self.by_rank, default=rank)
        return next(reversed(self.by_rank[lowest].values())) if lowest > rank else None

    def rate_per_s(self) -> float | None:
        """How many requests end each second on its engines, as many as run and as long as they stay
        (Little's law). None before any ended.

        Of an engine for which other lines wait as well, it has what is its part by those who wait,
        and by its claim no less than each line.
        """
        if not self.residence_s:
            return None
        others = [line for line in self.beside if line.queued]
        if not others:
            return self.running / self.residence_s
        mine, running = self.queued + 1, 0.0
        for replica in self.replicas:
            queued = [line.queued for line in others if replica.name in line.names]
            running += len(replica.live) * max(mine / (mine + sum(queued)), 1.0 / (1 + len(queued)))
        return running / self.residence_s

    def stayed(self, for_s: float) -> None:
        """A request has ended on one of its engines: how long it stayed is remembered."""
        before = self.residence_s
        self.residence_s = (
            for_s if before is None else before + weight(self.running) * (for_s - before)
        )


class Turn:
    """One tenant in one line. Mutable. `counter`: tokens over share that it was served on these
    engines. `asked_at`: when it last asked for them. `running` requests run there, of so many
    tokens, `waiting` wait in this line.
    """

    __slots__ = (
        "_heap",
        "asked_at",
        "counter",
        "line",
        "running",
        "running_tokens",
        "tenant",
        "waiting",
    )

    def __init__(self, tenant: TenantLedger, line: Line, at: float) -> None:
        self.tenant = tenant
        self.line = line
        self.counter = 0.0
        self.asked_at = at
        self.running = 0
        self.running_tokens = 0.0
        self.waiting = 0
        self._heap: list[tuple[int, float, int, Reservation]] = []

    def served(self, tokens: float) -> None:
        """The tenant was served so many tokens (fewer than thought, below 0)."""
        self.counter += tokens / self.tenant.rule.share

    def runs(self, charge: float) -> None:
        """A request of the tenant's runs on one of these engines."""
        self.running += 1
        self.running_tokens += charge
        self.line.running += 1

    def runs_no_more(self, charge: float) -> None:
        """Account for the end of a running request. `charge`: its tokens."""
        self.running -= 1
        self.running_tokens = self.running_tokens - charge if self.running else 0.0
        self.line.running -= 1

    def put(self, one: Reservation) -> None:
        """The request waits: by priority class, then in the order of arrival; each step of priority
        is worth a second of it, ten steps at most.
        """
        steps = min(_PRIORITIES, max(-_PRIORITIES, one.request.priority))
        heappush(self._heap, (one.rank, one.request.at + steps * _PRIORITY_S, one.number, one))
        one.waits = True
        self.waiting += 1
        self.tenant.waiting += 1

    def take(self, one: Reservation) -> None:
        """The request does not wait any more: it is admitted, refused or gone."""
        tenant = self.tenant
        one.waits = False
        self.waiting -= 1
        tenant.waiting -= 1
        if not self.waiting:
            self._heap.clear()
        elif len(self._heap) > 2 * self.waiting + 8:
            self._heap = [entry for entry in self._heap if self._waits(entry)]
            heapify(self._heap)

    def first(self) -> Reservation | None:
        """The first that waits, None if nothing does."""
        heap = self._heap
        while heap and not self._waits(heap[0]):
            heappop(heap)
        return heap[0][3] if heap else None

    def few(self, count: int) -> list[Reservation]:
        """The first and some of those near to it, all waiting, at most so many."""
        return [entry[3] for entry in self._heap[: 2 * count] if self._waits(entry)][:count]

    def _waits(self, entry: tuple[int, float, int, Reservation]) -> bool:
        """The entry is not left over from before: its request waits here, in that class."""
        one = entry[3]
        return one.waits and one.turn is self and one.rank == entry[0]


class ReplicaLedger(HeldForecast):
    """One replica. `lines`: those that it is of; `claims`: those whose first lays claim to it."""

    __slots__ = ("claims", "lines")

    def __init__(self, name: str, pool: Pool) -> None:
        super().__init__(name, pool)
        self.lines: list[Line] = []
        self.claims: list[Line] = []


class Reservation(Holding):
    """One request that is admitted or waits. Mutable.

    `output_cap`: what is in force of its `cap` (None: only the model's length), `capped` if the
    gateway has to write it into the body. `turn`: its tenant's in its line; `turns`: those that
    count it while it runs, of each line that its replica is of. `replica`: None while it waits.
    """

    __slots__ = (
        "capped", "deadline_at", "output_cap", "replica", "tenant", "turn", "turns", "waits",
    )  # fmt: skip

    def __init__(
        self,
        number: int,
        request: AskedRequest,
        turn: Turn,
        lengths: LengthClass,
        prompt_tokens: int,
        cap: int,
        charge: float,
    ) -> None:
        super().__init__(number, request, lengths, prompt_tokens, cap, charge)
        self.turn = turn
        self.tenant = turn.tenant
        self.turns: list[Turn] = []
        self.output_cap: int | None = None
        self.capped = False
        self.deadline_at = 0.0
        self.waits = False
        self.replica: ReplicaLedger | None = None


def weight(running: int) -> float:
    """What one answer more weighs where so many run: about as much as it is of them."""
    return 1.0 / (_FEW if running < _FEW else _MANY if running > _MANY else running)
