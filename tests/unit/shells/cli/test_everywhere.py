"""The flags that go with every verb, and verbs that do not exist."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from barostat.shells.cli.everywhere import for_people
from barostat.shells.cli.main import main

SPEC = [
    "what-if",
    "--workload",
    "poisson:rate=1,minutes=1,input=10,output=2",
    "--kv-blocks",
    "100",
    "--step-time",
    "0.1",
]


@pytest.mark.parametrize(
    "words", [["--quiet", *SPEC], [*SPEC, "--quiet"], [SPEC[0], "--quiet", *SPEC[1:]]]
)
def test_quiet_leaves_only_the_result_in_any_place(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words) == 0
    told = capsys.readouterr()
    assert "today" in told.out
    assert told.err == ""


def test_quiet_keeps_errors(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "no-such-page", "--quiet"]) == 2
    assert "no-such-page" in capsys.readouterr().err
    assert for_people() is sys.stderr


def test_no_color_holds_within_the_command_only(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    seen = []

    def run(_: object) -> int:
        seen.append(os.environ.get("NO_COLOR"))
        return 0

    monkeypatch.setattr("barostat.shells.cli.diagnose.explain.run", run)
    assert main(["explain", "--no-color"]) == 0
    assert seen == ["1"]
    assert "NO_COLOR" not in os.environ
    capsys.readouterr()


@pytest.mark.parametrize(
    ("word", "meant"), [("diagnos", "diagnose"), ("whatif", "what-if"), ("simluate", "simulate")]
)
def test_a_mistyped_verb_is_met_with_the_nearest(
    word: str, meant: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([word]) == 2
    assert f"did you mean {meant}" in capsys.readouterr().err


def test_a_target_without_a_verb_is_told_the_verb(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["http://localhost:8000"]) == 2
    assert "barostat diagnose http://localhost:8000" in capsys.readouterr().err


def test_it_runs_as_a_module() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "barostat", "--version"], capture_output=True, text=True
    )
    assert done.returncode == 0
    assert done.stdout.startswith("barostat ")
