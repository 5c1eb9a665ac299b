"""The next steps of a report, tried on the twin of its engine and ranked by the outcome.

    proposals -> a few values each -> one short run each -> the best value of each lever
              -> more runs, at every pace that is possible -> order (ranking.py)

First what helps or trades, by rank; then what was not tried; what helps or harms, which the window
does not tell (pace_range.py); what makes no difference. A step that costs more than it brings at
every value moves to those that are not advised, with its figures. Traffic, settings and pace are
those that the engine was seen with. Where one is missing, the levers' own order stays, with the
command that would supply it.

A step is chosen in a pool that is 5 % smaller than the real one: the lengths of requests are known
from histograms, and where the pool is nearly full a few percent decide whether anything is
preempted.

Bounded in steps of the twin, not by a clock: WORK in all, some two seconds of one core.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from barostat.core.diagnosis import (
    CauseName,
    Effect,
    Expected,
    NextStep,
    ReplicaReport,
    StepForecast,
    Trials,
)
from barostat.core.errors import InputError
from barostat.core.proposed_change import ProposedChange, SetFlag, UnsetFlag
from barostat.core.prose import Prose
from barostat.core.window import Window
from barostat.judge.advice.change_text import as_written, summary_of
from barostat.judge.advice.nearby_values import nearby
from barostat.judge.advice.pace_range import is_open, lowest_and_highest, possible_changes
from barostat.judge.advice.ranking import Ranked, best_value, in_order
from barostat.judge.advice.step_score import (
    benefit,
    beyond_chance,
    effect_of,
    expected_of,
    preempted_per_token,
    preemption_outlook,
    price,
)
from barostat.judge.calibration.mean_steps import mean_load
from barostat.judge.calibration.preferred import measured_step_times
from barostat.judge.calibration.step_times import FittedStepTimes, prompt_share_note
from barostat.judge.diagnosis.diagnose import Examination, examine
from barostat.judge.diagnosis.fleet import badness
from barostat.judge.evidence.recording import Recording, ReplicaRecording
from barostat.judge.experiments.candidates import Candidate, Today, candidate, is_modelled
from barostat.judge.experiments.pool_change import SIZING, sizing_of
from barostat.judge.experiments.side_by_side import (
    Compared,
    Difference,
    changed_figures,
    changes,
    compare,
    far_off,
    slo_outlook,
)
from barostat.judge.experiments.trials import LikeSeen, Load, MadeOnce, fitting_duration_s, stay_s
from barostat.judge.observed.engine import engine_scrapes
from barostat.judge.observed.settings import Assumption
from barostat.judge.observed.traffic import NotObserved, ObservedTraffic, observed_traffic
from barostat.judge.observed.twin_settings import twin_settings
from barostat.platform.pods import last_start_s
from barostat.twin.pace import Pace
from barostat.twin.settings import Settings
from barostat.twin.summary import Slo

WORK = 450_000
"""Steps of an engine with one request that all trials of a report may take together: one with
twelve counts twice, behind a gate more.
"""
TRIED_FOR: tuple[CauseName, ...] = (
    "kv-preemption-thrash",
    "kv-admission-queueing",
    "slot-bound",
    "prefill-bound",
    "compute-bound",
)
"""Causes that come from load, which is what the twin models."""
NOT_MODELLED = Prose("the twin does not model what it changes")
_GATED_COSTS = 12
_REQUESTS_LIKE_A_STEP, _DRAFTING_LIKE_A_STEP = 12, 1
_VERSIONS = 2
_STAYS, _FEWEST_STAYS = 6.0, 2.5
_FEW_VALUES = 3
_MARGIN_RATIO = 0.05
_SEEN = {
    "output_tokens_per_s": "generation_tokens_per_s",
    "running": "running_requests",
    "kv_usage_ratio": "kv_usage_ratio",
    "preempted_per_s": "preemptions_per_s",
}


@dataclass(frozen=True, slots=True)
class Bench:
    """The twin of the engine that the steps are for: what every trial starts from.

    `step_s`, `running`: of its mean step; `engines`: data-parallel ones behind its endpoint;
    `assumptions`: what the twin rests on and was not seen.
    """

    today: Today
    traffic: ObservedTraffic
    pace: FittedStepTimes
    step_s: float
    running: float
    engines: int
    assumptions: tuple[Assumption, ...] = ()


@dataclass(frozen=True, slots=True)
class Options:
    """A step and the values at which it can be tried, its own first; or why it cannot."""

    step: NextStep
    values: tuple[tuple[ProposedChange, Candidate], ...]
    untried: Prose


@dataclass(frozen=True, slots=True)
class Bout:
    """Setup against which every step is tried. `pressed_today`: today's engine in the smaller pool."""

    load: Load
    paces: tuple[Pace, ...]
    slo: Slo
    today: Compared
    pressed_today: Compared
    cards: float


