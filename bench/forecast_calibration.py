"""Calibration of the twin on a running engine: stretches of unlike load, and from what the engine
says of them how long a step takes.

The pace is what `barostat.judge.calibration.logged_step_times` makes of the engine's step lines, as
for anybody's log. The client's clock adds one number: what a client waits beyond the steps, on the
way to the scheduler and back.
"""

from __future__ import annotations

import random
import statistics
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

from dev.engine import Engine
from dev.engine_says import pool_labels, scrape
from dev.replay import Answer, replay

from barostat.engines.vllm.logs.steps import logged_steps
from barostat.engines.vllm.metrics.exposition import Exposition
from barostat.engines.vllm.metrics.scrapes import EngineScrapes, in_order
from barostat.engines.vllm.metrics.signals import read
from barostat.judge.calibration.logged_step_times import pace_of_steps, step_samples
from barostat.judge.calibration.step_times import fitted_step_times
from barostat.twin.forms import simulate
from barostat.twin.linear_pace import LinearPace
from barostat.twin.request import Row
from barostat.twin.settings import KvGroup, Settings, for_version

SCRAPED_EVERY_S = 2.0


@dataclass(frozen=True, slots=True)
class Calibration:
    """The pace with its front, what the metrics alone would have given, the calibration's own trace
    and what the client saw of it.
    """

    pace: LinearPace
    by_metrics: LinearPace | None
    answers: list[Answer]
    steps: int


def settings_of(
    engine: Engine, max_num_seqs: int, max_num_batched_tokens: int, max_model_len: int
) -> Settings:
    """The scheduler's settings: those given, and the others as the running engine resolved them.

    The CPU backend schedules synchronously, whatever it is asked. Source: vLLM 0.32.0,
    CpuPlatform.check_and_update_config.
    """
    labels = pool_labels(scrape(engine))
    return for_version(
        Settings(
            kv_blocks=int(labels["num_gpu_blocks"]),
            groups=(KvGroup(int(labels["block_size"])),),
            max_model_len=max_model_len,
            max_num_seqs=max_num_seqs,
            max_num_batched_tokens=max_num_batched_tokens,
            prefix_caching=labels["enable_prefix_caching"] == "True",
            async_scheduling=False,
        )
    )


class _Scraping:
    """The engine's metrics every other second, as whoever looks on from outside has them."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._scrapes: list[tuple[float, Exposition, str]] = []
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def _run(self) -> None:
        while not self._over.wait(SCRAPED_EVERY_S):
            self._scrapes.append((time.time(), read(scrape(self._engine)), "metrics"))

    def pace(self) -> LinearPace | None:
        """What `barostat what-if --from URL` would take a step's time to be."""
        found = fitted_step_times(EngineScrapes("0", in_order(self._scrapes)[0]))
        return None if found is None else found.pace

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()


def stretches(seed: int) -> list[tuple[str, list[Row]]]:
    """Unlike loads: few and many requests that decode, short and long contexts, prompts of all
    lengths, a mix. None fills the pool.

    A step's time is known where another went before it: so the prompts come while one request
    decodes. `alone` are for the front.
    """
    dice = random.Random(seed)
    found = [
        (f"{count} decode", [Row(str(index), 0.0, 32, 90) for index in range(count)])
        for count in (1, 4, 8, 16, 24)
    ]
    found += [
        (f"{count} long", [Row(str(index), 0.0, 1500, 60) for index in range(count)])
        for count in (2, 4)
    ]
    lengths = dice.sample(range(40, 1900, 60), 24)
    beside = [Row("beside", 0.0, 32, 1400)]
    found.append(
        (
            "prompts",
            beside
            + [
                Row(str(index), 0.5 + 0.5 * index, length, 2)
                for index, length in enumerate(lengths)
            ],
        )
    )
    found.append(
        ("alone", [Row(str(index), 0.7 * index, 60 + 90 * index, 2) for index in range(9)])
    )
    mixed: list[Row] = []
    at = 0.0
    while at < 25:
        mixed.append(Row(str(len(mixed)), at, dice.randint(50, 900), dice.randint(40, 160)))
        at += dice.expovariate(1.6)
    found.append(("mixed", mixed))
    return found


def warm_up(engine: Engine) -> None:
    """The engine has met prompts and batches of many sizes: what it does once, on first sight of a
    size, is done.
    """
    replay(
        engine.url,
        [Row(str(index), 0.05 * index, 40 + 90 * index, 20) for index in range(20)],
        seed=1,
    )


def calibrate(engine: Engine, settings: Settings, seed: int) -> Calibration:
    """The engine's pace, from stretches that were sent for it."""
    begin = len(engine.log_text())
    answers: list[Answer] = []
    alone: list[Answer] = []
    with _Scraping(engine) as scraping:
        for index, (name, rows) in enumerate(stretches(seed)):
            came = replay(engine.url, rows, seed=seed * 1000 + index)
            answers += came
            if name == "alone":
                alone = came
    steps = logged_steps(engine.log_text()[begin:].splitlines())
    size = settings.groups[0].block_tokens
    own = max(steps.values(), key=len)
    pace = pace_of_steps(own, settings.usable_blocks * size, size, "the engine's log")
    return Calibration(
        replace(pace, front_s=_front_s(settings, pace, alone)), scraping.pace(), answers, len(own)
    )


def gauge(engine: Engine, settings: Settings, pace: LinearPace, seed: int) -> float:
    """How long the engine's steps take now, over what the pace has them take: from some ten seconds
    of a load of its own.
    """
    dice = random.Random(0)
    burst = [
        Row(str(index), 0.0, dice.randint(50, 900), dice.randint(40, 160)) for index in range(12)
    ]
    begin = len(engine.log_text())
    for turn in range(2):
        replay(engine.url, burst, seed=seed + turn)
    steps = max(logged_steps(engine.log_text()[begin:].splitlines()).values(), key=len)
    size = settings.groups[0].block_tokens
    samples = step_samples(steps, settings.usable_blocks * size, size)
    told = sum(
        sample.steps
        * pace.step_ns(
            round(sample.prefill_tokens),
            round(sample.decodes),
            round(sample.kv_tokens),
            round(sample.pairs),
        )
        for sample in samples
    )
    return sum(sample.steps * sample.duration_s for sample in samples) * 1e9 / told


def _front_s(settings: Settings, pace: LinearPace, alone: Sequence[Answer]) -> float:
    """What requests that met an idle engine waited for their first token beyond the steps."""
    outcome = simulate(settings, [answer.row for answer in alone], pace)
    steps_s = {
        life.request_id: ((life.first_token_ns or 0) - life.arrival_ns) / 1e9
        for life in outcome.lives
    }
    return max(
        0.0,
        statistics.median(
            answer.token_s[0] - answer.sent_s - steps_s[answer.row.request_id] for answer in alone
        ),
    )
