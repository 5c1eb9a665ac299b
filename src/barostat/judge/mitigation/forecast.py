"""Which setting ends the preemptions of *this* traffic at the least cost, by the twin's forecast:
the levers of demand, a few values each.

The traffic, the settings and the pace are those that the sick replica was just seen with. A
forecast decides among what the diagnosis proposes; where it cannot be made, or finds nothing that
ends the preemptions, the diagnosis' own order stands.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from barostat.catalog.vllm_versions import DEFAULT_VERSION
from barostat.core.diagnosis import NextStep
from barostat.core.errors import InputError
from barostat.core.proposed_change import SetFlag
from barostat.core.prose import Prose
from barostat.core.window import Window
from barostat.judge.calibration.preferred import measured_step_times
from barostat.judge.evidence.recording import ReplicaRecording
from barostat.judge.experiments.outlook import Outlook
from barostat.judge.experiments.trials import (
    LikeSeen,
    Load,
    MadeOnce,
    Span,
    Trial,
    fitting_duration_s,
    run_trial,
)
from barostat.judge.observed.engine import engine_scrapes
from barostat.judge.observed.traffic import NotObserved, observed_traffic
from barostat.judge.observed.twin_settings import twin_settings
from barostat.twin.request import Row
from barostat.twin.settings import Settings, for_version
from barostat.twin.summary import Slo

VERSIONS = 2
QUIET_PER_S, FIRM_RATIO = 0.002, 0.002
"""Preemptions per second of the seen traffic, and per request of a crowd, that are none: about one
in a run of the twin. A remedy is proven by a minute or two without any.
"""
LONGEST_S = 900.0
ABOUT = 0.95
MARGIN = 0.05
"""By how much the pool is smaller in which everything is tried: lengths that are known from a
histogram are a few percent off, and where the pool is all but full that decides whether anything is
preempted.
"""
UNFIRM = 2.0
"""What a setting that would preempt in a crowd counts at least: as if each request took twice as
long. The backlog that the pressure leaves behind is a crowd, and a remedy that still preempts then
is taken back.
"""
WARY = 10.0
"""What a preemption of every request in a crowd weighs: as if each took eleven times as long."""
_SHARES = tuple(step / 16 for step in range(8, 17))
_WATERMARKS = (0.02, 0.05, 0.1, 0.15)
TRIED = ("max-num-active-seqs", "max-num-seqs", "watermark")
"""The levers whose values the twin can try."""
_FIELDS = {
    "max_num_active_seqs": "max_num_active_seqs",
    "max_num_seqs": "max_num_seqs",
    "watermark": "watermark_ratio",
}


@dataclass(frozen=True, slots=True)
class Forecast:
    """One setting on the seen traffic, in a pool smaller by MARGIN: means over the runs. Units: per
    second; `present`: requests that run or wait.

    `crowded_ratio`: preemptions per request where all of them come at once; None where the seen
    traffic alone already preempts.
    """

    step: NextStep
    preempted_per_s: float
    output_tokens_per_s: float
    good_per_s: float
    present: float
    crowded_ratio: float | None = None

    @property
    def is_quiet(self) -> bool:
        """Nothing is preempted at the rate that was seen."""
        return self.preempted_per_s <= QUIET_PER_S

    @property
    def is_firm(self) -> bool:
        """Nor would it be however much came."""
        return self.is_quiet and self.crowded_ratio is not None and self.crowded_ratio <= FIRM_RATIO

    @property
    def says(self) -> str:
        """The figures that the choice goes by."""
        told = (
            f"{self.preempted_per_s:.2g} preemptions/s, {self.output_tokens_per_s:.0f} "
            f"tokens/s, {self.present:.1f} requests there at once"
        )
        return (
            told
            if self.crowded_ratio is None
            else f"{told}; in a crowd {self.crowded_ratio:.2g} preemptions for each request"
        )


@dataclass(frozen=True, slots=True)
class AtOnce:
    """The requests of a load, all there from the start: what a backlog, a burst or the share of a
    replica that fell away comes to.
    """

    load: Load

    def rows(self, version: int) -> list[Row]:
        """The load's rows, at instant 0."""
        return [row._replace(arrival_s=0.0) for row in self.load.rows(version)]

    def span_s(self, rows: Sequence[Row]) -> Span:
        """All of the run."""
        del rows
        return Span(0.0, 0.0)


def best(
    steps: Iterable[NextStep], replica: ReplicaRecording, window: Window, slo: Slo
) -> tuple[NextStep | None, tuple[Forecast, ...]]:
    """The step, with its best value, that ends the preemptions and yields most; None where none
    does. And all that was tried.
    """
    tried = forecasts(steps, replica, window, slo)
    chosen = pick(tried, slo)
    if chosen is None:
        return None, tried
    told = (
        f"the twin forecasts no preemption{', however much comes,' if chosen.is_firm else ''} "
        f"and {chosen.output_tokens_per_s:.0f} tokens/s"
    )
    told += f" for this traffic, the best of {len(tried)} tried"
    return replace(chosen.step, because=Prose(f"{told}; {chosen.step.because}")), tried