def advised(recording: Recording, slo: Slo = Slo()) -> Examination:  # noqa: B008 (frozen)
    """The examination with the next steps of its worst replica tried and ranked. Pure: the same
    recording gives the same report.
    """
    return with_trials(examine(recording), recording, slo)


def with_source(examination: Examination, source: tuple[str, ...]) -> Examination:
    """The same examination, its trials with the arguments of `what-if` that name the engine."""
    replicas = tuple(
        one if one.trials is None else replace(one, trials=replace(one.trials, source=source))
        for one in examination.report.replicas
    )
    return replace(examination, report=replace(examination.report, replicas=replicas))


def with_trials(
    examination: Examination,
    recording: Recording,
    slo: Slo = Slo(),  # noqa: B008 (frozen)
) -> Examination:
    """The same examination with the next steps of its worst replica tried and ranked."""
    report = examination.report
    sick = [one for one in report.replicas if one.diagnosis.cause in TRIED_FOR and one.next]
    if not sick:
        return examination
    worst = max(sick, key=lambda replica: badness(replica.diagnosis))
    after = with_ranked_steps(worst, examination, recording, slo)
    replicas = tuple(after if one is worst else one for one in report.replicas)
    return replace(examination, report=replace(report, replicas=replicas))


def with_ranked_steps(
    report: ReplicaReport, examination: Examination, recording: Recording, slo: Slo
) -> ReplicaReport:
    """One replica's report with its next steps tried and ranked; where that is not possible, the
    steps as they are and the reason.
    """
    replica = next(one for one in recording.replicas if one.name == report.name)
    window = examination.shown[report.name]
    windows = examination.windows[report.name]
    index = next((index for index, one in windows.items() if one is window), "")
    bench = bench_of(recording, replica, window, index)
    if isinstance(bench, Prose):
        return replace(report, trials=Trials(why_not=bench))
    found = tried(report, window, bench, slo)
    if found.trials is None:
        return found
    start_s = last_start_s(recording.kubernetes, report.name)
    return replace(found, trials=replace(found.trials, start_s=start_s))


def bench_of(
    recording: Recording, replica: ReplicaRecording, window: Window, index: str
) -> Bench | Prose:
    """The twin of that engine; or what is not known for it, and what would supply it."""
    scrapes = engine_scrapes(replica, index)
    seen = twin_settings(window, replica.gpu)
    if seen is None:
        return Prose(
            "the size of the KV pool was not seen: `what-if` with --kv-blocks N tries them"
        )
    settings = seen.settings
    traffic = observed_traffic(window, scrapes)
    if isinstance(traffic, NotObserved):
        return Prose(
            traffic.why.replace(
                "say --workload SPEC or --trace FILE",
                "`what-if` with --workload SPEC tries them with another",
            )
        )
    pace = measured_step_times(replica.log, index, scrapes, settings, traffic)
    if pace is None or scrapes is None or not pace.samples:
        return Prose(
            "how long a step takes was not seen (hardly a step in the time looked at): look longer "
            "(--for 1m) while there is load, or `what-if` with --latency MODEL tries them"
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
        seen.assumptions,
    )


def tried(
    report: ReplicaReport,
    window: Window,
    bench: Bench,
    slo: Slo = Slo(),  # noqa: B008 (frozen)
    work: int = WORK,
) -> ReplicaReport:
    """The report with its next steps tried and ranked."""
    options = [_options(step, window, bench) for step in report.next]
    if not any(one.values for one in options):
        why_not = Prose("none of the next steps is one that the twin can try")
        return replace(report, trials=Trials(why_not=why_not))
    paces: tuple[Pace, ...] = (bench.pace.pace, *bench.pace.others)
    duration_s = _duration_s(bench, options, len(paces), work)
    if duration_s is None:  # fewer values each, then only the expected pace
        options = [replace(one, values=one.values[:_FEW_VALUES]) for one in options]
        duration_s = _duration_s(bench, options, len(paces), work)
    if duration_s is None:
        paces = paces[:1]
        duration_s = _duration_s(bench, options, 1, work)
    if duration_s is None:
        why_not = Prose(
            "the requests stay too long to simulate enough of them during a diagnosis: `what-if` "
            "takes the time"
        )
        return replace(report, trials=Trials(why_not=why_not))
    bout = _bout(window, bench, paces, duration_s, slo)
    if bout.today.stuck:
        why_not = Prose(f"the twin of today's engine never finishes: {bout.today.stuck}")
        return replace(report, trials=Trials(why_not=why_not))
    sure: list[Ranked[NextStep]] = []
    last: list[Ranked[NextStep]] = []
    harmful: list[NextStep] = []
    for one in options:
        if not one.values:
            continue
        ranked, forecast = _tried_step(one, bout)
        match forecast.effect:
            case "harms":
                harmful.append(_not_advised(ranked.item, forecast))
            case "unsure" | "nothing":
                last.append(ranked)
            case _:
                sure.append(ranked)
    untried = [replace(one.step, untried=one.untried) for one in options if not one.values]
    last_ordered = in_order(last, slo.ttft_s)
    last_ordered.sort(key=lambda step: step.forecast is None or step.forecast.effect == "nothing")
    return replace(
        report,
        next=(*in_order(sure, slo.ttft_s), *untried, *last_ordered),
        not_advised=(*harmful, *report.not_advised),
        trials=Trials(
            expected_of(bout.today),
            _basis(bench, bout, window, duration_s),
            assumptions=tuple(one.text for one in bench.assumptions),
        ),
    )


