"""Every front, fed for a moment: the same inputs each time, a few hundred. `make fuzz` is the long
form.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.fuzz.fronts.table import FRONTS, GROUPS
from tests.fuzz.fuzz import fed

INPUTS = 40


@pytest.mark.sweep
@pytest.mark.timeout(240)
@pytest.mark.parametrize("group", GROUPS)
def test_every_front_answers_or_refuses(group: str, tmp_path: Path) -> None:
    names = [front.name for front in GROUPS[group]]
    outcomes = fed(names, tmp_path, seed=1, inputs=INPUTS)
    told = [
        f"{one.front}: {what}\n{Path(path).with_suffix('.txt').read_text()}"
        for one in outcomes
        for what, path in one.crashes.items()
    ]
    assert not told, "\n\n".join(told)
    assert [one.front for one in outcomes] == names
    assert all(one.inputs >= INPUTS for one in outcomes)


def test_fronts_have_names_of_their_own() -> None:
    assert len(FRONTS) == sum(len(group) for group in GROUPS.values()) > 30
