"""Lines: who may go to the same engines waits in one line, with turns, a claim, a pace and promises
of its own.

    request --not_on--> line of the engines that it may go to
    admitted on an engine, or ended there  --> each line that the engine is of: what its tenants
    were served, what runs, for how long

Engines of different models are in different lines, and nothing that happens in one of these is felt
in another. Where lines share engines (an adapter that some of them have, a request that comes back
from an engine that took no connection), what a tenant is served there counts in each of them, and
what comes free there is for who came first of those whose turn it is.
"""

from __future__ import annotations

from collections.abc import Iterable

from barostat.admit.held_forecast import NEVER, ReplicaLedger
from barostat.admit.learned import Learned
from barostat.admit.replica_news import AllPools
from barostat.admit.reservation import Reservation
from barostat.admit.tenants import TenantLedger, Turn

_FEW, _MANY = 5, 200


class Line:
    """Those that may go to all engines but `not_on`. Mutable.

    `replicas`, with their `names` and what their `pools` come to; `learned` of them; `beside`: the
    other lines that share an engine with it. `turns`: of tenants that asked, those of them that
    wait in `waiting`. `queued` requests wait here, `by_rank`: by their priority class, in the order
    of arrival, `running` run on these engines, each
    `residence_s` long. `served_counter`: the highest counter that a tenant was served to.
    `promised_at`: up to when room was promised to those that were told to come back. `blocked`: the
    one whose turn it is and for which there was no room; it lays claim to `claimed`, where
    `claim_tokens` are its own. `asked_at`: when anybody last asked here; `looked_at`: when there
    was last no room for any that waits.
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
        self.turns: list[Turn] = []
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

    def begin_as(self, other: Line | None) -> None:
        """It is new, and what is known of those engines by the other line holds; what runs on its
        engines already is known.
        """
        if other is not None:
            self.residence_s, self.served_counter, self.promised_at = (
                other.residence_s,
                other.served_counter,
                other.promised_at,
            )
            for known in other.turns:
                turn = self.turn(known.tenant, known.asked_at)
                turn.counter, turn.asked_at = known.counter, known.asked_at
        for replica in self.replicas:
            for one in replica.live.values():
                turn = self.turn(one.tenant, one.admitted_at)
                turn.runs(one.charge)
                one.turns.append(turn)

    def turn(self, tenant: TenantLedger, at: float) -> Turn:
        """The tenant's turn here."""
        found = tenant.turns.get(self)
        if found is None:
            found = tenant.turns[self] = Turn(tenant, self, at)
            self.turns.append(found)
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


def weight(running: int) -> float:
    """What one answer more weighs where so many run: about as much as it is of them."""
    return 1.0 / (_FEW if running < _FEW else _MANY if running > _MANY else running)
