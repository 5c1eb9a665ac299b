"""Ramps into pressure are named as what they are, and healthy runs are left alone, on the real vLLM watched live.

How quickly and how early is measured, not tested: `python bench/ramps.py` (ten ramps and ten healthy runs) and `python bench/quick.py`.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from bench.ramp_runs import healthy_runs, ramps
from bench.ramps import carry_out, row
from dev.engine import Engine

BAROSTAT = Path(sys.executable).with_name("barostat")


@pytest.mark.usefixtures("no_engine")
def test_ramps_are_named_and_healthy_runs_are_not_accused() -> None:
    outcomes = carry_out([*ramps(2, seed=3), *healthy_runs(2, seed=3)])
    table = "\n".join(row(outcome) for outcome in outcomes)
    print(table)
    harmed = [outcome for outcome in outcomes[:2] if outcome.truth.harmed_s is not None]
    assert harmed, f"no ramp reached harm, so nothing was tested\n{table}"
    assert all(outcome.named_s is not None for outcome in harmed), f"a ramp was never named\n{table}"
    healthy = [outcome for outcome in outcomes[2:] if outcome.truth.harmed_s is None]
    causes = {report.cause for outcome in healthy for report in outcome.seen}
    assert causes <= {"healthy-busy", "healthy-idle", "unknown"}, table


def test_an_idle_engine_is_called_idle(engine_factory: Callable[..., Engine]) -> None:
    engine = engine_factory("--max-model-len", "4096", "--max-num-seqs", "64", shape="small")
    command = [str(BAROSTAT), "diagnose", engine.url, "--for", "6s", "--interval", "3s", "-o", "json"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert json.loads(done.stdout)["replicas"][0]["diagnosis"]["cause"] == "healthy-idle", done.stdout
    assert done.returncode == 0
