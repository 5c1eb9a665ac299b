"""Candidates beside today: the same versions of the load and the same paces for each, so that
differences are not chance.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from barostat.core.diagnosis import SloOutlook
from barostat.judge.experiments.candidates import Candidate
from barostat.judge.experiments.outlook import Outlook, Range, difference, of_several, over
from barostat.judge.experiments.service_level import WITHIN_RATIO, stated
from barostat.judge.experiments.trials import Load, is_replayed, run_trial
from barostat.twin.pace import Pace
from barostat.twin.settings import Settings
from barostat.twin.summary import Slo

# A difference this many standard errors from nothing is told; less is chance.
_TOLD = 2.0
_LEAST_TOLD_RATIO = 0.01
_FAR_OFF = 1.35
_MOST_RATIO = 9.99  # a change of more is told as an amount


@dataclass(frozen=True, slots=True)
class Number:
    """A column: the field of an outlook, its title, and which way is better."""

    field: str
    title: str
    better: Literal["more", "less", ""]


NUMBERS = (
    Number("good_per_s", "good/s", "more"),
    Number("output_tokens_per_s", "tokens/s", "more"),
    Number("ttft_mean_s", "TTFT mean", "less"),
    Number("ttft_p50_s", "TTFT p50", "less"),
    Number("ttft_p99_s", "TTFT p99", "less"),
    Number("itl_mean_s", "ITL mean", "less"),
    Number("itl_p50_s", "ITL p50", "less"),
    Number("itl_p99_s", "ITL p99", "less"),
    Number("kv_usage_ratio", "KV usage", ""),
    Number("running", "running", ""),
    Number("waiting", "waiting", ""),
    Number("preempted_per_s", "preempt/s", "less"),
    Number("recomputed_per_s", "recomp/s", "less"),
    Number("refused_ratio", "refused", "less"),
)
_TOLD_OF = (
    "good_per_s",
    "output_tokens_per_s",
    "ttft_mean_s",
    "ttft_p99_s",
    "itl_mean_s",
    "itl_p99_s",
    "preempted_per_s",
    "refused_ratio",
)


@dataclass(frozen=True, slots=True)
class Compared:
    """One set of settings and its runs: the first `central` with the expected pace, one version
    each; then version 0 with other paces.

    `replayed`: requests as they were, not made by dice, so that no difference is chance.
    """

    name: str
    settings: Settings
    runs: tuple[Outlook, ...]
    central: int
    replayed: bool = False

    def range(self, field: str) -> Range | None:
        """The number with what it may be."""
        return over(self.runs, self.central, lambda run: getattr(run, field))

    @property
    def stuck(self) -> str:
        """Why a run is stuck; empty if all do."""
        return next((run.stuck for run in self.runs if run.stuck), "")


@dataclass(frozen=True, slots=True)
class Difference:
    """The difference between a candidate and today in one figure. `ratio`: relative to today (None
    if that is 0). `significant`: more than chance.

    `error`: the standard error, infinite if there is only one run of each.
    """

    field: str
    difference: float
    error: float
    ratio: float | None
    significant: bool
    better: bool


def compare(one: Candidate, load: Load, slo: Slo, paces: Sequence[Pace], versions: int) -> Compared:
    """The runs of one candidate: each version with the first pace, then version 0 with each of the
    others.

    Errors: InputError where its load cannot be had (`times_as_much`).
    """
    mine = one.traffic(load)
    places = [(version, paces[0]) for version in range(versions)] + [
        (0, pace) for pace in paces[1:]
    ]
    runs = (
        of_several(run_trial(mine, slo, one.trial(version, pace)), one.engines)
        for version, pace in places
    )
    return Compared(one.name, one.settings, tuple(runs), versions, is_replayed(load))


def changes(today: Compared, candidate: Compared) -> tuple[Difference, ...]:
    """Return the candidate's difference in each figure; significant if all step-time models agree
    on the direction and chance does not explain it.
    """
    found = []
    for number in NUMBERS:
        if number.field not in _TOLD_OF:
            continue
        pairs = [
            (one, other)
            for one, other in zip(
                _values(today, number.field), _values(candidate, number.field), strict=True
            )
            if one is not None and other is not None
        ]
        before, after = (
            _values(today, number.field)[: today.central],
            _values(candidate, number.field)[: today.central],
        )
        if not pairs or None in before or None in after:
            continue
        ones, others = (
            [value for value in before if value is not None],
            [value for value in after if value is not None],
        )
        mean, error = difference(ones, others)
        error = 0.0 if today.replayed else error
        base = sum(ones) / len(ones)
        agreed = all((other - one) * mean > 0 for one, other in pairs[today.central :])
        significant = (
            abs(mean) > _TOLD * error and abs(mean) > _LEAST_TOLD_RATIO * abs(base) and agreed
        )
        found.append(
            Difference(
                number.field,
                mean,
                error,
                mean / base if base else None,
                significant,
                (mean > 0) == (number.better == "more"),
            )
        )
    return tuple(found)


def title_of(field: str, promised: bool) -> str:
    """The title of that number; `promised`: there is a service level, without which no request is
    called good.
    """
    return (
        "requests/s"
        if field == "good_per_s" and not promised
        else next(one.title for one in NUMBERS if one.field == field)
    )


NO_DIFFERENCE = "no significant difference from today"


def differences_text(found: Sequence[Difference], *, promised: bool = True) -> str:
    """The differences in one sentence: better, worse, within noise."""
    parts = [
        f"{word}: {clause}"
        for word, wanted in (("better", True), ("worse", False))
        if (clause := changed_figures(found, better=wanted, promised=promised))
    ]
    if not parts:
        return NO_DIFFERENCE
    open_ = [title_of(one.field, promised) for one in found if not one.significant]
    return "; ".join(parts) + (f"; within noise: {', '.join(open_)}" if open_ else "")


def changed_figures(found: Sequence[Difference], *, better: bool, promised: bool = True) -> str:
    """The figures that get better, or worse, by more than chance; empty if none does."""
    return ", ".join(
        _change(one, promised) for one in found if one.significant and one.better is better
    )


def slo_outlook(compared: Compared, slo: Slo) -> SloOutlook | None:
    """Whether the 99th percentiles meet the SLO over all that they may be; None without an SLO."""
    if not stated(slo):
        return None
    outlooks: set[SloOutlook] = set()
    for field, level_s in (("ttft_p99_s", slo.ttft_s), ("itl_p99_s", slo.itl_s)):
        range_ = compared.range(field)
        if level_s is None:
            continue
        if range_ is None or range_.low > level_s:
            outlooks.add("misses")
        else:
            outlooks.add("meets" if range_.high <= level_s else "may-miss")
    return next(each for each in ("misses", "may-miss", "meets") if each in outlooks)


def what_if_outlook(compared: Compared, slo: Slo) -> SloOutlook | None:
    """Whether the SLO is met, where a rejected request is not served; None without an SLO."""
    if not stated(slo):
        return None
    refused = compared.range("refused_ratio")
    if compared.stuck or (refused is not None and refused.low > 1 - WITHIN_RATIO):
        return "misses"
    return slo_outlook(compared, slo)


def far_off(
    today: Compared,
    measured: Mapping[str, float],
    within: Mapping[str, tuple[float, float]] | None = None,
) -> tuple[str, ...]:
    """Titles of the numbers in which the twin of today's engine is far from what the engine itself
    measured.

    `within`: the buckets that the engine's quantiles lie in: anywhere in there is no contradiction.
    """
    found = []
    for number in NUMBERS:
        seen, told = measured.get(number.field), today.range(number.field)
        if seen is None or told is None or number.field in ("itl_p50_s", "waiting"):
            continue
        if number.field == "preempted_per_s":
            off = max(seen, told.mean) > 0.05 and not told.low / 2 <= seen <= 2 * told.high
        else:
            low, high = (within or {}).get(number.field, (seen, seen))
            off = max(seen, told.mean) > 1e-3 and not (
                told.low / _FAR_OFF <= high and low <= told.high * _FAR_OFF
            )
        if off:
            found.append(number.title)
    return tuple(found)


def _values(one: Compared, field: str) -> list[float | None]:
    return [getattr(run, field) for run in one.runs]


def _change(change: Difference, promised: bool) -> str:
    title = title_of(change.field, promised)
    if change.ratio is not None and abs(change.ratio) <= _MOST_RATIO:
        return f"{title} {change.ratio:+.0%}"
    if change.field.endswith("_ratio"):
        return f"{title} {100 * change.difference:+.1f} points"
    return f"{title} {change.difference:+.3g}{'' if change.field.endswith('per_s') else ' s'}"
