"""Tokens per second of one sequence on each engine, to estimate responses that Envoy does not show.

tokens/s of one sequence = (generated tokens since the last scrape) / seconds / (running sequences)
"""

from __future__ import annotations

from barostat.gateway.watching.engine_page import GENERATED, RUNNING, first_of

_WEIGHT = 0.3


class Pace:
    """The pace of one engine. Mutable. `tokens_per_s` is None until the engine has generated
    tokens.
    """

    __slots__ = ("_at", "_generated", "_running", "tokens_per_s")

    def __init__(self) -> None:
        self.tokens_per_s: float | None = None
        self._generated = 0.0
        self._running = 0.0
        self._at: float | None = None

    def seen(self, page: bytes, at: float) -> None:
        """The engine's /metrics said this at that time (seconds)."""
        generated = sum(first_of(page, GENERATED))
        running = sum(first_of(page, RUNNING))
        if (
            self._at is not None
            and at > self._at
            and generated > self._generated
            and running + self._running > 0
        ):
            sequences = (running + self._running) / 2
            now = (generated - self._generated) / (at - self._at) / max(sequences, 1.0)
            before = self.tokens_per_s
            self.tokens_per_s = now if before is None else before + _WEIGHT * (now - before)
        self._generated, self._running, self._at = generated, running, at

    def produced(self, for_s: float) -> int:
        """Return the estimated tokens of one sequence after `for_s` seconds; 0 if the pace is
        unknown.
        """
        return int(for_s * self.tokens_per_s) if self.tokens_per_s is not None else 0
