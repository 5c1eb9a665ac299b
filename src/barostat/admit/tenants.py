"""Whose turn it is: virtual token counters, so that tenants that wait are served tokens in
proportion to their shares.

    admitted: counter += (input + expected output) / share        ended: counter += (what it was - what was expected) / share
    next is who waits and has the lowest counter; who begins to wait is lifted to four of its
    charges below the lowest of those that wait; where nobody does, below the highest that anybody
    was served to: hours without a queue are nobody's debt

Each line (`lines.py`) has counters of its own: shares are of the engines that a request may go to,
and what a tenant was served of one model is no debt at another.

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

Tokens per minute are a bucket that fills by a sixtieth each second and holds a quarter of a
minute's: in any minute at most 1.25 times the limit is admitted (by what was expected; what was
expected wrongly is settled when the answer ends), and a request larger than the bucket is admitted
when the bucket is full. Who is refused is told when its tokens will have come in behind those of
who was told so before.
"""

from __future__ import annotations

from heapq import heapify, heappop, heappush
from typing import TYPE_CHECKING

from barostat.admit.reservation import Reservation
from barostat.admit.rules import TenantRule

if TYPE_CHECKING:
    from barostat.admit.lines import Line

_BURST_MINUTES = 0.25
_LONGEST_PROMISE_S = 60.0
_PRIORITY_S = 1.0
_PRIORITIES = 10


class TenantLedger:
    """One tenant. Mutable. `running` requests are admitted, `waiting` wait, each with their
    charges. `turns`: by line, that of all engines first.
    """

    __slots__ = (
        "_bucket", "_bucket_at", "_promised_at", "name", "queued_tokens", "rule", "running", "running_tokens", "turns", "waiting",
    )  # fmt: skip

    def __init__(self, name: str, rule: TenantRule, at: float) -> None:
        self.name = name
        self.rule = rule
        self.running = 0
        self.running_tokens = 0.0
        self.waiting = 0
        self.queued_tokens = 0.0
        self.turns: dict[Line, Turn] = {}
        self._bucket = (rule.tokens_per_minute or 0) * _BURST_MINUTES
        self._bucket_at = at
        self._promised_at = at - _LONGEST_PROMISE_S

    def adopt(self, rule: TenantRule) -> None:
        """The tenant's rule is this one from now on."""
        before, self.rule = self.rule.tokens_per_minute, rule
        most = (rule.tokens_per_minute or 0) * _BURST_MINUTES
        self._bucket = most if not before else min(self._bucket, most)

    def wait_for_tokens_s(self, charge: float, at: float) -> float:
        """How long until the minute's tokens allow this charge: 0 for now."""
        limit = self.rule.tokens_per_minute
        if limit is None:
            return 0.0
        most = limit * _BURST_MINUTES
        if at > self._bucket_at:
            self._bucket = min(most, self._bucket + (at - self._bucket_at) * limit / 60)
            self._bucket_at = at
        return max(0.0, min(charge, most) - self._bucket) * 60 / limit

    def promise_s(self, charge: float, short_s: float, at: float) -> float:
        """In how long to come back, for one that is short by `short_s`: behind those that were told
        so before.
        """
        limit = self.rule.tokens_per_minute
        own_s = min(charge, limit * _BURST_MINUTES) * 60 / limit if limit else 0.0
        self._promised_at = min(
            max(self._promised_at + own_s, at + short_s), at + max(short_s, _LONGEST_PROMISE_S)
        )
        return self._promised_at - at

    def spend(self, tokens: float) -> None:
        """So many of the minute's tokens are taken (or given back, below 0)."""
        if self.rule.tokens_per_minute is not None:
            self._bucket = min(self._bucket - tokens, self.rule.tokens_per_minute * _BURST_MINUTES)

    @property
    def at_its_limit(self) -> bool:
        """True if as many run as may."""
        return self.rule.max_concurrency is not None and self.running >= self.rule.max_concurrency


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
        """It has ended."""
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
        self.tenant.queued_tokens += one.charge

    def take(self, one: Reservation) -> None:
        """The request does not wait any more: it is admitted, refused or gone."""
        tenant = self.tenant
        one.waits = False
        self.waiting -= 1
        tenant.waiting -= 1
        tenant.queued_tokens = tenant.queued_tokens - one.charge if tenant.waiting else 0.0
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
