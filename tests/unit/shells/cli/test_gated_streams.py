"""What is printed is seen, whoever prints it; argparse's own words too."""

from __future__ import annotations

import io
import subprocess
import sys
from pathlib import Path

import pytest

from barostat.shells.cli.diagnose.past import progress
from barostat.shells.cli.gated_streams import gated, own
from barostat.shells.cli.main import main
from barostat.shells.cli.prevent.load_inputs import said_on_the_way

EVIL = "\x1b]0;x\x07\x9b2J\u202e"
DEVICE = Path("/dev/full")


def test_a_stream_shows_what_acts_and_its_own_way_does_not(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with gated():
        print(EVIL, end="")
        sys.stderr.writelines([EVIL])
        print("\x1b[1mown", end="", file=own(sys.stdout))
    out, err = capsys.readouterr()
    assert out == "\\x1b]0;x\\x07\\u009b2J\\u202e\x1b[1mown"
    assert err == "\\x1b]0;x\\x07\\u009b2J\\u202e"


class Screen(io.StringIO):
    """What a terminal gets."""

    def isatty(self) -> bool:
        return True


def test_progress_moves_the_cursor_and_does_not_show_how(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Screen()
    monkeypatch.setattr(sys, "stderr", screen)
    with gated():
        with said_on_the_way("knee: ") as sent:
            assert sent is not None
            sent(2_000, 1, 0)
        with progress() as tell:
            tell("1 of 2")
    assert (
        screen.getvalue()
        == "\r\x1b[Kknee: 2,000 sent, 1 ended, 0 under way\r\x1b[K\r\x1b[K1 of 2\r\x1b[K"
    )


def test_what_the_locale_lacks_is_written_out_as_json_has_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    held = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(held, encoding="ascii"))
    with gated():
        print("Zürich 🚀")
        sys.stdout.flush()
    assert held.getvalue() == b"Z\\u00fcrich \\ud83d\\ude80\n"


@pytest.mark.parametrize(
    "words",
    [
        (EVIL,),
        ("diagnose", f"--{EVIL}"),
        ("plan", "--gpu", EVIL, "-o", EVIL),
        ("diagnose", "-o", "\udcff"),
    ],
)
def test_an_argument_is_shown_in_the_refusal(
    words: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    try:
        code = main(list(words))
    except SystemExit as end:
        code = int(end.code or 0)
    err = capsys.readouterr().err
    assert code == 2
    assert err.count("\n") == 1
    assert not {"\x1b", "\x9b", "\u202e", "\x07", "\udcff"} & set(err)


@pytest.mark.skipif(not DEVICE.exists(), reason="needs /dev/full")
def test_a_full_output_is_said_also_of_help() -> None:
    with DEVICE.open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "barostat", "--help"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert done.returncode == 4
    assert done.stderr == "barostat: the output could not be written: No space left on device\n"


def test_a_path_that_cannot_be_is_the_callers(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", "--model", "/" + "x" * 5000 + "/config.json", "--gpu", "H100"]) == 2
    assert main(["limits", "validate", "x" * 5000]) == 2
    assert capsys.readouterr().err.count("\n") == 2
