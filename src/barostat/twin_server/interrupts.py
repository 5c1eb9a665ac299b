"""Ctrl-C from the first moment on. One that Python loses while it imports (an exception in a
callback is only printed), or that the shell had switched off for what it starts in the background,
is not forgotten.
"""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Callable, Iterator
from types import FrameType


@contextlib.contextmanager
def remembered() -> Iterator[Callable[[], bool]]:
    """Ctrl-C ends what runs inside; returns whether it was pressed."""
    pressed = False

    def press(_signal: int, _frame: FrameType | None) -> None:
        nonlocal pressed
        pressed = True
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGINT, press)
    try:
        yield lambda: pressed
    finally:
        signal.signal(signal.SIGINT, before)
