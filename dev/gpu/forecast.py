"""A forecast tried: the thrash diagnosed, then its first proposals applied one by one, each
forecast beside what came.

`Today` diagnoses and measures the state and keeps the proposals; an `Applied` takes one of them.
Each is an item: a cut costs one of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, ClassVar

from dev.engine import Engine
from dev.gpu.here import Here
from dev.gpu.item import Bench, NotMeasured, wait_ready
from dev.gpu.journal import FORECAST, Row
from dev.gpu.state import State, at_tempo, tempo
from dev.load import Background
from dev.scenarios import Scenario
from dev.tried import Outcome, applied, diagnosed, expected, measured, proposals, settle, streaming

FOR_S = {"card": 30.0, "cpu": 30.0, "twin": 10.0}


@dataclass(frozen=True, slots=True, kw_only=True)
class Today(State):
    """The state as it is, its forecast, and what is proposed."""

    kind: ClassVar[str] = "forecast"

    def measure(self, bench: Bench) -> str:
        """The row is on record, with the proposals that can be applied here."""
        one, for_s = self._at_tempo(bench), FOR_S[bench.here.kind]
        with self.engine(bench) as engine:
            wait_ready(engine)
            with Background(engine.url, streaming(one)):
                settle(one)
                report = diagnosed(engine, for_s)
            found, _ = measured(one, engine, engine.url, for_s)
        row = self._begin(bench.here, "today") | {
            "cause": report["diagnosis"]["cause"], "told": report["trials"]["told"],
            "proposals": [{"change": step["change"], "forecast": asdict(expected(step["expected"]))} for step in proposals(report)],
        }  # fmt: skip
        today = report["trials"]["today"]
        if not today:
            bench.journal.put(FORECAST, row | {"measured": asdict(found)})
            return f"{row['cause']}; no forecast: {row['told']}"
        return (
            self._put(bench, row, expected(today), found) + f"; {len(row['proposals'])} proposals"
        )

    def _at_tempo(self, bench: Bench) -> Scenario:
        return at_tempo(self.scenario, tempo(self, bench.here, bench.journal))

    def _begin(self, here: Here, change: str) -> Row:
        stated = {
            "model": self.model,
            "gpu": here.name,
            "vllm_version": str(here.release),
            "flags": " ".join(self.flags(here)),
        }
        return {
            "id": f"{here.label}-{self.name}",
            "state": self.scenario.name,
            "change": change,
            **stated,
        }

    def _put(self, bench: Bench, row: Row, forecast: Outcome, found: Outcome) -> str:
        bench.journal.put(FORECAST, row | {"forecast": asdict(forecast), "measured": asdict(found)})
        return f"{row['change']}: {told(forecast.judged(), found.judged())}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Applied(Today):
    """One of today's proposals on an engine of its own, or a gateway in front of one. `place`:
    which, from 0.
    """

    place: int

    def measure(self, bench: Bench) -> str:
        """The row is on record."""
        today = bench.journal.row(FORECAST, f"{bench.here.label}-{self.after}")
        kept: list[dict[str, Any]] = today["proposals"] if today else []
        if self.place >= len(kept):
            raise NotMeasured(f"there is no such proposal: {len(kept)} could be applied here")
        chosen = kept[self.place]

        def engine(flags: Sequence[str]) -> Engine:
            return bench.engine(self.model, *flags, cards=self.cards)

        found, _ = applied(
            self._at_tempo(bench),
            engine,
            self.flags(bench.here),
            chosen["change"],
            FOR_S[bench.here.kind],
            wait_ready,
        )
        return self._put(
            bench, self._begin(bench.here, chosen["change"]), Outcome(**chosen["forecast"]), found
        )


def told(forecast: dict[str, float], found: dict[str, float]) -> str:
    """Each number's forecast, what came, and how far off it was."""
    return ", ".join(
        f"{name} {forecast[name]:.3g} | {value:.3g} ({forecast[name] / value - 1:+.0%})"
        for name, value in found.items()
        if value
    )
