"""The hook of `.pre-commit-hooks.yaml`, from a clone of this repository, as pre-commit runs it: its
entry with the files that it takes.

pre-commit itself is no dependency: what it adds to this (an environment made with pip, files by
`types`) is its own.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

pytestmark = pytest.mark.sweep

ROOT = Path(__file__).parents[2]
CORPUS = ROOT / "tests" / "data" / "check"


def git(folder: Path, *words: str) -> str:
    return subprocess.run(
        ["git", *words], cwd=folder, capture_output=True, text=True, check=True, timeout=60
    ).stdout


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What is committed, as pre-commit clones it."""
    there = tmp_path_factory.mktemp("hook") / "barostat"
    git(ROOT, "clone", "--quiet", "--depth=1", f"file://{ROOT}", str(there))
    return there


def ran(clone: Path, team: Path) -> subprocess.CompletedProcess[str]:
    """The hook over what is staged."""
    (hook,) = yaml.safe_load((clone / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
    assert hook["language"] == "python"
    staged = [
        name
        for name in git(team, "diff", "--cached", "--name-only").splitlines()
        if re.search(hook["files"], name)
    ]
    program, *words = shlex.split(hook["entry"])
    assert program == "barostat"
    environment = {**os.environ, "PYTHONPATH": str(clone / "src"), "NO_COLOR": "1"}
    command = [sys.executable, "-m", "barostat", *words, *hook.get("args", []), *staged]
    return subprocess.run(
        command, cwd=team, env=environment, capture_output=True, text=True, check=False, timeout=60
    )


def test_a_bad_commit_is_stopped_and_a_good_one_is_not(clone: Path, tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    (tmp_path / "notes.md").write_text("--swap-space=4\n")
    (tmp_path / "llm.yaml").write_bytes((CORPUS / "good" / "service-monitor.yaml").read_bytes())
    git(tmp_path, "add", "-A")
    good = ran(clone, tmp_path)
    assert (good.returncode, good.stderr) == (0, "")
    assert "1 file" in good.stdout
    (tmp_path / "llm.yaml").write_bytes(
        (CORPUS / "bad" / "flag-removed-swap-space.yaml").read_bytes()
    )
    git(tmp_path, "add", "-A")
    bad = ran(clone, tmp_path)
    assert bad.returncode == 1
    assert "llm.yaml:" in bad.stdout
    assert "unknown-flag" in bad.stdout
