"""What the kernel killed on a node, and whether that was the engine."""

from __future__ import annotations

import pytest

from barostat.catalog.signals import signal
from barostat.core.verdict import Absent, Present
from barostat.core.window import Window
from barostat.symptoms.oom_killed import SYMPTOM

AT = 1_000_000.0


@pytest.mark.parametrize(
    ("ago_s", "answers", "dead", "says"),
    [
        (26 * 3600.0, 1.0, 0.0, "26 hours ago, and the engine answers"),
        (600.0, 1.0, 0.0, ""),
        (26 * 3600.0, 0.0, 0.0, ""),
        (26 * 3600.0, 1.0, 1.0, ""),
    ],
)
def test_an_engine_that_answers_has_outlived_a_kill_of_yesterday(
    ago_s: float, answers: float, dead: float, says: str
) -> None:
    made = (
        signal(
            "kernel_oom_kill",
            [(AT - ago_s, 1.0)],
            "node.kernel.log",
            "Killed process 4711 (python3)",
        ),
        signal("scrape_ok", [(AT, answers)], "/metrics"),
        signal("log_engine_dead", [(AT, dead)], "a.log"),
    )
    verdict = SYMPTOM.judge(Window("r", AT, {item.name: item for item in made if item is not None}))
    assert isinstance(verdict, Absent if says else Present)
    assert says in verdict.because
