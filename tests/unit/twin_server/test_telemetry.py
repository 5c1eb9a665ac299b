"""What the twin tells of itself, also where nobody listens."""

from __future__ import annotations

import contextlib
import io
import os
import sys

import pytest

from barostat.shells.cli.main import parser
from barostat.shells.cli.simulate.twin_inputs import Unstartable, serving_of
from barostat.twin_server.telemetry import Telemetry


class _Unbuffered(io.TextIOWrapper):
    """A text over a pipe that keeps nothing back to fail with when it is closed."""

    def __init__(self, number: int) -> None:
        super().__init__(io.FileIO(number, "w"), write_through=True)


def test_a_log_whose_reader_has_gone_ends_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """`barostat twin 2>&1 | head`: the tasks that end the server write lines first, and must get
    past them.
    """
    made = serving_of(parser().parse_args(["twin", "--kv-blocks", "400", "--latency", "base=0.01"]))
    assert not isinstance(made, Unstartable)
    telemetry = Telemetry(made[0], os.getpid())
    reading, writing = os.pipe()
    os.close(reading)
    with contextlib.closing(_Unbuffered(writing)) as gone:
        monkeypatch.setattr(sys, "stderr", gone)
        with pytest.raises(BrokenPipeError):
            print("a line", file=sys.stderr, flush=True)
        telemetry.log("INFO", "launcher.py:254", "[shutdown] API server: shutdown triggered")
