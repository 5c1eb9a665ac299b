"""Yes or no from a person at the terminal: also Ctrl-D and Ctrl-C are answers."""

from __future__ import annotations

import os
import sys

from barostat.shells.cli.everywhere import for_people
from barostat.shells.cli.mitigate.common_arguments import print_progress

MOST_BYTES = 4096


async def asked() -> bool:
    """Return the user's answer at the terminal; False without a terminal and at the end of input.

    Waits without a thread, so that the caller can stop waiting and the program can exit.
    """
    import asyncio

    if sys.stdin is None or not sys.stdin.isatty():  # None: closed before the program began
        print_progress("nobody is there to answer; --yes answers for this")
        return False
    print("carry this out? [y/N] ", end="", file=for_people(), flush=True)
    answered = asyncio.Event()
    loop, terminal = asyncio.get_running_loop(), sys.stdin.fileno()
    loop.add_reader(terminal, answered.set)
    try:
        await answered.wait()
        answer = os.read(terminal, MOST_BYTES)
    except OSError:  # the terminal is gone
        answer = b""
    finally:
        loop.remove_reader(terminal)
    if not answer.endswith(b"\n"):
        print_progress("")
    return answer.strip().lower() in (b"y", b"yes")
