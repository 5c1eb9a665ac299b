"""Every command line of the README and the guide is tried as it is printed, in a folder that
`barostat example all` filled.

The convention that a reader sees too (docs/guide/overview.md): a command that names a URL or a
workload (`deploy/NAME`, `-l`, `-A`), or that listens, needs an engine, a cluster or a port; here
its arguments are read to the end. All others run, the long ones in tests/integration. What they say
first stands in `guide-commands.txt` beside this file: `pytest tests/documents --renew`, and read
the difference.
"""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from tests.support.guide_commands import ALL, HERE, RUN_ALONE, fill, run

from barostat.shells.cli.main import parser

GOLDEN = Path(__file__).with_name("guide-commands.txt")
_INSTANT = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC")


def test_the_pages_have_commands_of_all_kinds() -> None:
    assert len(HERE) > 15
    assert len(RUN_ALONE) > len(HERE)
    assert len({line for _, line in ALL}) - len(RUN_ALONE) > 15


@pytest.mark.parametrize(("page", "line"), ALL, ids=[f"{page}: {line}"[:90] for page, line in ALL])
def test_its_arguments_are_read_to_the_end(page: str, line: str) -> None:
    stage = next(part for part in line.split(" > ")[0].split(" | ") if "barostat" in part)
    words = shlex.split(stage[stage.index("barostat") :])[1:]
    if words and words[0] == "help":
        return
    assert parser(words[0]).parse_args(words).verb == words[0], page


@pytest.mark.sweep
@pytest.mark.timeout(600)
def test_what_needs_nothing_runs_and_says_what_it_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pytestconfig: pytest.Config
) -> None:
    fill(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("NO_COLOR", "1")
    told = []
    for line in HERE:
        code, said = run(line)
        timeless = _INSTANT.sub("(time)", said)
        first = [text.rstrip() for text in timeless.splitlines() if text.strip()][
            : 1 if " > " in line else 3
        ]
        told.append(
            "\n".join((f"$ {line}", *(f"  {text[:110]}" for text in first), f"  [{code}]", ""))
        )
    found = "\n".join(told)
    if pytestconfig.getoption("--renew"):
        GOLDEN.write_text(found, encoding="utf-8")
    assert found == GOLDEN.read_text(encoding="utf-8"), (
        "if this is better: pytest tests/documents --renew, and read the difference"
    )
