"""The harness finds what it is there to find, a planted defect of each kind; a front that answers
as it says is left alone.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from tests.fuzz import fuzz
from tests.fuzz.front import Feed, Front, Wrong
from tests.fuzz.fuzz import Outcome, _hangs, table
from tests.fuzz.hunt import Hunt
from tests.fuzz.judged import Clean, Crash, judged, limited
from tests.fuzz.mutate import mutated

from barostat.core.errors import InputError


def front(feed: Feed, *seeds: bytes) -> Front:
    return Front("planted", lambda: list(seeds or (b"a: 1\n",)), feed, "lines")


def hunted(feed: Feed, folder: Path, inputs: int, *seeds: bytes) -> Hunt:
    hunt = Hunt(front(feed, *seeds), folder, folder, seed=1)
    hunt.run(lambda done: done < inputs and not hunt.crashes)
    return hunt


def _fails_on_nine(data: bytes, _: Path) -> None:
    if b"9" in data:
        raise ValueError("nine")


def test_a_traceback_is_found_shrunk_and_saved(tmp_path: Path) -> None:
    hunt = hunted(_fails_on_nine, tmp_path, 400)
    ((what, path),) = hunt.crashes.items()
    assert what == "ValueError"
    assert path.read_bytes() == b"9"
    assert "seed 1, input " in path.with_suffix(".txt").read_text()


def test_refusals_are_no_crash_and_other_answers_are(tmp_path: Path) -> None:
    def refuses(data: bytes, _: Path) -> None:
        raise InputError(f"{len(data)} bytes are too many")

    hunt = hunted(refuses, tmp_path, 50)
    assert (hunt.crashes, hunt.refused, hunt.answers) == (
        {},
        hunt.inputs,
        {"InputError: _ bytes are too many"},
    )

    def lies(_: bytes, __: Path) -> None:
        raise Wrong("not so")

    assert list(hunted(lies, tmp_path, 5).crashes) == ["Wrong (not so)"]


def test_what_takes_too_long_is_stopped(tmp_path: Path) -> None:
    def hangs(_: bytes, __: Path) -> None:
        while True:
            try:
                sum(range(1000))
            except Exception:
                continue

    found = judged(front(hangs), b"", tmp_path, slowest_s=0.2)
    assert isinstance(found, Crash)
    assert found.what.startswith("TooSlow")


@pytest.mark.skipif(sys.platform != "linux", reason="address space is bounded on Linux")
def test_what_takes_too_much_memory_is_stopped(tmp_path: Path) -> None:
    def grows(_: bytes, __: Path) -> None:
        bytearray(600 << 20)

    with limited():
        found = judged(front(grows), b"", tmp_path)
    assert isinstance(found, Crash)
    assert found.what.startswith("MemoryError")

    def modest(_: bytes, __: Path) -> None:
        bytearray(100 << 20)

    with limited():
        assert judged(front(modest), b"", tmp_path) == Clean("")


@pytest.mark.sweep
def test_inputs_that_reach_new_lines_are_changed_further(tmp_path: Path) -> None:
    """A defect behind two doors, each opened by an input that is kept for it."""

    def deep(data: bytes, _: Path) -> None:
        text = data.decode("latin-1")
        if not text[:1].isdecimal():
            raise InputError("no number first")
        if not text[1:2].isupper():
            raise InputError("no unit")
        if text[2:3] == "B":
            raise ValueError("behind the second door")

    assert "ValueError" in hunted(deep, tmp_path, 20_000, b"x").crashes


def test_the_same_seed_makes_the_same_inputs(tmp_path: Path) -> None:
    heard: list[list[bytes]] = []
    for _ in range(2):
        inputs: list[bytes] = []
        hunted(
            lambda data, _, inputs=inputs: inputs.append(data),  # type: ignore[misc]
            tmp_path,
            200,
            b'{"a": [1, 2]}',
            b"x\ny\n",
        )
        heard.append(inputs)
    assert heard[0] == heard[1]
    assert len(set(heard[0])) > 100


@pytest.mark.parametrize("shape", ["bytes", "lines", "json", "yaml", "tar", "http", "shell"])
def test_every_shape_changes_what_it_is_given_whatever_it_is(shape: str) -> None:
    import random

    dice = random.Random(1)
    for seed in (
        b"",
        b"\x1f\x8b",
        b"{",
        b'{"a": [1, {"b": "c"}]}',
        b"a: &x [1]\nb: *x\n",
        b"GET / HTTP/1.1\r\n\r\n{}",
        b"\xff" * 2000,
    ):
        made = {mutated(seed, shape, dice, [seed, b"other"], ("word",)) for _ in range(60)}  # type: ignore[arg-type]
        assert len(made) > 5


def test_the_table_has_a_sum() -> None:
    told = table([Outcome("a", 100, 50, 2.0, 7, 3), Outcome("b", 50, 0, 1.0, 0, 1, {"x": "y"})])
    assert told.splitlines()[-1].split() == ["all", "150", "50", "1"]


def watched(code: str, most_s: float = 60.0) -> str:
    with tempfile.TemporaryFile("w+") as answers:
        process = subprocess.Popen([sys.executable, "-c", code], stdout=answers, text=True)
        try:
            return _hangs(process, answers, most_s)
        finally:
            process.kill()
            process.wait()


def test_a_process_hangs_where_it_works_too_long_or_does_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(fuzz, "_LOOK_EVERY_S", 0.05)
    monkeypatch.setattr(fuzz, "_SILENT_S", 1.0)
    assert watched("pass") == ""
    assert watched("while True: pass", most_s=0.3).startswith("hung: it worked for")
    assert watched("import time; time.sleep(60)") == "hung: it neither worked nor went on for 1 s"


@pytest.mark.sweep
def test_a_process_that_is_starved_or_waits_between_its_inputs_does_not_hang(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """It works a little now and then, or takes a new input: however long that lasts."""
    monkeypatch.setattr(fuzz, "_LOOK_EVERY_S", 0.05)
    monkeypatch.setattr(fuzz, "_SILENT_S", 2.0)
    works = (
        "import time\nfor _ in range(6):\n end = time.process_time() + 0.1\n while "
        "time.process_time() < end: pass\n time.sleep(0.5)"
    )
    assert watched(works) == ""
    path = str(tmp_path / "input")
    told = f"print({str(tmp_path)!r}, flush=True)"
    waits = (
        f"import pathlib, time\n{told}\nfor _ in range(6): "
        f"pathlib.Path({path!r}).write_text('x'); time.sleep(0.5)"
    )
    assert watched(waits) == ""
