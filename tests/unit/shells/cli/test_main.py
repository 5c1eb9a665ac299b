"""The command line itself: help loads nothing that it does not need."""

from __future__ import annotations

import subprocess
import sys

import pytest

from barostat.shells.cli.main import main

DEAR = {"asyncio", "tempfile", "ssl", "dataclasses", "yaml", "httpx", "rich", "numpy", "msgspec", "psutil", "importlib.metadata"}


@pytest.mark.parametrize("words", [["--help"], ["--version"], ["diagnose", "--help"], ["mitigate", "--help"], ["plan", "--help"]])
def test_help_loads_nothing_dear(words: list[str]) -> None:
    code = f"import atexit, sys; atexit.register(lambda: print(*sys.modules, file=sys.stderr)); sys.argv = ['barostat', *{words!r}]; "
    code += "from barostat.shells.cli.main import run; run()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "barostat" in done.stdout
    loaded = set(done.stderr.split())
    assert "barostat.shells.cli.main" in loaded
    assert not loaded & DEAR


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (
            ["diagnose", "--outptu", "json"],
            "barostat diagnose: unrecognized arguments: --outptu; did you mean --output? (barostat diagnose --help",
        ),
        (["check", "x.yaml", "--persnoa=pedant"], "did you mean --persona?"),
        (["limits", "diff", "a", "b", "--exitzero"], "barostat limits: unrecognized arguments: --exitzero; did you mean --exit-zero?"),
        (["diagnose", "-z"], "barostat diagnose: unrecognized arguments: -z (barostat diagnose --help shows how)"),
        (["config", "shwo"], "barostat config: argument show: invalid choice"),
    ],
)
def test_a_flag_that_is_not_there_is_answered_by_its_verb(words: list[str], says: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(words)
    said = capsys.readouterr().err
    assert ended.value.code == 2
    assert says in said
    assert said.count("\n") == 1


@pytest.mark.parametrize(
    ("verb", "one_of"), [("example", "(trace, bundle, manifest, limits, log, all)"), ("limits", "(show, validate, diff, schema)")]
)
def test_a_word_that_is_missing_is_told_with_what_it_may_be(verb: str, one_of: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main([verb])
    assert ended.value.code == 2
    assert one_of in capsys.readouterr().err
