"""Cases of the twin beside the scheduler of vLLM 0.32.0, which runs in a process of its own."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

from tests.parity.remote_cases import ours_with_transfers
from tests.parity.scheduler_cases import as_json, ours

from barostat.twin.forms import simulate
from barostat.twin.outcome import DRY
from barostat.twin.pace import EverySteps
from barostat.twin.request import Row
from barostat.twin.settings import Settings

ROOT = Path(__file__).resolve().parents[2]


PYTHON = ROOT / ".vllm" / "bin" / "python"
ORACLE = Path(__file__).with_name("oracle_scheduler.py")
MOST_STEPS = 50_000
Case = tuple[Settings, list[Row]]


def real_steps(cases: list[Case]) -> list[dict[str, Any]]:
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


def same(one: Case, real: dict[str, Any], which: str) -> bool:
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


def same_with_transfers(one: Case, real: dict[str, Any], which: str) -> bool:
    """Asserts that ours does what the real one did, where it has a KV connector; true where neither
    comes to an end.
    """
    mine = ours_with_transfers(*one)
    shown = [line for line in real["steps"] if line[1]]
    for ours_at, real_at in zip(mine["steps"], shown, strict=False):
        assert ours_at == real_at, f"{which}; {one[0]}"
    if mine["stuck"]:
        assert real["stepsTaken"] == MOST_STEPS, f"{which}: the real one comes to an end; {one[0]}"
        return True
    assert mine["finished"] == sorted(real["finished"]), f"{which}: other ends; {one[0]}"
    assert len(mine["steps"]) == len(shown), f"{which}: another number of steps; {one[0]}"
    return False
