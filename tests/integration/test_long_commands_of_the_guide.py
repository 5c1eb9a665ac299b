"""The command lines of the guide that take some dozen runs of the twin, or more: each as it is
printed.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.guide_commands import LONG, RUN_ALONE, fill, run


@pytest.mark.timeout(600)
@pytest.mark.parametrize("line", [line for line in RUN_ALONE if LONG.search(line)])
def test_it_runs_as_it_is_printed(
    line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(tmp_path)
    monkeypatch.chdir(tmp_path)
    code, said = run(line)
    assert code in (0, 1, 3)
    assert said.strip()
