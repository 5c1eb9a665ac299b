"""The clock that nobody can set back."""

from __future__ import annotations

import time

import pytest

from barostat.io.clock import SteadyClock


def test_time_goes_on_from_the_start_whatever_happens_to_the_wall_clock(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = SteadyClock()
    before = clock.now()
    assert before == pytest.approx(time.time(), abs=1)
    assert clock.problem() == ""
    monkeypatch.setattr(time, "time", lambda: before - 3600)
    assert clock.now() >= before
    assert clock.problem().startswith("the clock of this machine was set back by 3600 s")
    monkeypatch.setattr(time, "time", lambda: before + 60)
    assert "set forward by 60 s" in clock.problem()


def test_sleeping_takes_its_time_and_nothing_takes_none() -> None:
    clock = SteadyClock()
    started = time.monotonic()
    clock.sleep(-1)
    clock.sleep(0)
    at_once_s = time.monotonic() - started
    clock.sleep(0.1)
    assert time.monotonic() - started >= at_once_s + 0.1
