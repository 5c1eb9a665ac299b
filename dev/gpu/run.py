"""One item after the other, within the minutes: what does not fit into what is left is not begun,
and what takes too long is ended.
"""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import FrameType

from dev.gpu.fitting import left_out
from dev.gpu.item import Bench, Item, NotMeasured, say
from dev.gpu.journal import ITEMS

STOPPING_S = 20.0
"""Kept back at the end of the budget, in which an engine is stopped."""
LEAST_LIMIT_S, LIMIT_FACTOR = 420.0, 3.0
"""The first start on a machine reads vLLM from the disk and compiles: several times what a later
one takes.
"""
DONE, FAILED, OUT_OF_TIME = "done", "not measured", "out of time"


class OverTime(Exception):
    """An item's own time is over."""


@dataclass(slots=True)
class Tally:
    """What became of the run-book. Names, with the reason where there is one."""

    done: list[str] = field(default_factory=list)
    before: list[str] = field(default_factory=list)
    failed: dict[str, str] = field(default_factory=dict)
    left_out: dict[str, str] = field(default_factory=dict)
    no_time: list[str] = field(default_factory=list)
    interrupted: bool = False


def run_book(items: Sequence[Item], bench: Bench, minutes: float) -> Tally:
    """As much of it as there is time for is measured and on record. An interruption ends it, with
    what is done.
    """
    outcome, ends = Tally(), time.monotonic() + 60 * minutes
    try:
        for number, item in enumerate(items, start=1):
            _one(item, f"{number}/{len(items)}", bench, ends, outcome)
    except KeyboardInterrupt:
        outcome.interrupted = True
    finally:
        bench.close()
    return outcome


def _one(item: Item, place: str, bench: Bench, ends: float, outcome: Tally) -> None:
    finished = bench.journal.finished()
    if item.name in finished and not bench.again:
        outcome.before.append(item.name)
        return
    why = left_out(item, bench.here, bench.journal)
    if not why and item.after and finished.get(item.after, {}).get("outcome") != DONE:
        why = f"needs {item.after}, which is not done"
    if why:
        say(f"{place} {item.name}: left out: {why}")
        outcome.left_out[item.name] = why
        return
    left_s, needed_s = ends - time.monotonic(), 60 * item.minutes * how_slow(item, bench)
    if needed_s > left_s:
        say(
            f"{place} {item.name}: not begun: it takes about {needed_s / 60:.1f} min, and "
            f"{max(0.0, left_s) / 60:.1f} are left"
        )
        outcome.no_time.append(item.name)
        return
    say(
        f"{place} {item.name} ({item.kind}, about {needed_s / 60:.1f} min; "
        f"{left_s / 60:.1f} min left)"
    )
    limit_s = min(max(LEAST_LIMIT_S, LIMIT_FACTOR * needed_s), max(needed_s, left_s - STOPPING_S))
    result, told, took_s = measured(item, bench, limit_s)
    say(f"{place} {item.name}: {result} in {took_s:.0f} s: {told}")
    bench.journal.put(ITEMS, {
        "id": item.name, "kind": item.kind, "outcome": result, "told": told, "seconds": round(took_s, 1), "expected_s": 60 * item.minutes,
        "ended": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
    })  # fmt: skip
    if result == DONE:
        outcome.done.append(item.name)
    elif result == FAILED:
        outcome.failed[item.name] = told
    else:
        outcome.no_time.append(item.name)


def measured(item: Item, bench: Bench, limit_s: float) -> tuple[str, str, float]:
    """What became of the item, what came, and how long it took; no engine of it is left."""
    began = time.monotonic()
    try:
        with _limit(limit_s):
            result, told = DONE, item.measure(bench)
    except OverTime:
        result, told = OUT_OF_TIME, f"not finished within {limit_s:.0f} s"
    except (NotMeasured, RuntimeError, OSError, ValueError, LookupError, AssertionError) as error:
        # An engine that dies in the midst shows itself in whatever its measurement was about to do.
        result, told = (
            FAILED,
            f"{'' if isinstance(error, NotMeasured) else type(error).__name__ + ': '}{error!s:.600}",
        )
    finally:
        bench.close()
    return result, told, time.monotonic() - began


def how_slow(item: Item, bench: Bench) -> float:
    """How much longer than the book says the items of its kind took here, those that are done; of
    any kind, where none of its own is.
    """
    every = [row for row in bench.journal.rows(ITEMS) if row.get("outcome") == DONE]
    done = [row for row in every if row.get("kind") == item.kind] or every
    expected_s = sum(row["expected_s"] for row in done)
    return (
        min(4.0, max(0.5, sum(row["seconds"] for row in done) / expected_s)) if expected_s else 1.0
    )


@contextmanager
def _limit(limit_s: float) -> Iterator[None]:
    """OverTime is raised in the block when its time is over, whatever it waits for."""

    def over(number: int, frame: FrameType | None) -> None:
        raise OverTime(f"signal {number} at {frame}")

    before = signal.signal(signal.SIGALRM, over)
    signal.setitimer(signal.ITIMER_REAL, max(0.01, limit_s))
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
