"""`--latency from=LOG`: the pace of an engine that told of its steps; what cannot be used is said
with what to do.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from barostat.shells.cli.main import main

SIMULATE = [
    "simulate",
    "--workload",
    "poisson:rate=2,minutes=1,input=100,output=50",
    "--kv-blocks",
    "65",
    "--block-size",
    "128",
]
LINE = (
    "(APIServer pid=6) INFO 11-21 09:00:{second:06.3f} [loggers.py:199] Engine 000: "
    "Iteration({index}): {fresh} context requests, "
    "{context} context tokens, {decodes} generation requests, {decodes} generation tokens, "
    "iteration elapsed time: 0.21 ms, "
    "GPU KV cache usage: {usage:.1f}%\n"
)


def _log(path: Path, steps: int) -> Path:
    """Steps of 10 ms and 0.5 ms for each request; every tenth has a prompt of 100 tokens that takes
    20 ms.
    """
    at, lines = 1.0, []
    for index in range(steps):
        decodes, prompt = 1 + index // 40 % 8, index % 10 == 9
        at += 0.010 + 0.0005 * decodes + 0.020 * prompt
        lines.append(
            LINE.format(
                second=at,
                index=index,
                fresh=int(prompt),
                context=100 * prompt,
                decodes=decodes,
                usage=1.6 * decodes,
            )
        )
    path.write_text("".join(lines))
    return path


def test_the_log_of_an_engine_says_how_long_a_step_takes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = _log(tmp_path / "engine.log", 2000)
    assert main([*SIMULATE, "--latency", f"from={log}", "-o", "json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert main([*SIMULATE, "--latency", "base=0.01,decode=0.0005,prefill=2e-4", "-o", "json"]) == 0
    known = json.loads(capsys.readouterr().out)
    assert told["itlSeconds"]["p50"] == pytest.approx(known["itlSeconds"]["p50"], rel=0.03)
    assert told["ttftSeconds"]["p50"] == pytest.approx(known["ttftSeconds"]["p50"], rel=0.1)
    assert len(told["interval"]) == 2


def test_one_pace_for_all_candidates(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The log is of today's pool: a candidate with a larger one is not slower for it."""
    log = _log(tmp_path / "engine.log", 2000)
    command = [
        "what-if",
        *SIMULATE[1:],
        "--latency",
        f"from={log}",
        "--set",
        "kv-blocks=650",
        "-o",
        "json",
    ]
    assert main(command) == 0
    today, more = json.loads(capsys.readouterr().out)["candidates"]
    assert today["preemptions"] == 0
    assert more["itlSeconds"] == today["itlSeconds"]


@pytest.mark.parametrize("steps", [0, 30])
def test_a_log_without_enough_steps_names_the_flag(
    steps: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = _log(tmp_path / "engine.log", steps)
    assert main([*SIMULATE, "--latency", f"from={log}"]) == 2
    assert "--enable-logging-iteration-details" in capsys.readouterr().err


def test_a_log_that_is_not_there_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*SIMULATE, "--latency", f"from={tmp_path / 'none.log'}"]) == 2
    assert "none.log" in capsys.readouterr().err
