"""A real pseudo-terminal with a program in it, read as a person reads it: the screen's characters,
and what was left behind.
"""

from __future__ import annotations

import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import termios
import time
from collections.abc import Callable, Sequence
from types import TracebackType

import pyte


class Terminal:
    """A program in a terminal of so many columns and lines. `sent`: all bytes that it has written;
    `writes`: them, read by read.
    """

    def __init__(
        self,
        command: Sequence[str],
        *,
        columns: int = 80,
        lines: int = 24,
        env: dict[str, str] | None = None,
    ) -> None:
        """It is started at once."""
        self.screen = pyte.Screen(columns, lines)
        self._stream = pyte.ByteStream(self.screen)
        self.sent = b""
        self._master, self._slave = pty.openpty()
        self.resize(columns, lines, tell=False)
        self.before = termios.tcgetattr(self._slave)
        kept = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
        self.process = subprocess.Popen(
            command, stdin=self._slave, stdout=self._slave, stderr=self._slave, start_new_session=True, preexec_fn=self._own,
            env={**kept, "TERM": "xterm-256color", **(env or {})},
        )  # fmt: skip

    def _own(self) -> None:
        fcntl.ioctl(self._slave, termios.TIOCSCTTY, 0)

    def __enter__(self) -> Terminal:
        """The terminal."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        where: TracebackType | None,
    ) -> None:
        """The program has ended, the terminal is closed."""
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(10)
        os.close(self._master)
        os.close(self._slave)

    @property
    def text(self) -> str:
        """The screen as it is."""
        return "\n".join(line.rstrip() for line in self.screen.display)

    @property
    def after(self) -> list[object]:
        """The settings of the line as they are now."""
        return termios.tcgetattr(self._slave)

    def type(self, keys: str) -> None:
        """A person presses these."""
        os.write(self._master, keys.encode())

    def resize(self, columns: int, lines: int, *, tell: bool = True) -> None:
        """The window has another size."""
        fcntl.ioctl(self._slave, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
        self.screen.resize(lines, columns)
        if tell:
            os.killpg(self.process.pid, signal.SIGWINCH)

    def look(self, for_s: float = 0.1) -> str:
        """The screen after what came in that time."""
        end = time.monotonic() + for_s
        while (left := end - time.monotonic()) > 0:
            ready, _, _ = select.select([self._master], [], [], left)
            if ready:
                part = os.read(self._master, 65536)
                self.sent += part
                self._stream.feed(part)
        return self.text

    def until(self, holds: Callable[[str], bool], within_s: float = 20.0) -> str:
        """The screen once that holds."""
        deadline = time.monotonic() + within_s
        while not holds(self.look()):
            assert time.monotonic() < deadline, f"it never came to that:\n{self.text}"
        return self.text

    def ended(self, within_s: float = 10.0) -> int:
        """The exit code."""
        deadline = time.monotonic() + within_s
        while self.process.poll() is None:
            self.look(0.05)
            assert time.monotonic() < deadline, f"it does not end:\n{self.text}"
        self.look(0.1)
        return self.process.returncode
