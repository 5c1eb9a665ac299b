"""What `barostat diagnose` proposes, applied one by one to the real vLLM: what came of each beside
what was forecast for it.

    make vllm && python bench/advice.py [--for 90] [--only SCENARIO,...] [--twin] [--json FILE]

Three states of dev/scenarios.py: a thrash, too few slots, too small a step budget. Each is brought
about and diagnosed from its address and log; then every next step that was tried on the twin and
can be applied here (a flag, or limits of a gateway in front) is applied to an engine of its own, or
a gateway before one, under the same clients, and measured by the clients and the engine's counters.
Today's setting is measured before and after them: a shared machine wanders, and how far is said.

forecast  what the report expects of it
measured  tokens/s and preemptions/s by the engine's counters, TTFT by the clients, ITL by the
engine's histogram
order     of each two settings of a state (today's is one of them) whose forecasts differ by more than 10 %: is the better one better?

Allowed: 10 % for tokens/s and the means of TTFT and ITL, or what today's setting wandered meanwhile
where that is more. A step that the report calls unsure is held to what it says the figures are
between, give or take that much, and to no order. Exits 1 where more is missed or an order is wrong.
About 30 minutes; let the machine be idle.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict
from functools import partial
from itertools import combinations
from pathlib import Path
from statistics import fmean

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from dev.engine import Engine, is_installed
from dev.load import Background
from dev.scenarios import SCENARIOS, Scenario
from dev.tried import (
    Outcome,
    Tried,
    applied,
    between,
    diagnosed,
    expected,
    measured,
    proposals,
    settle,
    streaming,
)
from dev.twin_engine import TwinEngine

STATES = ("kv-preemption-thrash", "slot-bound", "prefill-bound")
READY_WITHIN_S = 400.0
ALLOWED = 0.10


class Bench:
    """A state after the other. `twin`: the same on the twin."""

    def __init__(self, for_s: float, *, twin: bool) -> None:
        self.for_s, self.twin = for_s, twin
        self.tried: list[Tried] = []
        self.broken: list[str] = []

    def engine(self, one: Scenario, flags: Sequence[str]) -> Engine:
        """One with these flags, not started."""
        return TwinEngine(*flags, shape=one.shape) if self.twin else Engine(*flags, shape=one.shape)

    def state(self, one: Scenario) -> None:
        """The scenario diagnosed, and what can be applied of the next steps applied."""
        with self.engine(one, one.flags) as engine:
            engine.wait_ready(READY_WITHIN_S)
            with Background(engine.url, streaming(one)):
                settle(one)
                report = diagnosed(engine, self.for_s)
            before, _ = measured(one, engine, engine.url, self.for_s)
        print(
            f"\n{one.name}: diagnosed as {report['diagnosis']['cause']}; {report['trials']['told']}"
        )
        steps = proposals(report)
        came = [
            Tried(
                one.name,
                step["change"],
                expected(step["expected"]),
                self.applied(one, step["change"]),
                between(step),
            )
            for step in steps
        ]
        with self.engine(one, one.flags) as engine:
            engine.wait_ready(READY_WITHIN_S)
            after, _ = measured(one, engine, engine.url, self.for_s)
        wandered = {
            name: abs(value / after.judged()[name] - 1) for name, value in before.judged().items()
        }
        print(
            "    today's setting wandered meanwhile: "
            f"{', '.join(f'{name} {value:.1%}' for name, value in wandered.items())}"
        )
        today = Outcome(
            *(
                fmean(pair)
                for pair in zip(asdict(before).values(), asdict(after).values(), strict=True)
            )
        )
        rows = [Tried(one.name, "today", expected(report["trials"]["today"]), today), *came]
        for row in rows:
            self.judge(row, wandered)
        self.order([row for row in rows if row.between is None])
        self.tried += rows

    def applied(self, one: Scenario, change: str) -> Outcome:
        """What the change comes to."""
        ready: Callable[[Engine], object] = partial(Engine.wait_ready, within_s=READY_WITHIN_S)
        found, load = applied(one, partial(self.engine, one), one.flags, change, self.for_s, ready)
        if load.counts.failed:
            print(f"    {change}: not answered: {load.counts.failed}")
        return found

    def judge(self, row: Tried, wandered: dict[str, float]) -> None:
        """One line of the table; a miss is kept."""
        cells = []
        least, most = (one.judged() for one in row.between or (row.forecast, row.forecast))
        for name, value in row.measured.judged().items():
            error = row.forecast.judged()[name] / value - 1
            allowed = max(ALLOWED, wandered[name])
            missed = least[name] / value - 1 > allowed or most[name] / value - 1 < -allowed
            cells.append(
                f"{name} {row.forecast.judged()[name]:8.4g} | {value:8.4g} "
                f"{error:+6.1%}{'!' if missed else ' '}"
            )
            if missed:
                self.broken.append(f"{row.state}, {row.change}: {name} off by {error:+.1%}")
        told = (
            f"preemptions/s {row.forecast.preemptions_per_s:.3g} | "
            f"{row.measured.preemptions_per_s:.3g}"
        )
        print(f"    {row.change:34} {'   '.join(cells)}   {told}", flush=True)
        if row.between is not None:
            print(
                "        unsure: "
                f"{', '.join(f'{name} {low:.4g} to {most[name]:.4g}' for name, low in least.items())}",
                flush=True,
            )

    def order(self, rows: Sequence[Tried]) -> None:
        """Pairs that the forecast tells apart are in that order."""
        right = pairs = 0
        for one, other in combinations(rows, 2):
            for name, value in one.forecast.judged().items():
                ratio = value / other.forecast.judged()[name]
                if 1 / (1 + ALLOWED) <= ratio <= 1 + ALLOWED:
                    continue
                pairs += 1
                if (ratio > 1) == (one.measured.judged()[name] > other.measured.judged()[name]):
                    right += 1
                else:
                    self.broken.append(
                        f"{one.state}: {name} of {one.change} and {other.change} came the "
                        "other way round"
                    )
        print(f"    order: {right} of {pairs} pairs as forecast")


def main() -> int:
    """Every state; 1 where a promise is broken."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--for", dest="for_s", type=float, default=90.0, metavar="SECONDS")
    parser.add_argument("--only", default=",".join(STATES))
    parser.add_argument("--twin", action="store_true", help="the same on the twin, in real time")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    if not arguments.twin and not is_installed():
        print("advice: vLLM is not installed here; run `make vllm`", file=sys.stderr)
        return 2
    print("forecast | measured, and how far the forecast is off")
    bench, wanted = Bench(arguments.for_s, twin=arguments.twin), arguments.only.split(",")
    for one in SCENARIOS:
        if one.name in wanted:
            bench.state(one)
    print(f"\n{sum(row.change != 'today' for row in bench.tried)} proposals applied")
    for line in bench.broken:
        print(f"missed: {line}")
    if arguments.json:
        arguments.json.write_text(
            json.dumps(
                {"tried": [asdict(row) for row in bench.tried], "missed": bench.broken}, indent=1
            )
            + "\n"
        )
    return 1 if bench.broken else 0


if __name__ == "__main__":
    raise SystemExit(main())
