"""A yes is a yes; whatever else a person does at the prompt is a no, and ends it."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator

import pytest

from barostat.shells.cli.mitigate.confirmation import asked


@pytest.fixture
def person(monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """The other end of the terminal that is asked."""
    theirs, ours = os.openpty()
    with os.fdopen(ours, "r") as terminal:
        monkeypatch.setattr("sys.stdin", terminal)
        yield theirs
    os.close(theirs)


@pytest.mark.parametrize(
    ("typed", "answer"),
    [
        (b"y\n", True),
        (b" YES \n", True),
        (b"n\n", False),
        (b"\n", False),
        (b"yep\n", False),
        (b"\x04", False),
    ],
)
def test_only_yes_is_yes(typed: bytes, answer: bool, person: int) -> None:
    async def go() -> bool:
        asking = asyncio.create_task(asked())
        await asyncio.sleep(0)
        os.write(person, typed)
        return await asyncio.wait_for(asking, 10.0)

    assert asyncio.run(go()) is answer


def test_who_stops_asking_is_not_kept_waiting(person: int) -> None:
    async def go() -> None:
        asking = asyncio.create_task(asked())
        await asyncio.sleep(0)
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking

    asyncio.run(go())
    os.write(person, b"still there\n")


def test_nobody_is_no(capsys: pytest.CaptureFixture[str]) -> None:
    assert asyncio.run(asked()) is False
    assert "--yes answers for this" in capsys.readouterr().err


def test_an_input_that_was_closed_from_the_start_is_no(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", None)
    assert asyncio.run(asked()) is False
