"""`simulate --gateway`: several engines behind the gateway's decision, with a verdict and its exit
code.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from barostat.shells.cli.main import main

LIMITS = """\
apiVersion: barostat.dev/v1alpha1
kind: ServingLimits
metadata: {name: llm}
spec:
  request: {maxInputTokens: 2000, maxOutputTokens: 400}
  slo: {ttftP99Seconds: 5}
"""
LOAD = (
    "--workload",
    "poisson:rate=30,minutes=0.5,input=100,output=60",
    "--kv-blocks",
    "200",
    "--step-time",
    "0.03",
)


@pytest.fixture
def limits(tmp_path: Path) -> str:
    file = tmp_path / "limits.yaml"
    file.write_text(LIMITS, encoding="utf-8")
    return str(file)


def test_a_fleet_behind_the_gateway_has_a_verdict(
    limits: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["simulate", *LOAD, "--replicas", "3", "--gateway", limits]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("The gateway keeps its promise: ")
    assert "TTFT within 5 s" in shown


def test_more_replicas_carry_more(limits: str, capsys: pytest.CaptureFixture[str]) -> None:
    good = []
    for replicas in ("1", "4"):
        main(["simulate", *LOAD, "--replicas", replicas, "--gateway", limits, "-o", "json"])
        document = json.loads(capsys.readouterr().out)
        assert document["reached"] + sum(document["refused"].values()) == document["requests"]
        good.append(document["good"])
    assert good[1] > good[0]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--replicas", "2"), "give --gateway LIMITS"),
        (("--replicas", "0", "--gateway"), "1 to 256 was expected"),
        (("--html", "x.html", "--gateway"), "is of one engine"),
        (("--sliding-window", "128", "--gateway"), "this model has several"),
    ],
)
def test_what_cannot_be_is_said(
    words: tuple[str, ...], says: str, limits: str, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = [*words, limits] if words[-1] == "--gateway" else list(words)
    assert main(["simulate", *LOAD, *asked]) == 2
    assert says in capsys.readouterr().err
