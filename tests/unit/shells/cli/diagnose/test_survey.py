"""`barostat survey` over HTTP, against a cluster of a dozen engines of which one preempts."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.support.wide_cluster import in_a_process

from barostat.io.bundles import bundle
from barostat.judge.diagnosis.diagnose import examine
from barostat.judge.survey.survey import Survey, SurveyedEngine
from barostat.shells.cli.main import main
from barostat.shells.reports.sheet.forms import shown
from barostat.shells.reports.survey.document import survey_document

ROOT = Path(__file__).parents[5]
BUNDLES = ROOT / "tests" / "data" / "bundles"
CLUSTERS = ROOT / "tests" / "data" / "clusters"


@pytest.fixture(scope="module")
def wide(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    yield from in_a_process(tmp_path_factory.mktemp("wide"), "12", "4")


def surveyed(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str]:
    code = main(["survey", *words])
    return code, capsys.readouterr().out


def test_every_engine_of_the_cluster_is_in_it_the_worst_first(
    wide: str, capsys: pytest.CaptureFixture[str]
) -> None:
    looked = ("--kubeconfig", wide, "--for", "2s", "--interval", "1s", "--price", "H100=2.5")
    code, out = surveyed(capsys, *looked, "-o", "json")
    document: dict[str, Any] = json.loads(out)
    engines = document["engines"]
    assert code == 1
    assert len(engines) == 12
    assert document["costPerHour"] == 30.0
    worst = engines[0]
    assert worst["name"] == "team-0/w-0-7f9c-0"
    assert worst["kv"]["usedRatio"] == 0.99
    assert worst["workload"] == {"kind": "deployment", "name": "w-0", "namespace": "team-0"}
    # Twelve engines on two nodes of eight GPUs: there is room for one more.
    assert {engine["rollout"]["outcome"] for engine in engines} == {"serves"}
    assert all(engine["checked"] and engine["missingLimits"] for engine in engines)
    rules = {found["rule"] for engine in engines for found in engine["missingLimits"]}
    assert {"no-max-num-seqs", "no-limits-file"} <= rules


def test_alike_replicas_of_one_workload_share_a_row(
    wide: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out = surveyed(capsys, "--kubeconfig", wide, "--for", "2s", "--interval", "1s")
    assert code == 1
    assert re.search(r"^\S* +team-1/deployment/w-1 \(4 replicas\) ", out, re.MULTILINE), out
    assert "12 engines" in out
    assert "$" not in out


def test_what_a_bundle_does_not_hold_is_said_and_is_in_the_exit_code(
    capsys: pytest.CaptureFixture[str],
) -> None:
    code, out = surveyed(capsys, "--bundle", str(BUNDLES / "healthy-busy"))
    assert code == 3
    assert "rollouts are judged without them" in out


def test_an_unknown_verdict_is_not_called_ok() -> None:
    (report,) = examine(bundle.read(BUNDLES / "healthy-busy")).report.replicas
    unknown = replace(report, diagnosis=replace(report.diagnosis, cause="unknown"))
    engines = (SurveyedEngine(report, None), SurveyedEngine(unknown, None))
    out = shown(survey_document(Survey(0.0, "-A", engines)), "table")
    assert "UNKNOWN" in out
    assert "no verdict on 1 of 2 engines" in out
    assert "none harmed" not in out
    assert re.search(r"^\? ", out, re.MULTILINE), out


def test_an_error_in_the_flags_is_shown_with_its_rule(capsys: pytest.CaptureFixture[str]) -> None:
    bundle = str(CLUSTERS / "bad-config-argument")
    code, out = surveyed(capsys, "--bundle", bundle, "-o", "md")
    assert code == 1
    assert "(unknown-flag)" in out
    assert surveyed(capsys, "--bundle", bundle, "-o", "html")[1].startswith("<!doctype html>")


def test_a_bundle_goes_without_a_target(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["survey", "--bundle", "x", "-A"]) == 2
    assert "it goes without a target" in capsys.readouterr().err
