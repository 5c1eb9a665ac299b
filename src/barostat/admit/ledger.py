"""What is admitted and what waits, and all that has been learned: the state that a decision reads and changes."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable

from barostat.admit.held_forecast import ReplicaLedger
from barostat.admit.lengths import Lengths
from barostat.admit.margin import Margin
from barostat.admit.replica_news import AllPools, Pool
from barostat.admit.reservation import Reservation
from barostat.admit.rules import Rules, TenantRule
from barostat.admit.tenants import TenantLedger

_LEAST_WEIGHT, _MOST_WEIGHT = 0.005, 0.2
_PREFIXES = 8192
_NOTED_EACH_S, _NOTED_EACH_ONE_S = 0.2, 2e-4
_OTHER = TenantRule("", 1.0)


class Ledger:
    """The state of one gateway. Mutable; it belongs to one caller.

    `queued`: requests that wait. `blocked`: the one whose turn it is and for which there was no room; it lays claim to `claimed`,
    where `claim_tokens` are nobody else's. `residence_s`: how long a request stays admitted. `served_counter`: the highest counter
    that a tenant was served to. `promised_at`: up to when capacity was promised to those that were told to come back.
    `forecast_error`: mean distance of an answer from its expected length, over that.
    """

    __slots__ = (
        "_noted_at", "affinity", "all_pools", "blocked", "claim_tokens", "claimed", "deadlines", "forecast_error", "itl_s", "last_number",
        "lengths", "margin", "preempted_ratio", "promised_at", "queued", "replica_of", "replicas", "reservations", "residence_s",
        "served_counter", "tenants", "waiting_tenants",
    )  # fmt: skip

    def __init__(self, replica_of: Callable[[str, Pool], ReplicaLedger] = ReplicaLedger) -> None:
        self.replica_of = replica_of
        self.lengths = Lengths()
        self.margin = Margin()
        self.replicas: dict[str, ReplicaLedger] = {}
        self.all_pools = AllPools()
        self.tenants: dict[str, TenantLedger] = {}
        self.waiting_tenants: dict[str, TenantLedger] = {}
        self.reservations: dict[int, Reservation] = {}
        self.deadlines: list[tuple[float, int]] = []
        self.affinity: OrderedDict[int, str] = OrderedDict()
        self.blocked: Reservation | None = None
        self.claim_tokens = 0.0
        self.claimed: ReplicaLedger | None = None
        self.last_number = 0
        self.queued = 0
        self.served_counter = 0.0
        self.residence_s: float | None = None
        self.preempted_ratio = 0.01
        self.itl_s: float | None = None
        self._noted_at = -1e9
        self.promised_at = 0.0
        self.forecast_error = 0.0

    def tenant(self, name: str, rules: Rules, at: float) -> TenantLedger:
        """The tenant of that name, under the rules of now."""
        rule = rules.tenants.get(name, _OTHER)
        found = self.tenants.get(name)
        if found is None:
            found = self.tenants[name] = TenantLedger(name, rule, at)
        elif found.rule is not rule:
            found.adopt(rule)
        return found

    def rate_per_s(self) -> float | None:
        """How many requests end each second, as many as run and as long as they stay (Little's law). None before any ended."""
        return (len(self.reservations) - self.queued) / self.residence_s if self.residence_s else None

    def learned(self, one: Reservation, length: int, ended: str, at: float) -> None:
        """A request has ended: how long it stayed, and how far it was from what was expected, are remembered."""
        running = max(1, len(self.reservations) - self.queued)
        weight = max(_LEAST_WEIGHT, min(_MOST_WEIGHT, 1.0 / running))
        for_s = max(0.0, at - one.admitted_at)
        self.residence_s = for_s if self.residence_s is None else self.residence_s + weight * (for_s - self.residence_s)
        if ended != "cut":
            expected = (one.charge - one.request.input_tokens) / one.request.sequences
            self.forecast_error += weight * (abs(length - expected) / max(expected, 1.0) - self.forecast_error)
        self.margin.ended(self.preempted_ratio)
        if at - self._noted_at >= max(_NOTED_EACH_S, _NOTED_EACH_ONE_S * running):
            self._noted_at = at
            self.lengths.note_live((other.lengths, other.produced) for other in self.reservations.values() if not other.waits)

    def pools_changed(self) -> None:
        """A replica came, went, or has another pool: what they come to together is asked for each request."""
        pools = [replica.pool for replica in self.replicas.values()]
        self.all_pools = AllPools(
            largest_tokens=max((pool.kv_tokens for pool in pools), default=0),
            longest_tokens=min((pool.longest_tokens for pool in pools if pool.longest_tokens is not None), default=None),
            share_prefixes=all(pool.shares_prefixes for pool in pools),
        )

    def near(self, prefix_key: int, replica: str) -> None:
        """Prompts that begin like this one were last sent to that replica."""
        affinity = self.affinity
        affinity[prefix_key] = replica
        affinity.move_to_end(prefix_key)
        if len(affinity) > _PREFIXES:
            affinity.popitem(last=False)
