"""The twin's scheduler against the real one of vLLM 0.32.0: every step of random workloads, to the
order of the free blocks.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.parity.scheduler_cases import (
    adapter_case,
    as_json,
    case,
    draft_case,
    ours,
    state_case,
)

from barostat.twin.forms import simulate
from barostat.twin.outcome import DRY
from barostat.twin.pace import EverySteps
from barostat.twin.request import Row
from barostat.twin.settings import Settings

ROOT = Path(__file__).resolve().parents[2]


PYTHON = ROOT / ".vllm" / "bin" / "python"
ORACLE = Path(__file__).with_name("oracle_scheduler.py")
MOST_STEPS = 50_000
FIXED = range(100)
FOR_EVER = (441_978_379,)  # its requests preempt each other for ever
FRESH = int(os.environ.get("BAROSTAT_PARITY_CASES", "50"))
BASE = int(os.environ.get("BAROSTAT_PARITY_SEED", random.SystemRandom().randrange(10**9)))

pytestmark = [
    pytest.mark.real,
    pytest.mark.skipif(not PYTHON.exists(), reason="no real vLLM here (make vllm)"),
]


def _real(cases: list[tuple[Settings, list[Row]]]) -> list[dict[str, Any]]:
    """What the real scheduler does with each case."""
    lines = "".join(json.dumps(as_json(*one, MOST_STEPS)) + "\n" for one in cases)
    done = subprocess.run(
        [str(PYTHON), str(ORACLE)],
        input=lines,
        capture_output=True,
        text=True,
        timeout=3600,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return [json.loads(line) for line in done.stdout.splitlines()]


def _same(one: tuple[Settings, list[Row]], real: dict[str, Any], which: str) -> bool:
    """Asserts that ours does what the real one did; true where neither comes to an end.

    Both forms of the twin are held to it: the fast one by its load of every step.

    Where ours says that no token ever comes again, the real one is held to it for all of its 50,000
    steps.
    """
    mine = ours(*one)
    shown = [line for line in real["steps"] if line[1]]
    for ours_at, real_at in zip(mine["steps"], shown, strict=False):
        assert ours_at == real_at, f"{which}; {one[0]}"
    assert mine["rejected"] == real["rejected"], f"{which}: other rejections; {one[0]}"
    assert mine["finished"] == sorted(real["finished"]), f"{which}: other ends; {one[0]}"
    fast = simulate(*one, EverySteps(10**9)).load
    loads = [(line[0] * 10**9, len(line[5]), line[3], line[4]) for line in shown]
    assert fast == loads[: len(fast)], f"{which}: the fast form; {one[0]}"
    if mine["stuck"]:
        assert mine["stuck"] == DRY.format(one[0].dry_steps), which
        assert shown[-1][0] == MOST_STEPS - 1, (
            f"{which}: the real one does not go on for ever; {one[0]}"
        )
        return True
    assert len(fast) == len(shown), f"{which}: another number of steps of the fast form; {one[0]}"
    assert len(mine["steps"]) == len(shown), f"{which}: another number of steps; {one[0]}"
    return False


@pytest.mark.parametrize("seeds", [FIXED, range(BASE, BASE + FRESH)], ids=["fixed", "fresh"])
@pytest.mark.parametrize(
    "make",
    [case, state_case, adapter_case, draft_case],
    ids=["attention", "states", "adapters", "drafts"],
)
def test_every_step_is_the_real_ones(
    make: Callable[[int], tuple[Settings, list[Row]]], seeds: range
) -> None:
    cases = [make(seed) for seed in seeds]
    steps = preempted = 0
    for seed, one, real in zip(seeds, cases, _real(cases), strict=True):
        _same(one, real, f"case {seed} (BAROSTAT_PARITY_SEED={BASE})")
        steps += sum(1 for line in real["steps"] if line[1])
        preempted += sum(len(line[2]) for line in real["steps"])
    print(
        f"{len(cases)} cases from seed {seeds.start}: {steps} steps, {preempted} "
        "preemptions, all equal"
    )
    assert preempted
    assert steps


def test_what_the_twin_says_never_ends_does_not_end() -> None:
    cases = [state_case(seed) for seed in FOR_EVER]
    for seed, one, real in zip(FOR_EVER, cases, _real(cases), strict=True):
        assert _same(one, real, f"case {seed}"), f"case {seed} comes to an end"
