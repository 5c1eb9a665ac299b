"""One way to meet a demand: a number of replicas of a planned engine, found by simulation, with its
uncertainty.

Each of N replicas gets an Nth of the load. The search for the smallest number starts from the most
that one engine could carry, and is repeated with the longest and the shortest step times within the
model's uncertainty.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from barostat.core.errors import InputError
from barostat.core.units import ceil_div
from barostat.judge.experiments.service_level import WITHIN_RATIO, carries
from barostat.judge.provisioning.need import Need
from barostat.judge.sizing.fitting_changes import why_not
from barostat.judge.sizing.plan import CapacityPlan
from barostat.judge.sizing.planned_twin import pace_of_plan, settings_of_plan
from barostat.kv.step_time.model import StepLoad
from barostat.twin.forms import simulate
from barostat.twin.intake import NS
from barostat.twin.modelled import ModelledPace
from barostat.twin.outcome import Outcome
from barostat.twin.request import Row
from barostat.twin.settings import Settings
from barostat.twin.summary import Summary, spread, summarise

MOST_REPLICAS = 512
_SEEDS = (0, 1)
_LEAST_SCALE = 0.05


@dataclass(frozen=True, slots=True)
class Forecast:
    """The forecast for all replicas. `tpot`: mean time between a request's tokens, over requests,
    as in the SLO. `output_tokens_per_s`, `good_per_s`: for a rate, the delivered share; for users,
    as measured.
    """

    good_per_s: float
    output_tokens_per_s: float
    ttft_p50_s: float | None
    ttft_p99_s: float | None
    tpot_p50_s: float | None
    tpot_p99_s: float | None
    kv_usage_ratio: float
    preempted_per_s: float


@dataclass(frozen=True, slots=True)
class Offer:
    """One way to meet the demand, or why it cannot.

    `replicas`: the smallest number that meets the SLO; `fewest`, `most`: the same with the shortest
    and longest step times (None: not even 512 do). `expected`, `fast`, `slow`: the forecast for
    `replicas`. `price_per_card`: per card and hour, if known. `machine`: cards come in this number. `too_long`: requests of a trace
    that the engine refuses for their length; they are not in the forecast.
    """

    name: str
    plan: CapacityPlan | None = None
    replicas: int | None = None
    fewest: int | None = None
    most: int | None = None
    expected: Forecast | None = None
    fast: Forecast | None = None
    slow: Forecast | None = None
    doubt_ratio: float = 0.0
    doubts: tuple[str, ...] = ()
    price_per_card: float | None = None
    machine: int = 1
    refused: str = ""
    too_long: int = 0

    @property
    def cards_each(self) -> int:
        """GPUs of one replica; 0 without a plan."""
        return 0 if self.plan is None else self.plan.gpus

    @property
    def cards(self) -> int | None:
        """Cards of all replicas, in whole machines."""
        return self._cards(self.replicas)

    @property
    def most_cards(self) -> int | None:
        """Cards, where steps are as long as they may be."""
        return self._cards(self.most)

    def _cards(self, replicas: int | None) -> int | None:
        return (
            None
            if replicas is None
            else ceil_div(replicas * self.cards_each, self.machine) * self.machine
        )

    def cost_per_million(self, need: Need) -> tuple[float, float] | None:
        """Return the cost of a million output tokens, and of a million tokens of the stated mix of
        input and output; None without a price.
        """
        cost = self.cost(self.cards)
        if cost is None or self.expected is None or not self.expected.output_tokens_per_s:
            return None
        of_output = cost / (self.expected.output_tokens_per_s * 3600) * 1e6
        return of_output, of_output * need.output_tokens / (need.input_tokens + need.output_tokens)

    def cost(self, cards: int | None) -> float | None:
        """Return the hourly cost of that many cards."""
        return None if cards is None or self.price_per_card is None else cards * self.price_per_card


def offer(
    name: str, plan: CapacityPlan, need: Need, price_per_card: float | None = None, machine: int = 1
) -> Offer:
    """The fewest replicas of this engine that meet the need."""
    none = Offer(name, plan, price_per_card=price_per_card, machine=machine)
    if why := "; ".join((*plan.sized.refused, *([] if plan.fits else [why_not(plan)]))):
        return replace(none, refused=f"does not start: {why}")
    try:
        settings, pace = settings_of_plan(plan), pace_of_plan(plan)
    except InputError as error:
        return replace(none, refused=str(error))
    too_long = 0
    if (load := need.recorded) is not None:
        need = replace(need, recorded=(taken := load.taken_by(settings)))
        too_long = len(load.requests) - len(taken.requests)
        if too_long > (1 - WITHIN_RATIO) * len(load.requests):
            return replace(none, refused=_too_long(too_long, len(load.requests), settings))
    tried = _Tried(settings, pace, need)
    ratio = pace.error_ratio
    doubted = replace(none, too_long=too_long, doubt_ratio=ratio, doubts=pace.doubt.because)
    short, long = max(_LEAST_SCALE, 1 - ratio), 1 + ratio
    replicas = tried.fewest(1.0, _at_best(plan, pace, need))
    if replicas is None:
        return replace(doubted, refused=tried.why_none())
    return replace(
        doubted,
        replicas=replicas,
        fewest=tried.fewest(short, max(1, math.floor(replicas * short))),
        most=tried.fewest(long, replicas),
        expected=tried.forecast(replicas, 1.0),
        fast=tried.forecast(replicas, short),
        slow=tried.forecast(replicas, long),
    )


def _too_long(count: int, requests: int, settings: Settings) -> str:
    return (
        f"{count:,} of {requests:,} requests are longer than the engine takes "
        f"({settings.max_model_len:,} tokens)"
    )


def full_load_tokens_per_s(
    plan: CapacityPlan, input_tokens: float, output_tokens: float
) -> float | None:
    """Return output tokens per second of one engine whose pool is full all the time, by the step
    model; None if the plan does not fit or the card is not known.
    """
    if not plan.fits or plan.request.card is None:
        return None
    try:
        pace = pace_of_plan(plan)
    except InputError:
        return None
    return output_tokens / request_s(plan, pace, input_tokens, output_tokens)


def _at_best(plan: CapacityPlan, pace: ModelledPace, need: Need) -> int:
    """Replicas that arithmetic asks for, were each as full as it can be all the time; 1 where users
    set the load.
    """
    if need.users:
        return 1
    busy_s = request_s(plan, pace, need.input_tokens, need.output_tokens)
    return min(MOST_REPLICAS, max(1, math.ceil(need.rate_per_s * busy_s)))


def request_s(
    plan: CapacityPlan, pace: ModelledPace, input_tokens: float, output_tokens: float
) -> float:
    """Return the engine's time that one request takes while the pool is as full as it can be."""
    held = input_tokens + output_tokens / 2
    batch = int(max(1, min(plan.flags.max_num_seqs, plan.pool.tokens / held)))
    step_s = pace.model.step_s(StepLoad(decodes=batch, cached_tokens=batch * held))
    prompt_s = (
        pace.model.step_s(StepLoad(input_tokens, batch, batch * held, input_tokens**2 / 2, 1.0))
        - step_s
    )
    return max(0.0, prompt_s) + output_tokens * step_s / batch


