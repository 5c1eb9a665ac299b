"""`barostat top` in a real pseudo-terminal over live twins: what a person sees, what keys do, and
the terminal afterwards.
"""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from dev.load import Background, Load
from dev.twin_engine import TwinEngine
from tests.support.terminal import Terminal

BAROSTAT = str(Path(sys.executable).with_name("barostat"))
SMALL = ("--max-model-len", "4096", "--num-gpu-blocks-override", "64", "--max-num-seqs", "64")
LARGE = ("--max-model-len", "4096", "--max-num-seqs", "64")


@pytest.fixture(scope="module")
def fleet() -> Iterator[tuple[str, str]]:
    """Addresses of two twins: one in KV pressure, one idle."""
    with TwinEngine(*SMALL, shape="small") as pressed, TwinEngine(*LARGE, shape="small") as idle:
        pressed.wait_ready(within_s=60)
        idle.wait_ready(within_s=60)
        with Background(
            pressed.url, Load(clients=40, prompt_tokens=(200, 400), output_tokens=(300, 600))
        ):
            yield pressed.url, idle.url


def top(
    fleet: tuple[str, str],
    *more: str,
    columns: int = 80,
    lines: int = 24,
    env: dict[str, str] | None = None,
) -> Terminal:
    return Terminal(
        [BAROSTAT, "top", *fleet, "--interval", "1s", *more], columns=columns, lines=lines, env=env
    )


def row_of(screen: str, url: str) -> str:
    port = url.rpartition(":")[2]
    return next(
        (
            line
            for line in screen.splitlines()
            if f"{port} " in line and not line.startswith("barostat")
        ),
        "",
    )


def as_before(terminal: Terminal) -> None:
    assert terminal.after == terminal.before
    assert terminal.sent.rstrip().endswith(b"\x1b[?25h\x1b[?1049l")
    assert terminal.sent.count(b"\x1b[?1049h") == terminal.sent.count(b"\x1b[?1049l")


def test_a_person_sees_which_replica_is_in_trouble_and_leaves_without_a_trace(
    fleet: tuple[str, str],
) -> None:
    with top(fleet) as terminal:
        screen = terminal.until(
            lambda text: (
                "kv-preemption-thrash" in row_of(text, fleet[0])
                and "healthy-idle" in row_of(text, fleet[1])
            ),
            40,
        )
        lines = screen.splitlines()
        assert max(map(len, lines)) <= 80
        assert lines[3].startswith(" REPLICA")
        assert "VERDICTv" in lines[3]
        assert screen.index("kv-preemption-thrash") < screen.index("healthy-idle")
        assert row_of(screen, fleet[0]) == lines[4]  # the worst first
        assert "KV pool is too small" in lines[-3] + lines[-2]  # what is wrong, in a sentence
        terminal.type("q")
        assert terminal.ended() == 0
        as_before(terminal)


def test_keys_sort_filter_choose_pause_and_help(fleet: tuple[str, str]) -> None:
    with top(fleet) as terminal:
        terminal.until(lambda text: "healthy-idle" in row_of(text, fleet[1]), 40)
        terminal.type(">>")
        terminal.until(lambda text: "REPLICAv" in text)
        terminal.type("r")
        terminal.until(lambda text: "REPLICA^" in text)
        terminal.type("\x1b[C")
        terminal.until(lambda text: " KVv" in text)
        terminal.type("/idle\r")
        terminal.until(
            lambda text: (
                not row_of(text, fleet[0]) and row_of(text, fleet[1]) != "" and "1 of 2" in text
            )
        )
        terminal.type("\x1b")
        terminal.until(lambda text: row_of(text, fleet[0]) != "")
        terminal.type("\x1b[B")
        terminal.until(
            lambda text: (
                row_of(text, fleet[0]).startswith(">") or row_of(text, fleet[1]).startswith(">")
            )
        )
        terminal.type("?")
        terminal.until(lambda text: "turn the order around" in text)
        terminal.type("x")
        terminal.until(lambda text: "turn the order around" not in text)
        terminal.type(" ")
        paused = terminal.until(lambda text: "PAUSED" in text)
        assert terminal.look(2.5) == paused
        terminal.type(" q")
        assert terminal.ended() == 0


def test_it_follows_the_window_and_is_readable_without_colour(fleet: tuple[str, str]) -> None:
    with top(fleet, columns=120, lines=30, env={"NO_COLOR": "1"}) as terminal:
        terminal.until(lambda text: "kv-preemption-thrash" in row_of(text, fleet[0]), 40)
        terminal.resize(60, 12)
        screen = terminal.until(
            lambda text: (
                "KV" in text and max(map(len, text.splitlines())) <= 60 and "kv-preemption" in text
            )
        )
        assert "ITL" not in screen
        assert "q quit" in screen.splitlines()[11]
        terminal.resize(20, 4)
        terminal.look(1.5)
        terminal.resize(100, 20)
        terminal.until(lambda text: "ITL" in text and "q quit" in text)
        assert not any(f"\x1b[{code}m".encode() in terminal.sent for code in (31, 32, 33, "1;31"))
        terminal.type("\x03")
        assert terminal.ended() == 0
        as_before(terminal)


def test_sigterm_and_a_stop_leave_the_terminal_as_it_was(fleet: tuple[str, str]) -> None:
    with top(fleet) as terminal:
        terminal.until(lambda text: row_of(text, fleet[1]) != "", 40)
        terminal.process.send_signal(signal.SIGTERM)
        assert terminal.ended() == 128 + signal.SIGTERM
        as_before(terminal)


def test_nothing_there_is_one_sentence_on_a_screen_that_is_back() -> None:
    with Terminal([BAROSTAT, "top", "http://127.0.0.1:9"]) as terminal:
        assert terminal.ended(20) == 4
        assert "refuses the connection" in " ".join(terminal.text.split())
        assert terminal.after == terminal.before


def test_what_is_no_terminal_gets_lines(fleet: tuple[str, str]) -> None:
    done = subprocess.run(
        [BAROSTAT, "top", *fleet, "--once", "--interval", "3s"],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0].split()[:4] == ["TIME", "REPLICA", "KV", "RUN"]
    assert len(lines) == 3
    assert "\x1b" not in done.stdout
    assert len(lines[1].split()) == 11
