"""The twin's choice of a data-parallel rank against that of vLLM 0.32.0: random loads, several API
servers, requests that end, requests that a router pins.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
from pathlib import Path
from typing import Any

import pytest

from barostat.twin.data_parallel.balancer import Balancer, Counts

HERE = Path(__file__).parent
PYTHON = HERE.parents[1] / ".vllm" / "bin" / "python"
FIXED = range(200)
FRESH = int(os.environ.get("BAROSTAT_PARITY_CASES", "50"))
BASE = int(os.environ.get("BAROSTAT_PARITY_SEED", random.SystemRandom().randrange(10**9)))

pytestmark = [
    pytest.mark.real,
    pytest.mark.skipif(not PYTHON.exists(), reason="no real vLLM here (make vllm)"),
]


def case(seed: int) -> dict[str, Any]:
    """Requests that come and end between what the coordinator tells."""
    dice = random.Random(seed)
    ranks, servers = dice.randint(2, 16), dice.choice((1, 1, 2, 3, 4, 8))
    moves: list[list[Any]] = []
    under_way: list[str] = []
    pinned = dice.choice((0.0, 0.0, 0.2))
    for number in range(dice.randint(20, 200)):
        thrown = dice.random()
        if thrown < 0.1:
            moves.append(["told", [_counts(dice) for _ in range(ranks)]])
        elif thrown < 0.4 and under_way:
            moves.append(["finish", under_way.pop(dice.randrange(len(under_way)))])
        else:
            rank = dice.randrange(ranks) if dice.random() < pinned else None
            moves.append(["choose", str(number), rank])
            under_way.append(str(number))
    return {
        "ranks": ranks,
        "servers": servers,
        "server": dice.randrange(servers),
        "moves": moves,
    }


def _counts(dice: random.Random) -> list[float]:
    return [dice.choice((0, 0, 1, 3, 20)), dice.randint(0, 30), dice.choice((0.2, 0.6, 0.9, 1.0))]


def ours(one: dict[str, Any]) -> list[int]:
    """The ranks that the twin's balancer chooses."""
    balancer = Balancer(one["ranks"], one["servers"], one["server"])
    places: dict[str, int] = {}
    found = []
    for kind, *rest in one["moves"]:
        if kind == "choose":
            found.append(balancer.choose(rest[1]))
            places[rest[0]] = found[-1]
        elif kind == "finish":
            balancer.finished(places[rest[0]])
        else:
            balancer.told([Counts(*counts) for counts in rest[0]])
    return found


@pytest.mark.parametrize("seeds", [FIXED, range(BASE, BASE + FRESH)], ids=["fixed", "fresh"])
def test_every_rank_is_the_real_ones(seeds: range) -> None:
    cases = [case(seed) for seed in seeds]
    done = subprocess.run(
        [str(PYTHON), str(HERE / "oracle_balancer.py")],
        input="".join(json.dumps(one) + "\n" for one in cases),
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    theirs = [json.loads(line) for line in done.stdout.splitlines()]
    choices = 0
    for seed, one, real in zip(seeds, cases, theirs, strict=True):
        assert ours(one) == real, f"case {seed} (BAROSTAT_PARITY_SEED={BASE})"
        choices += len(real)
    print(f"{len(cases)} cases from seed {seeds.start}: {choices} choices of a rank, all equal")
    assert choices
