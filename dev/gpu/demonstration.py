"""The demo of the real vLLM (dev/demo_real.py) on the engine that is here; what it prints is
kept.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from dev import demo_real
from dev.gpu.item import READY_WITHIN_S, Bench, NotMeasured
from dev.gpu.state import State, at_tempo, tempo

FILE = "demo.txt"


@dataclass(frozen=True, slots=True, kw_only=True)
class Demo(State):
    """The state shown to a person."""

    kind: ClassVar[str] = "demo"

    def measure(self, bench: Bench) -> str:
        """Its page is on record. Errors: NotMeasured where the pressure was not named."""
        one = at_tempo(self.scenario, tempo(self, bench.here, bench.journal))
        part = bench.journal.part_of(FILE)
        with part.open("w", encoding="utf-8") as out:
            code = demo_real.live(one, self.engine(bench), out, READY_WITHIN_S)
        bench.journal.text(FILE, part.read_text(encoding="utf-8"))
        if code != demo_real.FINDINGS:
            raise NotMeasured(f"the diagnosis ended with {code}, not with {demo_real.FINDINGS}")
        return f"the pressure was named: {FILE}"
