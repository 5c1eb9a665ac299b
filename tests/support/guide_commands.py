"""The command lines of the README and the guide, and what runs one of them in a folder of
samples.
"""

from __future__ import annotations

import contextlib
import io
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

from barostat.shells.cli.main import main

ROOT = Path(__file__).parents[2]
PAGES = (ROOT / "README.md", *sorted((ROOT / "docs" / "guide").glob("*.md")))
_COMMAND = re.compile(r"^(?:    )?((?:kubectl )?barostat \S.*|.*\| barostat .*)$")
NEEDS_MORE = re.compile(
    r"https?://|\b(?:deploy|sts|pod)/\w+|\s-A\b|\s-l\s|origin/main"
    r"|^barostat (?:gateway|twin|mitigate|verify|rollback|incident|load|top|mcp|operator|survey)\b"
)
LONG = re.compile(r"^barostat tune |--until-it-breaks| --for '")
"""Some dozen to some hundred runs of the twin: tests/integration runs them."""
_ILLUSTRATION = re.compile(r"\.\.\.|\bNAME\b|\bURL\b|\bBUNDLE\b|\bKIND\b")


def commands() -> Iterator[tuple[str, str]]:
    """Page and command, without what is said beside it."""
    for page in PAGES:
        inside = False
        for line in page.read_text(encoding="utf-8").splitlines():
            if line.startswith("```"):
                inside = not inside
            found = _COMMAND.match(line) if inside or line.startswith("    ") else None
            if found is not None and not _ILLUSTRATION.search(found[1]):
                yield (
                    page.name,
                    re.split(r"\s{2,}|\s+# ", found[1].removeprefix("kubectl "))[0].strip(),
                )


ALL = sorted(set(commands()))
RUN_ALONE = sorted(
    {line for _, line in ALL if not NEEDS_MORE.search(line) and "| barostat" not in line}
)
HERE = [line for line in RUN_ALONE if not LONG.search(line)]


def fill(folder: Path) -> None:
    """What `barostat example all` writes, and nothing else."""
    with contextlib.redirect_stdout(io.StringIO()):
        assert main(["example", "all", "-o", str(folder)]) == 0


def run(line: str) -> tuple[int, str]:
    """Exit code and standard output of the command, before any pipe; what is sent to a file is
    written there.
    """
    before, _, into = line.partition(" | ")[0].partition(" > ")
    with (
        contextlib.redirect_stdout(io.StringIO()) as out,
        contextlib.redirect_stderr(io.StringIO()) as err,
    ):
        code = main(shlex.split(before)[1:])
    assert code in (0, 1, 3), f"{line}\nanswers {code}: {err.getvalue()}"
    if into:
        Path(into.strip()).write_text(out.getvalue(), encoding="utf-8")
    return code, out.getvalue()
