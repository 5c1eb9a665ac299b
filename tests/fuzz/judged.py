"""One input, fed within its limits: accepted, refused, or a crash."""

from __future__ import annotations

import contextlib
import re
import resource
import signal
import sys
import traceback
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

from tests.fuzz.front import Front

import barostat

SLOWEST_S = 2.0
"""CPU time of the process for one input: the clock on the wall would measure the machine."""
MOST_BYTES = 512 << 20
"""Address space beyond what the process had before the input."""
_SOURCE = str(Path(barostat.__file__).parent)
_OWN = re.compile(r"\d+|'[^']*'|\"[^\"]*\"|`[^`]*`")
Line = tuple[CodeType, int]


class TooSlow(BaseException):
    """The input's time is over. No Exception: nobody on the way takes it for his own."""


@dataclass(frozen=True, slots=True)
class Crash:
    """`what`: kind and place, the same for inputs that show the same. `trace`: for a person."""

    what: str
    trace: str


@dataclass(frozen=True, slots=True)
class Clean:
    """`answer`: empty where it was accepted, else the refusal without what is of this input
    alone.
    """

    answer: str


@contextlib.contextmanager
def limited() -> Iterator[None]:
    """Memory is bounded from here on; what hangs can be stopped."""
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + MOST_BYTES, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


def _over(_: int, __: FrameType | None) -> None:
    raise TooSlow


def judged(
    front: Front,
    data: bytes,
    folder: Path,
    *,
    slowest_s: float = SLOWEST_S,
    lines: set[Line] | None = None,
) -> Clean | Crash:
    """What the front makes of the input. `lines`: filled with the lines of the package that were
    walked, at a tenth of the pace.
    """
    before = signal.signal(signal.SIGPROF, _over)
    try:
        signal.setitimer(signal.ITIMER_PROF, slowest_s, 0.5)
        try:
            if lines is not None:
                sys.settrace(_tracer(lines))
            front.feed(data, folder)
        finally:
            sys.settrace(None)
            signal.setitimer(signal.ITIMER_PROF, 0)
    except front.refusals as refusal:
        return Clean(f"{type(refusal).__name__}: {_OWN.sub('_', str(refusal))[:120]}")
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        return Crash(
            _signature(error), "".join(traceback.format_exception(error, limit=-12))[-6000:]
        )
    finally:
        signal.signal(signal.SIGPROF, before)
    return Clean("")


def _signature(error: BaseException) -> str:
    place, found = "", error.__traceback__
    while found is not None:
        code = found.tb_frame.f_code
        if code.co_filename.startswith(_SOURCE):
            place = f" in {code.co_filename.removeprefix(_SOURCE)}:{code.co_name}"
        found = found.tb_next
    told = _OWN.sub("_", str(error))[:60] if isinstance(error, AssertionError) else ""
    return f"{type(error).__name__}{place}{f' ({told})' if told else ''}"


def _tracer(lines: set[Line]) -> Any:
    def within(frame: FrameType, event: str, _: Any) -> Any:
        if event == "line":
            lines.add((frame.f_code, frame.f_lineno))
        return within

    def entered(frame: FrameType, _: str, __: Any) -> Any:
        return within if frame.f_code.co_filename.startswith(_SOURCE) else None

    return entered
