"""The smaller worlds of the explorer, the two quickest in `make check`; `make explore` walks the
large ones and all seeded defects.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from tests.model.cluster import Setting
from tests.model.explore import (
    DEFECTS,
    EVENTS,
    FEW_EVENTS,
    KINDS,
    LAWS,
    OPERATOR,
    QUICKEST,
    SEEDED,
    SMALL,
    caught,
)
from tests.model.explorer import explore
from tests.model.operator_walk import walk as walk_operator

from barostat.platform.workloads import kinds


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=() if name in QUICKEST else pytest.mark.sweep) for name in SMALL],
)
def test_every_law_holds_in_every_interleaving(name: str) -> None:
    found = explore(SMALL[name])
    assert not found.broken, "\n".join((*found.broken, *found.trace))
    without = "without" in name  # nothing can be placed: it ends before anything is proved
    wanted = {"RolledBack", "HandedOff", "Refused"} | (set() if without else {"Done"})
    assert wanted <= set(found.ends)
    assert found.states > (200 if without else 5_000)


@pytest.mark.parametrize("events", [FEW_EVENTS, pytest.param(EVENTS, marks=pytest.mark.sweep)])
def test_the_operator_keeps_its_laws_in_every_sequence_of_events(events: int) -> None:
    assert walk_operator(events) == []


def test_there_is_one_defect_for_each_law_and_each_kind() -> None:
    seeded = sorted(patch.name.partition("-")[0] for patch in DEFECTS.glob("*.patch"))
    assert seeded == sorted((*SEEDED, *OPERATOR))
    assert sorted(LAWS) == sorted(f"L{number}" for number in range(1, 15))
    assert set(KINDS) == set(SEEDED) - set(LAWS)
    changed = {kind.api.kind for kind in kinds() if kind.rolls and kind.rolls != "spares"}
    assert changed <= set(KINDS)


@pytest.mark.parametrize(
    "patch", sorted(DEFECTS.glob("*.patch")), ids=lambda patch: patch.name.partition("-")[0]
)
def test_a_seeded_defect_still_fits_the_code(patch: Path) -> None:
    done = subprocess.run(
        ["git", "apply", "--check", "-p1", str(patch)],
        cwd=DEFECTS.parents[2],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("name", ["L3", "O6"])
def test_a_seeded_defect_is_caught(name: str) -> None:
    assert caught(name)


def test_a_world_that_is_too_large_says_so() -> None:
    with pytest.raises(RuntimeError, match="more than 100 states"):
        explore(Setting(), most=100)
