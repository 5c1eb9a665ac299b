"""`barostat version` and `barostat help`."""

from __future__ import annotations

import json

import pytest

from barostat import __version__
from barostat.catalog.vllm_versions import DEFAULT_VERSION
from barostat.shells.cli.main import main


def test_version_names_what_is_known_and_what_becomes_of_others(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["version"]) == 0
    told = capsys.readouterr().out
    assert f"barostat {__version__}" in told
    assert "0.6.6 to 0.33" in told
    assert DEFAULT_VERSION in told
    assert "read as the newest known" in told


def test_version_as_data(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["version", "-o", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["vllmAssumed"] == DEFAULT_VERSION


def test_help_of_a_verb_within_a_verb(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["help", "limits", "diff"])
    assert ended.value.code == 0
    assert "usage: barostat limits diff" in capsys.readouterr().out
