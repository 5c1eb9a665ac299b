"""Every reader on the worst that a stranger can send: 512 MiB and 2 s of CPU above what the loaded
program takes, and a sentence.
"""

from __future__ import annotations

import contextlib
import socket
from pathlib import Path

import pytest
from tests.support.bounded import Ran, bounded
from tests.support.machine_pace import slower
from tests.support.small_servers import METRICS, Handler, serving, vllm
from tests.support.worst_inputs import WORST, Worst

MEMORY_MIB, CPU_S = 512, 2.0
BUSY = 1.5
"""Allowed beside that for a machine that does other things too: seconds of CPU are longer there."""
SMALL = (
    "diagnose",
    "--bundle",
    str(Path(__file__).parent.parent / "data" / "bundles" / "healthy-idle"),
)


@pytest.mark.parametrize(
    "worst", [worst for worst in WORST if worst.large], ids=lambda worst: worst.name
)
def test_the_largest_ends_in_time_and_room_with_a_sentence(worst: Worst, tmp_path: Path) -> None:
    _held(worst, *bounded([worst.write(tmp_path / "given")], SMALL, MEMORY_MIB))


def test_what_is_deep_or_long_or_cannot_be_ends_in_time_and_room_with_a_sentence(
    tmp_path: Path,
) -> None:
    small = [worst for worst in WORST if not worst.large]
    assert len(small) > 25
    given = [worst.write(tmp_path / str(place)) for place, worst in enumerate(small)]
    for worst, ran in zip(small, bounded(given, SMALL, MEMORY_MIB), strict=True):
        _held(worst, ran)


def _held(worst: Worst, ran: Ran) -> None:
    told = f"{worst.name}: {ran}"
    assert ran.code in worst.codes, told
    assert worst.says in ran.out + ran.told, told
    assert ran.cpu_s <= CPU_S * BUSY * slower(), told
    assert ran.peak_mib <= MEMORY_MIB, told
    assert "Traceback" not in ran.told, told
    not_checked = "error nothing-checked" in ran.out or "error not-checked" in ran.out
    assert ran.code != 2 or ran.told.startswith("barostat") or not_checked, told


def test_endless_metrics_are_looked_at_for_as_long_as_was_said() -> None:
    with serving(_endless()) as (port, _):
        (ran,) = bounded(
            [["diagnose", f"http://127.0.0.1:{port}", "--for", "3s", "--no-trials"]],
            SMALL,
            MEMORY_MIB,
        )
    assert ran.code in (0, 1, 3, 4)
    assert ran.wall_s <= 3 + CPU_S * BUSY * slower()
    assert ran.cpu_s <= CPU_S * BUSY * slower()
    assert ran.peak_mib <= MEMORY_MIB


def _endless() -> Handler:
    """An engine whose page of metrics has no end, a valid line after another."""
    usual = vllm()
    lines = "".join(
        f'vllm:num_requests_running{{engine="0",model_name="m",x="{place}"}} 3.0\n'
        for place in range(2_000)
    ).encode()

    def handle(connection: socket.socket, request: str) -> None:
        if "/metrics" not in request.split("\r\n")[0]:
            usual(connection, request)
            return
        connection.sendall(
            b"HTTP/1.1 200 OK\r\ncontent-type: text/plain; version=0.0.4\r\nconnection: close\r\n\r\n"
            + METRICS.encode()
        )
        with contextlib.suppress(OSError):
            while True:
                connection.sendall(lines)

    return handle
