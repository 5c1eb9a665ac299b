"""A simulation ends with a verdict, and its exit code is the verdict's."""

from __future__ import annotations

import json

import pytest

from barostat.shells.cli.main import main

RUN = [
    "simulate",
    "--workload",
    "poisson:rate=2,minutes=2,input=300,output=100",
    "--kv-blocks",
    "400",
    "--step-time",
    "0.03",
]


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
def test_the_verdict_and_the_code(
    more: list[str], code: int, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*RUN, *more]) == code
    told = capsys.readouterr().out
    assert said in told
    assert ("Good requests" in told) == ("--slo-ttft" in more)


def test_the_verdict_as_data(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*RUN, "-o", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["keepsUp"] == "keeps up"


def test_an_engine_that_would_not_start_is_in_the_verdict_and_the_code(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A pool of 399 blocks holds 6,384 tokens."""
    for length, code in ((6384, 0), (6385, 1)):
        command = [*RUN, "--max-model-len", str(length)]
        assert main(command) == code
        assert (
            "WOULD NOT START: one request of max_model_len 6,385" in capsys.readouterr().out
        ) == bool(code)
        assert main([*command, "-o", "json"]) == code
        assert json.loads(capsys.readouterr().out)["wouldStart"] is not bool(code)
        assert main([*command, "-o", "html"]) == code
        assert ("WOULD NOT START" in capsys.readouterr().out) == bool(code)


def test_what_is_too_long_is_refused_at_any_load_and_no_sign_of_too_much(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Still not good: of an SLO that asks for 99 in 100, one in six is missed."""
    command = [*RUN, "--max-model-len", "700"]
    assert main(command) == 0
    told = capsys.readouterr().out
    assert "It keeps up" in told
    assert "requests are longer than it takes, and refused however little comes" in told
    assert main([*command, "--slo-ttft", "60"]) == 1
    assert "The SLO is MISSED" in capsys.readouterr().out
