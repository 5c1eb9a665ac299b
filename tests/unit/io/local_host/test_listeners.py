"""The engine behind a local port."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.support.small_servers import closed_port

from barostat.io.local_host.listeners import engine_behind

SERVER = (
    "import socket, sys, time\ns = socket.create_server((sys.argv[2], 0), "
    "family=socket.AF_INET6 if ':' in sys.argv[2] else socket.AF_INET)\nprint(s.getsockname()[1], flush=True)\ntime.sleep(60)\n"
)


@contextmanager
def _server(path: Path, host: str = "127.0.0.1") -> Iterator[tuple[int, int]]:
    """A process that listens; gives its number and its port."""
    path.write_text(SERVER)
    started = subprocess.Popen(
        [sys.executable, str(path), "svc/vllm", host], stdout=subprocess.PIPE, text=True
    )
    try:
        assert started.stdout is not None
        yield started.pid, int(started.stdout.readline())
    finally:
        started.kill()
        started.communicate()


def test_the_process_that_listens_is_found_if_it_is_an_engine(tmp_path: Path) -> None:
    with _server(tmp_path / "vllm") as (pid, port):
        assert engine_behind(port) == pid


def test_one_that_listens_on_ipv6_is_found_too(tmp_path: Path) -> None:
    with _server(tmp_path / "vllm", "::1") as (pid, port):
        assert engine_behind(port) == pid


def test_a_tunnel_is_no_engine(tmp_path: Path) -> None:
    with _server(tmp_path / "port-forward") as (_, port):
        assert engine_behind(port) is None


def test_nothing_behind_a_port_is_nothing(tmp_path: Path) -> None:
    assert engine_behind(closed_port()) is None
    assert engine_behind(8000, tmp_path) is None