def pick(tried: Sequence[Forecast], slo: Slo) -> Forecast | None:
    """Of those without preemptions that yield about the most (good requests where a service level
    is asked for, else tokens), the one in which a request takes the least time: the fewest are
    there at once (Little's law). None where all of them preempt.

    One that would preempt if much more came counts as slower: a forecast is a few percent off, and
    load is never even.
    """
    quiet = [found for found in tried if found.is_quiet]
    asked = slo.ttft_s is not None or slo.itl_s is not None
    yields = {found: found.good_per_s if asked else found.output_tokens_per_s for found in quiet}
    near = [found for found in quiet if yields[found] >= ABOUT * max(yields.values())]
    return min(near, key=_counted, default=None)


def _counted(found: Forecast) -> float:
    """The requests there at once, and more for what a crowd would do."""
    return found.present * max(
        1 + WARY * (found.crowded_ratio or 0.0), 1.0 if found.is_firm else UNFIRM
    )


def forecasts(
    steps: Iterable[NextStep], replica: ReplicaRecording, window: Window, slo: Slo
) -> tuple[Forecast, ...]:
    """What the twin says of each step that it can try, at a few values each; nothing where traffic,
    pool or pace were not seen.
    """
    candidates = [found for step in steps for found in _candidates(step, window)]
    scrapes = engine_scrapes(replica)
    settings = twin_settings(window)
    if not candidates or scrapes is None or settings is None:
        return ()
    traffic = observed_traffic(window, scrapes)
    if isinstance(traffic, NotObserved) or not traffic.rate_per_s:
        return ()
    pace = measured_step_times(replica.log, scrapes.engine, scrapes, settings, traffic)
    if pace is None:
        return ()
    duration_s = min(LONGEST_S, fitting_duration_s(traffic))
    load = MadeOnce(LikeSeen(traffic, duration_s, settings.hash_tokens, settings.max_model_len))
    crowd = MadeOnce(AtOnce(load))
    pressed = tighter(settings)
    tried = []
    for step, field, value in candidates:
        try:
            changed = for_version(
                _with(pressed, field, value), str(window.version or DEFAULT_VERSION)
            )
        except InputError:
            continue
        runs = [run_trial(load, slo, Trial(changed, 0, pace.pace))]
        # What preempts this much in one run is not quiet in the mean of all: the others would
        # change nothing.
        if runs[0].preempted_per_s > VERSIONS * QUIET_PER_S:
            tried.append(_mean(step, runs, None))
            continue
        runs += [
            run_trial(load, slo, Trial(changed, version, pace.pace))
            for version in range(1, VERSIONS)
        ]
        tried.append(_mean(step, runs, run_trial(crowd, slo, Trial(changed, 0, pace.pace))))
    return tuple(tried)


def tighter(settings: Settings) -> Settings:
    """The same with a pool smaller by MARGIN, as long as the longest request that is let in
    fits.
    """
    longest = 1 + sum(-(-settings.max_model_len // group.block_tokens) for group in settings.groups)
    return replace(
        settings,
        kv_blocks=min(settings.kv_blocks, max(longest, round((1 - MARGIN) * settings.kv_blocks))),
    )


def _with(settings: Settings, field: str, value: float) -> Settings:
    if field == "watermark_ratio":
        return replace(settings, watermark_ratio=value)
    return (
        replace(settings, max_num_seqs=int(value))
        if field == "max_num_seqs"
        else replace(settings, max_num_active_seqs=int(value))
    )


def _candidates(step: NextStep, window: Window) -> list[tuple[NextStep, str, int | float]]:
    """The step at values around the one that it names: shares of what really runs, a few
    watermarks.
    """
    change = step.change
    if not isinstance(change, SetFlag) or isinstance(change.value, bool | str):
        return []
    field = _FIELDS.get(change.name)
    if field is None:
        return []
    values: list[int | float] = []
    if field == "watermark_ratio":
        values = sorted({*_WATERMARKS, change.value})
    else:
        running = window.fresh("running_requests")
        achieved = max(running.values) if running is not None else 0.0
        values = sorted(
            {change.value, *(max(1, round(share * achieved)) for share in _SHARES if achieved)}
        )
    return [(replace(step, change=SetFlag(change.name, value)), field, value) for value in values]


def _mean(step: NextStep, runs: Sequence[Outlook], crowded: Outlook | None) -> Forecast:
    def mean(values: Iterable[float]) -> float:
        return sum(values) / len(runs)

    return Forecast(
        step,
        mean(run.preempted_per_s for run in runs),
        mean(run.output_tokens_per_s for run in runs),
        mean(run.good_per_s for run in runs),
        mean(run.running + run.waiting for run in runs),
        None if crowded is None else crowded.preempted_ratio,
    )
