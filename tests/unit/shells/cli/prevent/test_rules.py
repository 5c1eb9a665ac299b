"""`barostat rules`: what it prints, and one sentence for what it cannot take."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from barostat.shells.cli.main import main

BUNDLE = Path(__file__).parents[4] / "data" / "bundles" / "healthy-busy"
LIMITS = """\
apiVersion: barostat.dev/v1alpha1
kind: ServingLimits
metadata: {name: chat}
spec:
  model: org/model
  engine: {gpuMemoryUtilization: 0.9}
  capacity: {kvCacheTokens: 62400, blockSize: 16}
  slo: {ttftP99Seconds: 2, itlP99Seconds: 0.1}
"""


@pytest.fixture
def limits(tmp_path: Path) -> str:
    (tmp_path / "limits.yaml").write_text(LIMITS)
    return str(tmp_path / "limits.yaml")


def printed(capsys: pytest.CaptureFixture[str], *words: str) -> Any:
    assert main(["rules", *words]) == 0
    return yaml.safe_load(capsys.readouterr().out)


def test_a_rule_file_watches_the_model_of_the_limits(
    limits: str, capsys: pytest.CaptureFixture[str]
) -> None:
    document = printed(capsys, "--limits", limits)
    assert [group["name"] for group in document["groups"]] == [
        "barostat-chat-recorded",
        "barostat-chat-alerts",
    ]
    assert (
        document["groups"][0]["rules"][0]["expr"]
        == 'sum without (engine,pid) (vllm:num_requests_running{model_name="org/model"})'
    )
    assert {rule["labels"]["workload"] for rule in document["groups"][1]["rules"]} == {"chat"}


@pytest.mark.parametrize(
    ("form", "keys"),
    [
        ("file", ["groups"]),
        ("thanos", ["groups"]),
        ("mimir", ["namespace", "groups"]),
        ("prometheusrule", ["apiVersion", "kind", "metadata", "spec"]),
        ("alertmanager", ["inhibit_rules"]),
    ],
)
def test_each_form_is_what_its_reader_expects(
    form: str, keys: list[str], limits: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert list(printed(capsys, "--limits", limits, "-o", form)) == keys


def test_a_target_gives_the_name_that_it_serves_under(capsys: pytest.CaptureFixture[str]) -> None:
    document = printed(capsys, str(BUNDLE), "--ttft-p99", "2", "--label", "pod=~vllm-.*")
    assert '{model_name="tiny",pod=~"vllm-.*"}' in document["groups"][0]["rules"][0]["expr"]
    assert any(rule["alert"] == "BarostatSloFastBurn" for rule in document["groups"][1]["rules"])


def test_parts_are_left_out(capsys: pytest.CaptureFixture[str]) -> None:
    document = printed(capsys, "--without", "gateway", "--without", "card", "--name", "a b")
    names = {rule["alert"] for rule in document["groups"][1]["rules"]}
    assert not [name for name in names if "Gateway" in name or "Card" in name]
    assert document["groups"][0]["name"] == "barostat-a b-recorded"


def test_what_is_left_out_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    main(["rules"])
    said = capsys.readouterr().err
    assert "BarostatSloFastBurn is left out: no latency is promised" in said
    assert "--docs-url" in said
    main(["rules", "--docs-url", "https://docs.example/alerts/"])
    both = capsys.readouterr()
    assert "--docs-url" not in both.err
    assert "https://docs.example/alerts#barostatpreempting" in both.out


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--label", "1=2"], "a label is NAME=VALUE"),
        (["--label", "pod"], "a label is NAME=VALUE"),
        (["--label", "__name__=x"], "a label is NAME=VALUE"),
        (["--label", "pod=~("], "is no regular expression"),
        (["--ttft-p99", "-1"], "--ttft-p99 -1: must be above 0"),
        (["--itl-p99", "nan"], "must be above 0"),
        (["--engine-version", "main"], "is no version"),
        (["--engine-version", "0.4.2"], "is older than what these rules speak of"),
        (["--docs-url", "docs"], "an address was expected"),
        (["-n", "x"], "go with a target"),
        (["--limits", "/nowhere/limits.yaml"], "No such file"),
        (["/nowhere/bundle"], "/nowhere/bundle"),
        (["limits.yaml"], "a limits file is given as --limits FILE"),
    ],
)
def test_what_cannot_be_taken_is_one_sentence(
    words: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["rules", *words]) == 2
    both = capsys.readouterr()
    assert sentence in both.err
    assert not both.out
