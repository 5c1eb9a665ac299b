"""`simulate --gateway`: several engines behind the gateway's decision, with a verdict and its exit
code.
"""

from __future__ import annotations

import json
import random
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
    assert "KEPT  The gateway keeps its promise" in shown
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
        (("--steps-out", "x.jsonl", "--gateway"), "is of one engine"),
        (("--sliding-window", "128", "--gateway"), "this model has several"),
    ],
)
def test_what_cannot_be_is_said(
    words: tuple[str, ...], says: str, limits: str, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = [*words, limits] if words[-1] == "--gateway" else list(words)
    assert main(["simulate", *LOAD, *asked]) == 2
    assert says in capsys.readouterr().err


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_what_the_gateway_accepts_in_the_demos_burst_keeps_the_demos_slo(
    seed: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`make demo` shows it in real time; here the clock is the twin's own."""
    dice, at_s, rows = random.Random(seed), 0.0, []
    while at_s < 12:
        row = {
            "arrival_s": at_s,
            "input_tokens": dice.randint(51, 100),
            "output_tokens": dice.randint(201, 500),
        }
        rows.append(json.dumps(row))
        at_s += dice.uniform(0.7, 1.3) / (45.0 if 5 <= at_s < 7 else 15.0)
    trace, limits = tmp_path / "burst.jsonl", tmp_path / "limits.yaml"
    trace.write_text("\n".join(rows) + "\n")
    slo = "spec:\n  request: {maxOutputTokens: 500}\n  slo: {ttftP99Seconds: 1}\n"
    limits.write_text(f"apiVersion: barostat.dev/v1alpha1\nkind: ServingLimits\n{slo}")
    engine = ["--kv-blocks", "65", "--block-size", "128", "--max-model-len", "2048"]
    pace = ["--latency", "base=0.0005,prefill=0.00009,decode=0.00009"]
    told = ["--slo-ttft", "1", "--slo-itl", "0.03", "-o", "json"]
    main(["simulate", "--trace", str(trace), *engine, *pace, "--gateway", str(limits), *told])
    document = json.loads(capsys.readouterr().out)
    assert document["refused"]
    assert 0.7 < document["ttftSeconds"]["p99"] <= 1.0
    assert document["good"] == document["reached"]
