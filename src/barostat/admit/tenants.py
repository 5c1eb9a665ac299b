"""One tenant: what runs and waits of it, and its tokens per minute.

Tokens per minute are a bucket that fills by a sixtieth each second and holds a quarter of a
minute's: in any minute at most 1.25 times the limit is admitted (by what was expected; what was
expected wrongly is settled when the answer ends), and a request larger than the bucket is admitted
when the bucket is full. Who is refused is told when its tokens will have come in behind those of
who was told so before.
"""

from __future__ import annotations

from barostat.admit.rules import TenantRule

_BURST_MINUTES = 0.25
_LONGEST_PROMISE_S = 60.0


class TenantLedger:
    """One tenant. Mutable. `running` requests are admitted, `waiting` wait, each with their
    charges.
    """

    __slots__ = (
        "_bucket", "_bucket_at", "_promised_at", "name", "rule", "running", "running_tokens", "waiting",
    )  # fmt: skip

    def __init__(self, name: str, rule: TenantRule, at: float) -> None:
        self.name = name
        self.rule = rule
        self.running = 0
        self.running_tokens = 0.0
        self.waiting = 0
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
