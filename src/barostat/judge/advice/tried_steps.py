"""The next steps of a report in the order, and at the values, that trials on the twin of its engine
give them.

    proposals -> a few values each -> one short run each -> the best value of each lever -> more
    dice and every pace that may be -> order

First what helps, then what was not tried, what helps at a price, what takes more cards, what helps
or harms by what the window does not tell (between.py), what makes no difference; what costs more
than it brings at every value goes to what is not advised, with its figures. Traffic, settings and
pace are those that the engine was seen with: where one is missing, the order stays and that is
said, with the command that would make it known.

Bounded in steps of the twin, not by a clock: WORK in all, some two seconds of one core.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from barostat.core.diagnosis import CauseName, Effect, NextStep, ReplicaReport, StepForecast, Trials
from barostat.core.errors import InputError
from barostat.core.proposed_change import ProposedChange, SetFlag, UnsetFlag
from barostat.core.prose import Prose
from barostat.core.window import Window
from barostat.judge.advice.between import between_words, ends, is_open
from barostat.judge.advice.change_text import as_written, summary_of
from barostat.judge.advice.nearby_values import nearby
from barostat.judge.advice.worth import as_told, effect_of, expected_of, worth
from barostat.judge.calibration.mean_steps import mean_load
from barostat.judge.calibration.preferred import measured_step_times
from barostat.judge.calibration.step_times import FittedStepTimes, told_of_division
from barostat.judge.diagnosis.diagnose import Examination, examine
from barostat.judge.diagnosis.fleet import badness
from barostat.judge.evidence.recording import Recording, ReplicaRecording
from barostat.judge.experiments.candidates import Candidate, Today, candidate, is_modelled
from barostat.judge.experiments.pool_change import SIZING, sizing_of
from barostat.judge.experiments.side_by_side import (
    Compared,
    changed_figures,
    changes,
    compare,
    far_off,
)
from barostat.judge.experiments.trials import LikeSeen, Load, MadeOnce, fitting_duration_s, stay_s
from barostat.judge.observed.engine import engine_scrapes
from barostat.judge.observed.settings import assumed
from barostat.judge.observed.traffic import NotObserved, ObservedTraffic, observed_traffic
from barostat.judge.observed.twin_settings import twin_settings
from barostat.twin.pace import Pace
from barostat.twin.summary import Slo

WORK = 400_000
"""Steps of an engine with one request that all trials of a report may take together: one with
twelve counts twice, behind a gate more.
"""
TRIED_FOR: tuple[CauseName, ...] = (
    "kv-preemption-thrash", "kv-admission-queueing", "slot-bound", "prefill-bound", "compute-bound",
)  # fmt: skip
"""Causes that are a matter of load: what the twin has."""
_GATED_COSTS = 12
_REQUESTS_LIKE_A_STEP = 12
_VERSIONS = 2
_STAYS, _FEWEST_STAYS = 6.0, 2.5
_FEW_VALUES = 3
_SEEN = {
    "output_tokens_per_s": "generation_tokens_per_s", "running": "running_requests", "kv_usage_ratio": "kv_usage_ratio",
    "preempted_per_s": "preemptions_per_s",
}  # fmt: skip
NOT_MODELLED = Prose("the twin does not model what it changes")
_TAKES_CARDS = ("scale-out", "tensor-parallel-up")


@dataclass(frozen=True, slots=True)
class Bench:
    """The engine that the steps are for, as its twin: what every trial starts from.

    `step_s`, `running`: of its mean step; `engines`: data-parallel ones behind its endpoint.
    """

    today: Today
    traffic: ObservedTraffic
    pace: FittedStepTimes
    step_s: float
    running: float
    engines: int


def advised(recording: Recording) -> Examination:
    """The examination with the next steps of its worst replica tried. Pure: the same recording
    gives the same report.
    """
    return with_trials(examine(recording), recording)


def with_trials(found: Examination, recording: Recording) -> Examination:
    """The same with the next steps of its worst replica in the order of their trials."""
    sick = [
        replica
        for replica in found.report.replicas
        if replica.diagnosis.cause in TRIED_FOR and replica.next
    ]
    if not sick:
        return found
    worst = max(sick, key=lambda replica: badness(replica.diagnosis))
    replica = next(one for one in recording.replicas if one.name == worst.name)
    window = found.shown[worst.name]
    index = next((index for index, one in found.windows[worst.name].items() if one is window), "")
    bench = bench_of(recording, replica, window, index)
    after = (
        replace(worst, trials=Trials(why_not=bench))
        if isinstance(bench, Prose)
        else tried(worst, window, bench)
    )
    replicas = tuple(after if one is worst else one for one in found.report.replicas)
    return replace(found, report=replace(found.report, replicas=replicas))


def bench_of(
    recording: Recording, replica: ReplicaRecording, window: Window, index: str
) -> Bench | Prose:
    """The twin of that engine, or in one sentence what is not known for it and what would make it
    known.
    """
    scrapes = engine_scrapes(replica, index)
    settings = twin_settings(window)
    if settings is None:
        return Prose(
            "the size of the KV pool was not seen: `what-if --from ... --kv-blocks N` tries them"
        )
    traffic = observed_traffic(window, scrapes)
    if isinstance(traffic, NotObserved):
        return Prose(
            traffic.why.replace(
                "say --workload SPEC or --trace FILE",
                "`what-if --from ... --workload SPEC` tries them with another",
            )
        )
    pace = measured_step_times(replica.log, index, scrapes, settings, traffic)
    if pace is None or scrapes is None or not pace.samples:
        return Prose(
            "how long a step takes was not seen (hardly a step in the time looked at): "
            "look longer (--for 1m) while there is load, or "
            "`what-if --from ... --latency MODEL` tries them"
        )
    engines = window.fresh("data_parallel_engines")
    today = Today(settings, sizing_of(window, replica.gpu), len(recording.replicas))
    mean = mean_load(pace.samples)
    return Bench(
        today,
        traffic,
        pace,
        mean.duration_s,
        mean.decodes,
        1 if engines is None else max(1, int(engines.last)),
    )


def tried(report: ReplicaReport, window: Window, bench: Bench, work: int = WORK) -> ReplicaReport:
    """The report with its next steps tried and put in order."""
    asked = [
        (step, [(one, _candidate(step.lever, one, bench)) for one in nearby(step.change, window)])
        for step in report.next
    ]
    can = [
        (step, [(one, found) for one, found in those if isinstance(found, Candidate)])
        for step, those in asked
    ]
    paces: tuple[Pace, ...] = (bench.pace.pace, *bench.pace.others)
    duration_s = _duration_s(bench, can, len(paces), work)
    if duration_s is None:  # fewer values each, then at the expected pace alone
        can = [(step, those[:_FEW_VALUES]) for step, those in can]
        duration_s = _duration_s(bench, can, len(paces), work)
    if duration_s is None:
        paces = paces[:1]
        duration_s = _duration_s(bench, can, 1, work)
    if duration_s is None or not any(those for _, those in can):
        why = Prose(
            (
                "trials of requests that stay so long take more than a diagnosis may: `what-if "
                "--from ...` takes its time for them"
            )
            if duration_s is None
            else "none of the next steps is one that the twin can try"
        )
        return replace(report, trials=Trials(why_not=why))
    settings = bench.today.settings
    load = MadeOnce(
        LikeSeen(bench.traffic, duration_s, settings.hash_tokens, settings.max_model_len)
    )
    now = Candidate("today", settings)
    today = compare(now, load, Slo(), paces, _VERSIONS)
    if today.stuck:
        return replace(
            report,
            trials=Trials(
                why_not=Prose(f"the twin of today's engine never goes on: {today.stuck}")
            ),
        )
    good: list[tuple[NextStep, float]] = []
    untried: list[NextStep] = []
    harmful: list[NextStep] = []
    for step, values in can:
        if not values:
            first = next(
                found
                for one, those in asked
                if one is step
                for _, found in those
                if isinstance(found, Prose)
            )
            untried.append(replace(step, untried=first))
            continue
        after, value = _best(step, values, today, load, paces)
        forecast = after.forecast
        if forecast is not None and forecast.effect == "harms":
            why = Prose(
                f"{as_written(after.change)} is forecast to cost more than it brings: "
                f"{summary_of(forecast)}"
            )
            harmful.append(replace(after, because=why))
        elif forecast is not None:
            good.append((after, value))
    off = far_off(
        today,
        {
            name: window.signals[signal].mean
            for name, signal in _SEEN.items()
            if signal in window.signals
        },
    )
    trust = (
        (
            f"; today's twin is far from what was measured in {', '.join(off)}: trust the "
            "figures less than their order"
        )
        if off
        else ""
    )
    divided = told_of_division(bench.pace)
    if divided and len(paces) == 1:
        divided += ": tried with what is usual alone"
    guessed = "".join(f"; {one}" for one in assumed(window))
    said = (
        "tried on the twin of this engine, on traffic like that of the last "
        f"{bench.traffic.span_s:.0f} s, {_VERSIONS} runs of "
        f"{duration_s:.0f} s each; a step's time may be off by "
        f"{bench.pace.pace.error_ratio:.0%} either way"
        f"{divided}{guessed}{trust}"
    )
    return replace(
        report,
        next=_ordered(good, untried),
        not_advised=(*harmful, *report.not_advised),
        trials=Trials(expected_of(today), Prose(said)),
    )


def _candidate(lever: str, change: ProposedChange, bench: Bench) -> Candidate | Prose:
    """The change as a candidate; a sentence where the twin does not model it, or where something is
    missing.
    """
    if not is_modelled(change):
        return NOT_MODELLED
    try:
        found = candidate(lever, (change,), bench.today)
    except InputError as error:
        sized = isinstance(change, SetFlag | UnsetFlag) and change.name in SIZING
        hint = "; what-if takes what is missing" if sized and bench.today.sizing.lacks else ""
        return Prose(f"{error.what}{hint}")
    if found.kv_budget is not None:
        found = replace(found, kv_budget=found.kv_budget // bench.engines)
    return found


def _duration_s(
    bench: Bench,
    can: Sequence[tuple[NextStep, Sequence[tuple[ProposedChange, Candidate]]]],
    paces: int,
    work: int,
) -> float | None:
    """How long each run is: as many stays as the work allows; None where that is too few to tell
    anything.
    """
    runs = _VERSIONS + paces - 1
    cost = float(runs)
    for _, values in can:
        if values:
            gated = any(found.kv_budget is not None for _, found in values)
            cost += _GATED_COSTS * _VERSIONS if gated else len(values) + runs - 1
    stay = stay_s(bench.traffic)
    wanted = min(
        fitting_duration_s(bench.traffic), max(_STAYS * stay, 100 / bench.traffic.rate_per_s)
    )
    allowed = work / cost / (1 + bench.running / _REQUESTS_LIKE_A_STEP) * bench.step_s
    return None if allowed < _FEWEST_STAYS * stay else min(wanted, allowed)


def _best(
    step: NextStep,
    values: Sequence[tuple[ProposedChange, Candidate]],
    today: Compared,
    load: Load,
    paces: Sequence[Pace],
) -> tuple[NextStep, float]:
    """The step at the value that is worth most, with its forecast, and what that is worth; of two
    alike the proposal's own value.
    """
    one_run = replace(today, runs=today.runs[:1], central=1)
    chosen, found = values[0]
    if len(values) > 1:
        scored = []
        for one, found in values:
            short = compare(found, load, Slo(), paces[:1], 1)
            if not short.stuck:
                scored.append((worth(expected_of(one_run), expected_of(short)), one, found))
        if scored:
            _, chosen, found = max(scored, key=lambda entry: entry[0])
    if (
        found.kv_budget is not None
    ):  # a gate's decisions cost much more than a scheduler's: the expected pace alone
        paces, today = paces[:1], replace(today, runs=today.runs[:_VERSIONS])
    then = compare(found, load, Slo(), paces, _VERSIONS)
    # without a service level every finished request is a good one: that says nothing
    differences = [one for one in changes(today, then) if one.field != "good_per_s"]
    before, expected = expected_of(today), expected_of(then)
    value = worth(before, as_told(before, expected, differences), restarts=step.restarts)
    because = (
        step.because
        if len(values) == 1
        else Prose(f"{step.because}; {len(values)} values were tried")
    )
    effect: Effect
    if then.stuck:
        effect = "harms"
    elif is_open(today, then, restarts=step.restarts):
        effect = "unsure"
    else:
        effect = effect_of(differences, expected.refused_ratio, value)
    forecast = StepForecast(
        expected,
        effect,
        better=Prose(changed_figures(differences, better=True)),
        worse=Prose(changed_figures(differences, better=False)),
        may_change=Prose(between_words(today, then) if effect == "unsure" else ""),
        stuck=Prose(then.stuck),
        between=ends(then),
    )
    return replace(step, change=chosen, because=because, forecast=forecast), value


def _ordered(
    good: Sequence[tuple[NextStep, float]], untried: Sequence[NextStep]
) -> tuple[NextStep, ...]:
    ranked = [step for step, _ in sorted(good, key=lambda entry: -entry[1])]
    effects = {step.lever: step.forecast.effect for step in ranked if step.forecast is not None}
    nothing = [step for step in ranked if effects[step.lever] == "nothing"]
    unsure = [step for step in ranked if effects[step.lever] == "unsure"]
    cards = [
        step
        for step in ranked
        if step.lever in _TAKES_CARDS and step not in nothing and step not in unsure
    ]
    helps, prices = (
        [step for step in ranked if effects[step.lever] == effect and step not in cards]
        for effect in ("helps", "trade-off")
    )
    return (*helps, *untried, *prices, *cards, *unsure, *nothing)
