"""The loop of the live view. A separate thread samples the fleet, so that keys are handled
meanwhile.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from io import StringIO

from rich.console import Console
from rich.text import Text

from barostat.shells.cli.diagnose.top_terminal import Terminal
from barostat.shells.reports.live.frame import ABOVE, BELOW, Fleet, frame
from barostat.shells.reports.live.view import View, in_sight, keys_of, pressed

REDRAW_S = 1.0
"""Ages on the screen go on between two looks."""
ESCAPE_S = 0.05
"""A lone Esc is one once nothing has followed it for so long: over ssh a sequence may come in two
parts.
"""


@dataclass(slots=True)
class _Looks:
    """The latest sample of the thread. `failed`: the error that ended it."""

    fleet: Fleet | None = None
    failed: BaseException | None = None

    def follow(self, fleets: Iterator[Fleet], terminal: Terminal) -> None:
        """Take every sample until there are no more or one fails."""
        try:
            for fleet in fleets:
                self.fleet = fleet
                terminal.wake()
        except BaseException as error:  # shown by whoever waits for the next look
            self.failed = error
            terminal.wake()


def show(arguments: argparse.Namespace, fleets: Iterator[Fleet]) -> int:
    """Draw until a key, a signal or a failure ends it, then restore the terminal; return the exit
    code.

    Errors: those of the samples.
    """
    keys = (
        sys.stdin.fileno()
        if sys.stdin is not None and sys.stdin.isatty()
        else os.open("/dev/tty", os.O_RDWR)
    )
    terminal, looks = Terminal(keys, sys.stdout.fileno()), _Looks()
    with terminal.entered():
        threading.Thread(
            target=looks.follow, args=(fleets, terminal), daemon=True, name="looks"
        ).start()
        _loop(
            terminal,
            looks,
            Fleet(" ".join(arguments.target), (), time.time(), time.time(), arguments.interval_s),
        )
    if looks.failed is not None:
        raise looks.failed
    return 0 if terminal.ended_by in (0, signal.SIGINT) else 128 + terminal.ended_by


def _loop(terminal: Terminal, looks: _Looks, empty: Fleet) -> None:
    """Keys in, frames out."""
    view, held, unread = View(), empty, ""
    write = _writer()
    while not view.over and not terminal.ended_by and looks.failed is None:
        if not view.paused:
            held = looks.fleet or empty
        width, height = terminal.size()
        room = max(1, height - ABOVE - BELOW)
        view = in_sight(view, held.rows, room)
        terminal.draw(
            write(
                frame(
                    replace(held, now=max(held.now, time.time() if not view.paused else held.now)),
                    view,
                    width,
                    height,
                )
            )
        )
        typed = unread + terminal.wait(ESCAPE_S if unread else REDRAW_S)
        if typed.endswith(("\x1b", "\x1b[", "\x1bO")) and typed != unread:
            unread = typed
            continue
        unread = ""
        for key in keys_of(typed):
            view = pressed(view, key, held.rows, room)


def _writer() -> _Writer:
    file = StringIO()
    return _Writer(
        Console(
            file=file, force_terminal=True, width=1000, highlight=False, markup=False, emoji=False
        ),
        file,
    )


@dataclass(frozen=True, slots=True)
class _Writer:
    """Lines with their colours, as the terminal at hand shows them (none with NO_COLOR)."""

    console: Console
    file: StringIO

    def __call__(self, lines: Sequence[Text]) -> list[str]:
        """Each line with its escape sequences."""
        for line in lines:
            self.console.print(line, soft_wrap=True, end="\n")
        text = self.file.getvalue()
        self.file.seek(0)
        self.file.truncate()
        return text.split("\n")[: len(lines)]
