"""Pure work over many items, on all cores.

The processes are forks: they inherit what the work reads, and only results travel, through a pipe
for each. Where forking is not safe (other systems than Linux, several threads), and for few items,
the work runs in this process.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable, Sequence
from multiprocessing import get_context
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from typing import TypeVar

T = TypeVar("T")
R = TypeVar("R")

FEWEST_ITEMS = 50
"""For each process: fewer are done sooner than a process begins."""
MOST_PROCESSES = 8
"""Each takes memory of its own for what it makes."""


def usable_cores() -> int:
    """Cores that this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:
        return os.cpu_count() or 1


def on_all_cores(work: Callable[[T], R], items: Sequence[T], cores: int | None = None) -> list[R]:
    """Return `[work(item) for item in items]`. `work`: pure. The results are those of one process;
    an item's error is raised as there.
    """
    count = min(cores or usable_cores(), MOST_PROCESSES, len(items) // FEWEST_ITEMS)
    if count < 2 or sys.platform != "linux" or threading.active_count() > 1:
        return [work(item) for item in items]
    first_result = work(items[0])  # loads, before the fork, what is loaded on first use
    shares = [items[first::count] for first in range(count)]  # neighbours may be alike in cost
    others = [_begun(work, share) for share in shares[1:]]
    found: list[R] = [first_result] * len(items)
    try:
        found[::count] = [first_result, *(work(item) for item in shares[0][1:])]
        for first, (pipe, _) in enumerate(others, 1):
            found[first::count] = _results(pipe) or [work(item) for item in shares[first]]
    finally:
        for pipe, process in others:
            process.kill()
            process.join()
            pipe.close()
    return found


def _begun(work: Callable[[T], R], share: Sequence[T]) -> tuple[Connection, BaseProcess]:
    context = get_context("fork")
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(target=_work, args=(theirs, work, share), daemon=True)
    process.start()
    theirs.close()
    return ours, process


def _work(pipe: Connection, work: Callable[[T], R], share: Sequence[T]) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides what Ctrl-C means
    try:
        found = [work(item) for item in share]
    except Exception:
        return  # the parent does this share again and meets the error itself
    pipe.send(found)


def _results(pipe: Connection) -> list[R] | None:
    """The results of one process; None if it ended without any."""
    try:
        found: list[R] = pipe.recv()
    except (EOFError, OSError):
        return None
    return found
