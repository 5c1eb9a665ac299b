"""Pressure is seen early and named quickly, on the real vLLM; and the tool itself answers without delay.

The full measurement is `python bench/ramps.py`: ten ramps and ten healthy runs, half an hour. Here are two of each, held to the same gate.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from bench.ramp_runs import healthy_runs, ramps
from bench.ramps import carry_out, row, verdict
from dev.engine import Engine

BAROSTAT = Path(sys.executable).with_name("barostat")
HELP_S = 0.3
ANSWER_S = 2.0


@pytest.mark.usefixtures("no_engine")
def test_two_ramps_and_two_healthy_runs() -> None:
    outcomes = carry_out([*ramps(2, seed=3), *healthy_runs(2, seed=3)])
    table = "\n".join(row(outcome) for outcome in outcomes)
    result = verdict(outcomes)
    assert result.passed, f"{result}\n{table}"


def test_an_idle_engine_is_answered_for_within_two_seconds_of_its_window(engine_factory: Callable[..., Engine]) -> None:
    engine = engine_factory("--max-model-len", "4096", "--max-num-seqs", "64", shape="small")
    window_s = 6
    began = time.monotonic()
    done = subprocess.run(
        [str(BAROSTAT), "diagnose", engine.url, "--for", f"{window_s}s", "--interval", "3s", "-o", "json"],
        capture_output=True,
        text=True,
        timeout=60,
    )
    took_s = time.monotonic() - began
    assert json.loads(done.stdout)["replicas"][0]["diagnosis"]["cause"] == "healthy-idle", done.stdout
    assert done.returncode == 0
    assert took_s < window_s + ANSWER_S


def test_help_is_there_at_once() -> None:
    def once() -> float:
        began = time.monotonic()
        subprocess.run([str(BAROSTAT), "--help"], capture_output=True, check=True)
        return time.monotonic() - began

    assert statistics.median(once() for _ in range(5)) < HELP_S
