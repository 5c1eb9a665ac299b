"""A simulation ends with a verdict, and its exit code is the verdict's."""

from __future__ import annotations

import json

import pytest

from barostat.shells.cli.main import main

RUN = ["simulate", "--workload", "poisson:rate=2,minutes=2,input=300,output=100", "--kv-blocks", "400", "--step-time", "0.03"]


@pytest.mark.parametrize(
    ("more", "code", "said"),
    [
        ([], 0, "It keeps up"),
        ([], 0, "nothing is called good or bad"),
        (["--slo-ttft", "60"], 0, "The SLO holds"),
        (["--slo-ttft", "0.0001"], 1, "The SLO is MISSED: 0 of"),
        (["--scale-rate", "20"], 1, "It FALLS BEHIND"),
    ],
)
def test_the_verdict_and_the_code(more: list[str], code: int, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*RUN, *more]) == code
    told = capsys.readouterr().out
    assert said in told
    assert ("good requests/s" in told) == ("--slo-ttft" in more)


def test_the_verdict_as_data(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*RUN, "-o", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["keepsUp"] == "keeps up"
