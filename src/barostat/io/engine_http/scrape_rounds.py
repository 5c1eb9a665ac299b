"""Looks at many engines at a time, of which none waits for a slow one."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from barostat.io.engine_http.scraper import PROBE_S, Scraper

AT_ONCE = 32
"""Each look has a time limit that begins when it is sent. If a thousand were sent together, they
would wait for each other and all would be late.
"""
PER_S = 100.0
"""Looks that are expected to end in a second: an API server passes on as many with ease."""


def whole_round_s(engines: int, look_s: float) -> float:
    """Return how long to wait for one scrape of each engine. `look_s`: the limit of one scrape."""
    return look_s + engines / PER_S


@dataclass(slots=True, repr=False)  # asyncio writes it out at every run, with all that it holds
class ScrapeRounds:
    """Scrapes in progress: at most one per name and AT_ONCE in total, plus the one-token probes."""

    _busy: dict[str, asyncio.Task[None]] = field(default_factory=dict)
    _tokens: list[asyncio.Task[None]] = field(default_factory=list)
    _seats: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(AT_ONCE))

    async def take(self, scrapers: Iterable[tuple[str, Scraper]], within_s: float) -> None:
        """Scrape each, unless its last scrape is still in progress; scrapes longer than `within_s`
        continue in the background.
        """
        for name, scraper in scrapers:
            if name not in self._busy or self._busy[name].done():
                self._busy[name] = asyncio.create_task(self._look(scraper))
        if self._busy:
            await asyncio.wait(self._busy.values(), timeout=within_s)
        for task in self._busy.values():
            if task.done():
                task.result()

    async def _look(self, scraper: Scraper) -> None:
        async with self._seats:
            await scraper.look()

    def send_tokens(self, scrapers: Iterable[Scraper]) -> None:
        """Send a one-token request to each engine that answered, in the background."""
        self._tokens = [
            asyncio.create_task(scraper.send_token()) for scraper in scrapers if scraper.answered
        ]

    async def settle(self) -> None:
        """Wait for scrapes in progress, until their time-out."""
        pending = [task for task in self._all() if not task.done()]
        if pending:
            await asyncio.wait(pending, timeout=PROBE_S)

    async def cancel(self) -> None:
        """Nothing is under way any more."""
        for task in self._all():
            task.cancel()
        await asyncio.gather(*self._all(), return_exceptions=True)

    def _all(self) -> Iterator[asyncio.Task[None]]:
        yield from self._busy.values()
        yield from self._tokens
