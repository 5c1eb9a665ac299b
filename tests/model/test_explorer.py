"""The smaller worlds of the explorer, the two quickest in `make check`; `make explore` walks the
large ones and all seeded defects.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from tests.model.cluster import Setting
from tests.model.explore import DEFECTS, LAWS, QUICKEST, SMALL, caught
from tests.model.explorer import explore


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=() if name in QUICKEST else pytest.mark.sweep) for name in SMALL],
)
def test_every_law_holds_in_every_interleaving(name: str) -> None:
    found = explore(SMALL[name])
    assert not found.broken, "\n".join((*found.broken, *found.trace))
    assert {"Done", "RolledBack", "HandedOff", "Refused"} <= set(found.ends)
    assert found.states > 5_000


def test_there_is_one_defect_for_each_law() -> None:
    seeded = sorted(patch.name.partition("-")[0] for patch in DEFECTS.glob("*.patch"))
    assert seeded == sorted(LAWS) == sorted(f"L{number}" for number in range(1, 13))


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


def test_a_seeded_defect_is_caught() -> None:
    assert caught("L3")


def test_a_world_that_is_too_large_says_so() -> None:
    with pytest.raises(RuntimeError, match="more than 100 states"):
        explore(Setting(), most=100)
