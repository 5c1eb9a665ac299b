"""The twin's scheduler against the real one of vLLM 0.32.0: every step of random workloads, to the
order of the free blocks.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from typing import Any

import pytest
from tests.parity.beside_real import PYTHON, Case, real_steps, same, same_with_transfers
from tests.parity.remote_cases import remote_case
from tests.parity.scheduler_cases import adapter_case, case, draft_case, state_case

FIXED = range(100)
FOR_EVER = (441_978_379,)  # its requests preempt each other for ever
FRESH = int(os.environ.get("BAROSTAT_PARITY_CASES", "50"))
BASE = int(os.environ.get("BAROSTAT_PARITY_SEED", random.SystemRandom().randrange(10**9)))

pytestmark = [
    pytest.mark.real,
    pytest.mark.skipif(not PYTHON.exists(), reason="no real vLLM here (make vllm)"),
]


@pytest.mark.parametrize("seeds", [FIXED, range(BASE, BASE + FRESH)], ids=["fixed", "fresh"])
@pytest.mark.parametrize(
    ("make", "compare"),
    [
        (case, same),
        (state_case, same),
        (adapter_case, same),
        (draft_case, same),
        (remote_case, same_with_transfers),
    ],
    ids=["attention", "states", "adapters", "drafts", "remote-kv"],
)
def test_every_step_is_the_real_ones(
    make: Callable[[int], Case], compare: Callable[[Case, Any, str], bool], seeds: range
) -> None:
    cases = [make(seed) for seed in seeds]
    steps = preempted = 0
    for seed, one, real in zip(seeds, cases, real_steps(cases), strict=True):
        compare(one, real, f"case {seed} (BAROSTAT_PARITY_SEED={BASE})")
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
    for seed, one, real in zip(FOR_EVER, cases, real_steps(cases), strict=True):
        assert same(one, real, f"case {seed}"), f"case {seed} comes to an end"