def _options(step: NextStep, window: Window, bench: Bench) -> Options:
    values: list[tuple[ProposedChange, Candidate]] = []
    reasons: list[Prose] = []
    for change in nearby(step.change, window):
        made = _candidate(step.lever, change, bench)
        if isinstance(made, Candidate):
            values.append((change, made))
        else:
            reasons.append(made)
    return Options(step, tuple(values), next(iter(reasons), Prose("")))


def _candidate(lever: str, change: ProposedChange, bench: Bench) -> Candidate | Prose:
    """The change as a candidate; a sentence where the twin does not model it, or where something is
    missing.
    """
    if not is_modelled(change):
        return NOT_MODELLED
    try:
        made = candidate(lever, (change,), bench.today)
    except InputError as error:
        sized = isinstance(change, SetFlag | UnsetFlag) and change.name in SIZING
        hint = "; pass them to what-if" if sized and bench.today.sizing.lacks else ""
        return Prose(f"{error.what}{hint}")
    if made.kv_budget is not None:
        made = replace(made, kv_budget=made.kv_budget // bench.engines)
    return made


def _bout(
    window: Window, bench: Bench, paces: tuple[Pace, ...], duration_s: float, slo: Slo
) -> Bout:
    settings = bench.today.settings
    load = MadeOnce(
        LikeSeen(bench.traffic, duration_s, settings.hash_tokens, settings.max_model_len)
    )
    now = Candidate("today", settings)
    return Bout(
        load,
        paces,
        slo,
        compare(now, load, slo, paces, _VERSIONS),
        compare(_pressed(now), load, slo, paces[:1], 1),
        window.config.number("tensor_parallel_size") or 1.0,
    )


def _duration_s(bench: Bench, options: Sequence[Options], paces: int, work: int) -> float | None:
    """How long each run is: as many stays as the work allows; None if that is too few to tell
    anything.
    """
    runs = _VERSIONS + paces - 1
    cost = float(runs + 1)
    for one in options:
        if one.values:
            gated = any(found.kv_budget is not None for _, found in one.values)
            cost += _GATED_COSTS * _VERSIONS if gated else len(one.values) + runs
    stay = stay_s(bench.traffic)
    wanted = min(
        fitting_duration_s(bench.traffic), max(_STAYS * stay, 100 / bench.traffic.rate_per_s)
    )
    drafts = bench.today.settings.drafting is not None
    alike = _DRAFTING_LIKE_A_STEP if drafts else _REQUESTS_LIKE_A_STEP
    allowed = work / cost / (1 + bench.running / alike) * bench.step_s
    return None if allowed < _FEWEST_STAYS * stay else min(wanted, allowed)


def _tried_step(options: Options, bout: Bout) -> tuple[Ranked[NextStep], StepForecast]:
    """The step at its best value, with its forecast."""
    step = options.step
    change, chosen, pressed = _best_value(options, bout)
    paces, today = bout.paces, bout.today
    if chosen.kv_budget is not None:
        # A gate's decisions cost much more than a scheduler's: only the expected pace is tried.
        paces, today = paces[:1], replace(today, runs=today.runs[:_VERSIONS])
    then = compare(chosen, bout.load, bout.slo, paces, _VERSIONS)
    before, expected = expected_of(today), expected_of(then)
    preempted_ratio = (then if pressed is None else pressed).runs[0].preempted_ratio
    preemptions = preemption_outlook(before, expected, preempted_ratio)
    differences = _telling(changes(today, then), before, expected)
    likely = beyond_chance(before, expected, differences)
    value = benefit(before, likely, ends_preemption=preemptions == "ends")
    open_ = is_open(today, then, restarts=step.restarts)
    effect: Effect
    if then.stuck:
        effect = "harms"
    elif open_:
        effect = "unsure"
    else:
        effect = effect_of(differences, expected.refused_ratio, value)
    capacity_ratio = _capacity_ratio(change, chosen, bout)
    forecast = StepForecast(
        expected,
        effect,
        better=Prose(changed_figures(differences, better=True)),
        worse=Prose(changed_figures(differences, better=False)),
        may_change=Prose(possible_changes(today, then) if effect == "unsure" else ""),
        stuck=Prose(then.stuck),
        between=lowest_and_highest(then),
        slo=slo_outlook(then, bout.slo),
        preemptions=preemptions,
        capacity_ratio=capacity_ratio,
    )
    because = step.because
    if len(options.values) > 1:
        because = Prose(f"{because}; {len(options.values)} values were tried")
    made = replace(step, change=change, because=because, forecast=forecast)
    cost = price(restarts=step.restarts, capacity_ratio=capacity_ratio)
    return Ranked(made, likely, value - cost, forecast.slo), forecast


def _best_value(options: Options, bout: Bout) -> tuple[ProposedChange, Candidate, Compared | None]:
    """The value that ranks first in the smaller pool, with its run there (None behind a gate); of
    equal ones the proposal's own.
    """
    if options.values[0][1].kv_budget is not None:
        return (*options.values[0], None)
    before = expected_of(bout.pressed_today)
    entries: list[Ranked[tuple[ProposedChange, Candidate, Compared]]] = []
    for change, made in options.values:
        run = compare(_pressed(made), bout.load, bout.slo, bout.paces[:1], 1)
        if run.stuck and len(options.values) > 1:
            continue
        then = expected_of(run)
        preempted_ratio = run.runs[0].preempted_ratio
        ends = preemption_outlook(before, then, preempted_ratio) == "ends"
        value = benefit(before, then, ends_preemption=ends)
        outlook = slo_outlook(run, bout.slo)
        entries.append(Ranked((change, made, run), then, value, outlook, preempted_ratio))
    if not entries:
        change, made = options.values[0]
        return change, made, compare(_pressed(made), bout.load, bout.slo, bout.paces[:1], 1)
    return best_value(entries, before, bout.slo.ttft_s)


def _pressed(made: Candidate) -> Candidate:
    """The candidate in a pool that is smaller by the margin, as long as the longest request that is
    let in fits.
    """
    settings: Settings = made.settings
    longest = 1 + sum(-(-settings.max_model_len // group.block_tokens) for group in settings.groups)
    blocks = max(longest, round((1 - _MARGIN_RATIO) * settings.kv_blocks))
    return replace(made, settings=replace(settings, kv_blocks=min(settings.kv_blocks, blocks)))


def _telling(
    differences: Sequence[Difference], today: Expected, then: Expected
) -> list[Difference]:
    """The differences that say something: without an SLO every finished request is good, and more
    preemptions for as many more tokens are no worse.
    """
    same_rate = preempted_per_token(then) <= 1.1 * preempted_per_token(today)
    return [
        one
        for one in differences
        if one.field != "good_per_s"
        and not (one.field == "preempted_per_s" and not one.better and same_rate)
    ]


def _capacity_ratio(change: ProposedChange, chosen: Candidate, bout: Bout) -> float:
    if isinstance(change, SetFlag) and change.name == "tensor_parallel_size":
        return max(1.0, float(change.value) / bout.cards)
    return max(1.0, chosen.engines)


def _not_advised(step: NextStep, forecast: StepForecast) -> NextStep:
    why = f"{as_written(step.change)} is forecast to do more harm than good"
    return replace(step, because=Prose(f"{why}: {summary_of(forecast)}"))


def _basis(bench: Bench, bout: Bout, window: Window, duration_s: float) -> Prose:
    """How the figures were found, and how far they can be trusted."""
    measured: Mapping[str, float] = {
        name: window.signals[signal].mean
        for name, signal in _SEEN.items()
        if signal in window.signals
    }
    off = far_off(bout.today, measured)
    trust = (
        f"; today's twin is far from what was measured in {', '.join(off)}: trust the figures less "
        "than their order"
        if off
        else ""
    )
    divided = prompt_share_note(bench.pace)
    if divided and len(bout.paces) == 1:
        divided += ": tried with what is usual alone"
    guessed = "".join(f"; {one.text}" for one in bench.assumptions)
    return Prose(
        "simulated on a twin of this engine with traffic like that of the last "
        f"{bench.traffic.span_s:.0f} s, {_VERSIONS} runs of {duration_s:.0f} s each; a step's time "
        f"may be off by {bench.pace.pace.error_ratio:.0%} either way{divided}{guessed}{trust}"
    )
