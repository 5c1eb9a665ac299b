"""Many looks at a time: a slow engine keeps nobody waiting, and is not asked twice at once."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, cast

import pytest

from barostat.io.engine_http.scrape_rounds import ScrapeRounds

if TYPE_CHECKING:
    from barostat.io.engine_http.scraper import Scraper


class _Engine:
    """Answers when it is let; counts what it was asked."""

    def __init__(self, *, answers: bool = True, fails: bool = False) -> None:
        self.may, self.fails, self.looks, self.tokens, self.answered = (
            asyncio.Event(),
            fails,
            0,
            0,
            answers,
        )
        if answers:
            self.may.set()

    async def look(self) -> None:
        self.looks += 1
        await self.may.wait()
        if self.fails:
            raise RuntimeError("a bug of ours")

    async def send_token(self) -> None:
        self.tokens += 1


def _named(**engines: _Engine) -> list[tuple[str, Scraper]]:
    return [(name, cast("Scraper", engine)) for name, engine in engines.items()]


def test_a_slow_engine_is_not_asked_again_until_it_has_answered() -> None:
    async def story() -> tuple[int, int]:
        quick, slow, looks = _Engine(), _Engine(answers=False), ScrapeRounds()
        for _ in range(3):
            await looks.take(_named(quick=quick, slow=slow), 0.001)
        assert (quick.looks, slow.looks) == (3, 1)
        slow.may.set()
        await looks.settle()
        await looks.take(_named(quick=quick, slow=slow), 1.0)
        await looks.cancel()
        return quick.looks, slow.looks

    assert asyncio.run(story()) == (4, 2)


def test_only_who_answers_is_asked_for_a_token() -> None:
    async def story() -> list[int]:
        engines, looks = [_Engine(), _Engine(answers=False)], ScrapeRounds()
        looks.send_tokens(cast("list[Scraper]", engines))
        await looks.settle()
        return [engine.tokens for engine in engines]

    assert asyncio.run(story()) == [1, 0]


def test_a_bug_in_a_look_is_not_swallowed_and_what_is_cancelled_is_over() -> None:
    async def story() -> None:
        looks, slow = ScrapeRounds(), _Engine(answers=False)
        with pytest.raises(RuntimeError, match="a bug of ours"):
            await looks.take(_named(slow=slow, broken=_Engine(fails=True)), 0.5)
        await looks.cancel()
        assert len(asyncio.all_tasks()) == 1

    asyncio.run(story())
