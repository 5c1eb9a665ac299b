"""Step times: clients in a closed loop over a grid of clients x input x output, and the pace of the
steps that the engine itself tells of.

Started as bench/pace_points.py takes it that every such point was: 8,192 tokens a step, 1,024
sequences, 0.95 of the memory. Lengths are drawn evenly between 0.8 and 1 of what the point says.
The start itself is a row of start-ups.
"""

from __future__ import annotations

import statistics
from dataclasses import asdict, dataclass
from typing import ClassVar

from bench.pace_points import SHORTEST_RATIO
from bench.sizing_rows import arguments
from dev.engine import Engine
from dev.engine_says import fine_stamps, pool_labels, scrape
from dev.gpu import models
from dev.gpu.here import Here
from dev.gpu.item import Bench, Item, NotMeasured, say
from dev.gpu.journal import PACE, STARTUPS, STEPS, Row
from dev.gpu.startup import came_up, keep_config, started_row, stated_row
from dev.load import Background, Counts, Load

from barostat.catalog.settings.table import has_flag
from barostat.core.errors import InputError
from barostat.engines.vllm.logs.steps import logged_steps
from barostat.judge.calibration.logged_step_times import pace_of_steps

STEP_LINES = "enable_logging_iteration_details"
POINT_WITHIN_S = 300.0


@dataclass(frozen=True, slots=True)
class Point:
    """So many clients, each with `waves` requests of at most these lengths."""

    clients: int
    input_tokens: int
    output_tokens: int
    waves: int = 10

    @property
    def name(self) -> str:
        """As part of a row's name."""
        return f"{self.clients}x{self.input_tokens}x{self.output_tokens}"

    def load(self, seed: int) -> Load:
        """What is sent."""
        shortest = [
            max(1, round(SHORTEST_RATIO * tokens))
            for tokens in (self.input_tokens, self.output_tokens)
        ]
        lengths = ((shortest[0], self.input_tokens), (max(2, shortest[1]), self.output_tokens))
        return Load(*lengths, clients=self.clients, waves=self.waves, stream=True, seed=seed)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace(Item):
    """One engine, and points on it; those on record already are not measured again where the item
    was cut off.
    """

    kind: ClassVar[str] = "pace"
    points: tuple[Point, ...]
    precision: str = "bf16"

    def measure(self, bench: Bench) -> str:
        """Every point is a row; so are the start and the steps."""
        here, journal = bench.here, bench.journal
        row = stated_row(self.name, self.model, self.settings, here)
        keep_config(self.model, journal)
        tells = has_flag(STEP_LINES, here.release) is not False
        flags = [*arguments(row), *(["--" + STEP_LINES.replace("_", "-")] if tells else [])]
        engine = bench.engine(self.model, *flags, env=row.get("env"), cards=self.cards)
        if tells:
            engine.env |= fine_stamps(engine.folder)
        with engine:
            failed = came_up(engine)
            journal.put(STARTUPS, row | started_row(row, engine, failed, bench))
            if failed:
                raise NotMeasured(f"the engine did not come up: {failed}")
            _warm_up(engine, max(point.input_tokens for point in self.points))
            for point in self.points:
                name = f"{here.label}-{self.name}-{point.name}"
                if bench.again or journal.row(PACE, name) is None:
                    found = measured(point, engine)
                    journal.put(PACE, {"id": name, **self._stated(here), **found})
                    say(
                        f"  {point.name}: first token {found['ttft_ms']:.0f} ms, then "
                        f"{found['tpot_ms']:.2f} ms each"
                    )
            steps = _steps(engine) if tells else "this version does not tell of its steps"
        if isinstance(steps, dict):
            journal.put(STEPS, {"id": f"{here.label}-{self.name}", **self._stated(here), **steps})
        return f"{len(self.points)} points; {steps['source'] if isinstance(steps, dict) else steps}"

    def _stated(self, here: Here) -> Row:
        """What rows say of the engine."""
        return {
            "model": models.stated_name(self.model), "gpu": here.name, "precision": self.precision, "vllm_version": str(here.release),
            "tp": self.cards, "dp": None, "ep": None,
        }  # fmt: skip


def measured(point: Point, engine: Engine) -> Row:
    """Means over all requests, as bench/pace.py takes them. Errors: NotMeasured where a request
    failed or none ended in time.
    """
    counts = _sent(engine, point.load(seed=point.clients))
    if counts.failed or counts.answered < point.clients * point.waves:
        raise NotMeasured(
            f"{point.name}: of {point.clients * point.waves} requests: {counts.summary()}"
        )
    ttft_ms, tpot_ms = (
        [value * 1000 for value in values] for values in (counts.ttft_s, counts.tpot_s)
    )
    return {
        "clients": point.clients, "input_tokens": point.input_tokens, "output_tokens": point.output_tokens, "waves": point.waves, "runs": 1,
        "ttft_ms": round(statistics.fmean(ttft_ms), 2), "ttft_range_ms": [round(min(ttft_ms), 2), round(max(ttft_ms), 2)],
        "tpot_ms": round(statistics.fmean(tpot_ms), 3), "tpot_range_ms": [round(min(tpot_ms), 3), round(max(tpot_ms), 3)],
    }  # fmt: skip


def _warm_up(engine: Engine, input_tokens: int) -> None:
    """What an engine does once, on first sight of a size, is done."""
    for clients, tokens in ((8, 64), (4, input_tokens)):
        load = Load(
            (max(1, tokens // 2), tokens), (8, 16), clients=clients, waves=2, stream=True, seed=99
        )
        _sent(engine, load)


def _sent(engine: Engine, load: Load) -> Counts:
    """What came of a load that ends by itself."""
    with Background(engine.url, load, POINT_WITHIN_S) as sent:
        sent.wait()
        return sent.counts


def _steps(engine: Engine) -> Row | str:
    """The pace that `barostat what-if` would find in the log; a sentence where it finds none."""
    labels = pool_labels(scrape(engine))
    block_tokens = int(labels["block_size"])
    told = logged_steps(engine.log_text().splitlines())
    if not told:
        return "the log tells of no step"
    try:
        pace = pace_of_steps(
            max(told.values(), key=len),
            int(labels["num_gpu_blocks"]) * block_tokens,
            block_tokens,
            "the engine's log",
        )
    except InputError as error:
        return str(error)
    return asdict(pace)
