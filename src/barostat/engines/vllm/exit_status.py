"""What the exit status of a local engine says, and no more than that."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

ExitKind = Literal["clean", "failed", "refused", "told-to-stop", "killed", "shared-memory", "crashed"]

_SIGNALS: dict[int, tuple[ExitKind, str]] = {
    1: ("told-to-stop", "its terminal went away (SIGHUP)"),
    2: ("told-to-stop", "it was interrupted (SIGINT)"),
    4: ("crashed", "it ran an instruction that this CPU does not have (SIGILL)"),
    6: ("crashed", "it aborted itself (SIGABRT); a failed assertion in native code, or a collective's watchdog"),
    7: ("shared-memory", "it touched memory that is not there (SIGBUS); most often /dev/shm is full"),
    8: ("crashed", "it divided by zero in native code (SIGFPE)"),
    9: (
        "killed",
        "it was killed (SIGKILL): by the kernel for host memory, by its supervisor, or by a person; the status does not tell which",
    ),
    11: ("crashed", "native code touched memory that is not its own (SIGSEGV)"),
    15: ("told-to-stop", "it was told to stop (SIGTERM)"),
}


@dataclass(frozen=True, slots=True)
class ExitStatus:
    """One exit status in words.

    `host_oom_candidate`: a kill for host memory ends like this; so do other kills, so it needs a second witness (memory near its limit,
    a kernel line, an OOMKilled state).
    """

    kind: ExitKind
    meaning: str
    host_oom_candidate: bool = False


def exit_status(code: int) -> ExitStatus:
    """What the status means. Shapes: negative, or 128 and more, is a signal (as Python and as a shell report it).

    Source: argparse ends with 2; vLLM's `serve` with 1 where the engine core failed; signal numbers of Linux.
    """
    if code == 0:
        return ExitStatus("clean", "it ended by itself without an error")
    number = -code if code < 0 else code - 128 if code > 128 else 0
    if number:
        kind, meaning = _SIGNALS.get(number, ("crashed", f"signal {number} ended it"))
        return ExitStatus(kind, meaning, host_oom_candidate=kind == "killed")
    if code == 2:
        return ExitStatus("refused", "its command line was refused (the last lines of its log name the argument)")
    return ExitStatus("failed", "it ended with an error (its log says which)")
