"""The generated pages are those that the code makes today."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_generated_pages_are_current() -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "dev" / "reference_pages.py", "--check"],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr


def test_every_guide_command_is_a_verb() -> None:
    """A page that tells a person to run a verb that does not exist is worse than no page."""
    import re

    from barostat.shells.cli.main import VERBS

    named = set()
    for page in [*(ROOT / "docs" / "guide").glob("*.md"), ROOT / "README.md"]:
        named |= set(re.findall(r"^\s{4}barostat ([a-z-]+)", page.read_text(), re.MULTILINE))
        named |= set(re.findall(r"`barostat ([a-z-]+)", page.read_text()))
    assert named
    assert named <= set(VERBS), f"no such verb: {named - set(VERBS)}"