@dataclass(slots=True)
class _Tried:
    """Trials of one engine. Mutable: what was run is kept."""

    settings: Settings
    pace: ModelledPace
    need: Need
    _runs: dict[tuple[int, float, int], tuple[Outcome, Summary]] = field(default_factory=dict)

    def fewest(self, scale: float, guess: int) -> int | None:
        """Fewest replicas that meet the SLO with steps longer by a factor; None if a request that
        is alone already misses.
        """
        if not self._alone_holds(scale):
            return None
        return fewest(
            lambda replicas: self._holds(replicas, scale), min(guess, MOST_REPLICAS), MOST_REPLICAS
        )

    def _holds(self, replicas: int, scale: float) -> bool:
        seeds = (0,) if self.need.recorded is not None and replicas == 1 else _SEEDS
        return all(carries(*self._run(replicas, scale, seed), self.need.slo) for seed in seeds)

    def forecast(self, replicas: int, scale: float) -> Forecast:
        """Forecast that many replicas from the simulation of one."""
        outcome, summary = self._run(replicas, scale, 0)
        tpot = spread(
            (life.finished_ns - life.first_token_ns) / (life.output_tokens - 1) / NS
            for life in outcome.lives
            if life.finished_ns is not None
            and life.first_token_ns is not None
            and life.output_tokens > 1
        )
        tokens_per_s = summary.output_tokens_per_s * replicas
        good_per_s = summary.good_per_s * replicas
        if (asked_per_s := self.need.output_tokens_per_s) is not None:
            # a run ends with its last answer, so its own rates are below those of a steady load
            asked = sum(row.output_tokens for row in self.need.rows(replicas, 0))
            tokens_per_s = asked_per_s * summary.output_tokens / asked
            good_per_s = self.need.rate_per_s * summary.good / summary.requests
        return Forecast(
            good_per_s, tokens_per_s, summary.ttft.p50, summary.ttft.p99, tpot.p50, tpot.p99,
            summary.usage_mean_ratio, outcome.preemptions / summary.duration_s * replicas if summary.duration_s else 0.0,
        )  # fmt: skip

    def _run(self, replicas: int, scale: float, seed: int) -> tuple[Outcome, Summary]:
        """Simulate one of that many replicas."""
        key = (replicas, scale, seed)
        if key not in self._runs:
            self._runs[key] = self._simulated(self.need.rows(replicas, seed), scale)
        return self._runs[key]

    def _simulated(self, rows: list[Row], scale: float) -> tuple[Outcome, Summary]:
        pace = self.pace.scaled(scale)
        outcome = simulate(self.settings, rows, pace)
        return outcome, summarise(outcome, self.settings.usable_blocks, self.need.slo, pace.front_s)

    def _alone(self, scale: float) -> Summary:
        return self._simulated(self.need.alone(), scale)[1]

    def _alone_holds(self, scale: float) -> bool:
        found = self._alone(scale)
        return found.requests > 0 and found.good >= found.requests * 0.95

    def why_none(self) -> str:
        """Why no number of replicas holds."""
        found, slo = self._alone(1.0), self.need.slo
        if found.rejected:
            return _too_long(found.rejected, found.requests, self.settings)
        first, gap = found.ttft.p95 or 0.0, found.itl.mean or 0.0
        if slo.ttft_s is not None and first > slo.ttft_s:
            return (
                f"too slow for it: a request alone has its first token after {first:.2g} s (95 "
                "of 100 within)"
            )
        if slo.itl_s is not None and gap > slo.itl_s:
            return f"too slow for it: a request alone has {gap * 1000:.3g} ms between tokens"
        return f"not even {MOST_REPLICAS} replicas hold it"


def fewest(holds: Callable[[int], bool], guess: int, most: int) -> int | None:
    """The least number that holds, sought from a guess; None if not even `most` does. More is
    taken to hold where less did.
    """
    low, high = 0, guess
    while not holds(high):
        if high >= most:
            return None
        low, high = high, min(most, high + max(1, high // 2))
    while high - low > 1:
        middle = high - 1 if low == 0 else (low + high) // 2
        if holds(middle):
            high = middle
        else:
            low = middle
    return high
