"""The terminal that a live view is drawn on: its own screen, keys as they come, and everything as
it was afterwards, whatever happens.

enter   alternate screen, no cursor, keys without Enter and without echo
leave   by q, Ctrl-C, SIGTERM, SIGHUP, a crash: screen, cursor and line mode are back
Ctrl-Z  the same, then the process sleeps; fg enters again
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import termios
import tty
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from types import FrameType
from typing import Any

_ENTER, _LEAVE = "\x1b[?1049h\x1b[?25l\x1b[2J", "\x1b[?25h\x1b[?1049l"
_BEGIN, _END = "\x1b[?2026h", "\x1b[?2026l"
"""Terminals that know this show nothing of a frame before all of it is there; the others pass it
over.
"""


@dataclass(slots=True)
class Terminal:
    """An open terminal. `ended_by`: the signal that asks to leave, 0 while none has come."""

    keys: int
    screen: int
    ended_by: int = 0
    _before: list[Any] = field(default_factory=list)
    _wake: tuple[int, int] = (-1, -1)

    @contextlib.contextmanager
    def entered(self) -> Iterator[None]:
        """Within, the terminal is the view's; afterwards as before."""
        self._before = termios.tcgetattr(self.keys)
        self._wake = os.pipe()
        for end in self._wake:
            os.set_blocking(end, False)
        handled = (
            signal.SIGINT,
            signal.SIGTERM,
            signal.SIGHUP,
            signal.SIGWINCH,
            signal.SIGTSTP,
            signal.SIGCONT,
        )
        kept = {number: signal.getsignal(number) for number in handled}
        try:
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
                signal.signal(number, self._told_to_end)
            signal.signal(signal.SIGWINCH, lambda *_: self.wake())
            signal.signal(signal.SIGTSTP, self._sleep)
            self._take()
            yield
        finally:
            self._give_back()
            for number, handler in kept.items():
                signal.signal(number, handler)
            for end in self._wake:
                os.close(end)
            self._wake = (-1, -1)

    def size(self) -> tuple[int, int]:
        """Columns and lines as they are now."""
        try:
            found = os.get_terminal_size(self.screen)
        except OSError:
            return 80, 24
        return (found.columns, found.lines) if found.columns > 0 and found.lines > 0 else (80, 24)

    def draw(self, lines: Sequence[str]) -> None:
        """The frame is on the screen, sent in one piece: each line over the one that was there, the
        rest blank.
        """
        body = "\r\n".join(f"{line}\x1b[0m\x1b[K" for line in lines)
        self._write(f"{_BEGIN}\x1b[H{body}\x1b[J{_END}")

    def wait(self, within_s: float) -> str:
        """What was typed, as soon as something was; empty after a wake-up or when the time is
        over.
        """
        ready, _, _ = select.select([self.keys, self._wake[0]], [], [], max(0.0, within_s))
        if self._wake[0] in ready:
            with contextlib.suppress(BlockingIOError):
                while os.read(self._wake[0], 4096):
                    pass
        if self.keys not in ready:
            return ""
        try:
            typed = os.read(self.keys, 1024)
        except OSError:  # the terminal is gone
            typed = b""
        if not typed:
            self.ended_by = self.ended_by or signal.SIGHUP
        return typed.decode("utf-8", "replace")

    def wake(self) -> None:
        """Whoever waits goes on. May be called from any thread, and from a handler."""
        with contextlib.suppress(OSError):
            os.write(self._wake[1], b".")

    def _told_to_end(self, number: int, _frame: FrameType | None) -> None:
        self.ended_by = number
        self.wake()

    def _sleep(self, number: int, _frame: FrameType | None) -> None:
        self._give_back()
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)  # here it sleeps, until SIGCONT
        signal.signal(number, self._sleep)
        self._take()
        self.wake()

    def _take(self) -> None:
        tty.setcbreak(self.keys)
        self._write(_ENTER)

    def _give_back(self) -> None:
        with contextlib.suppress(OSError, termios.error):
            self._write(_LEAVE)
        with contextlib.suppress(OSError, termios.error):
            termios.tcsetattr(self.keys, termios.TCSADRAIN, self._before)

    def _write(self, text: str) -> None:
        left = memoryview(text.encode())
        while left:
            try:
                left = left[os.write(self.screen, left) :]
            except BlockingIOError:
                select.select([], [self.screen], [], 1.0)
