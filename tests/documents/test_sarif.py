"""`check -o sarif` over the whole corpus keeps what SARIF 2.1.0 requires; the schema that says so
can fail.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from tests.support.sarif_schema import SCHEMA

from barostat.shells.cli.main import main

pytestmark = pytest.mark.sweep

CORPUS = Path(__file__).parents[1] / "data" / "check"


def wrong(log: Any) -> list[str]:
    found = Draft202012Validator(
        SCHEMA, format_checker=Draft202012Validator.FORMAT_CHECKER
    ).iter_errors(log)
    return [f"{'.'.join(map(str, error.path))}: {error.message[:200]}" for error in found]


@pytest.fixture
def log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> dict[str, Any]:
    """Of every file of the corpus, of a name with marks in it, and of a file that cannot be
    read.
    """
    monkeypatch.chdir(tmp_path)
    for path in (
        path for path in CORPUS.rglob("*") if path.is_file() and path.suffix != ".expected"
    ):
        there = tmp_path / "team" / path.parent.name / path.name
        there.parent.mkdir(parents=True, exist_ok=True)
        there.write_bytes(path.read_bytes())
    (tmp_path / "team" / "a b,%é#?.yaml").write_bytes(
        (CORPUS / "bad" / "one-item.yaml").read_bytes()
    )
    (tmp_path / "broken.yaml").write_text("a: b: c\n")
    capsys.readouterr()
    assert main(["check", "team", "broken.yaml", "--profile", "strict", "-o", "sarif"]) == 2
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def test_the_log_of_the_corpus_keeps_the_format(log: dict[str, Any]) -> None:
    assert wrong(log) == []
    (run,) = log["runs"]
    assert len(run["results"]) > 300
    assert {"suppressions", "fixes"} <= {key for result in run["results"] for key in result}
    ids = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
    assert len(set(ids)) == len(ids)
    assert all(ids[result["ruleIndex"]] == result["ruleId"] for result in run["results"])
    assert run["invocations"][0]["executionSuccessful"] is False
    assert run["invocations"][0]["toolExecutionNotifications"]


def test_a_log_that_breaks_the_format_is_told(log: dict[str, Any]) -> None:
    changes: tuple[Callable[[Any], Any], ...] = (
        lambda run: run.pop("tool"),
        lambda run: run.update(columnKind="bytes"),
        lambda run: run["results"][0].pop("message"),
        lambda run: run["results"][0].update(level="critical"),
        lambda run: run["results"][0].update(rulId="x"),
        lambda run: run["results"][0]["locations"][0]["physicalLocation"]["region"].update(
            startLine=0
        ),
        lambda run: run["results"][0]["locations"][0]["physicalLocation"][
            "artifactLocation"
        ].update(uri="/etc/a b"),
        lambda run: run["invocations"][0].pop("executionSuccessful"),
    )
    for change in changes:
        broken = copy.deepcopy(log)
        change(broken["runs"][0])
        assert wrong(broken) != []
