"""A comparison of nothing is refused."""

from __future__ import annotations

import pytest

from barostat.shells.cli.main import main


@pytest.mark.parametrize("given", ["", " ", ","])
def test_a_comparison_of_nothing_says_so(given: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", "--model", "Qwen/Qwen3-8B", "--compare", given]) == 2
    assert "names no card" in capsys.readouterr().err
