"""Scores a forecast against today: one number, and one word for whether it helps.

The score adds logarithms of ratios to today: throughput with weight 1, TTFT with 0.3, the p99 of
ITL with 0.2; up to 0.2 for fewer preemptions, and 0.1 more if they end. Prices are subtracted: each
percent of rejected requests costs as much as 3 % of throughput, a restart 5 %, and additional GPUs
the throughput that they should add.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import fields, replace

from barostat.core.diagnosis import Effect, Expected, PreemptionOutlook
from barostat.judge.experiments.side_by_side import Compared, Difference

MOST_REFUSED_RATIO = 0.01
"""A larger share of rejected requests is a price, whatever the benefit."""
ENDED_RATIO = 0.05
"""Preemptions per finished request, in a pool that is a little smaller, that count as none: a few
in a run.
"""
_WAIT, _GAP, _CALM, _ENDS, _REFUSED, _RESTART = 0.3, 0.2, 0.2, 0.1, 3.0, 0.05
_SHORT_S = 0.05  # a shorter wait is as good as none
_TINY = 1e-9
_THRASH_TOKENS = 1000  # one preemption per so many generated tokens, or fewer, is a thrash
_FEWER_RATIO, _ENDED_SHARE, _RARE = 0.8, 0.05, 0.01
# Worse by less than this does not outweigh anything better: the twin is not more precise.
_SLIGHT = {
    "output_tokens_per_s": 0.02,
    "good_per_s": 0.02,
    "ttft_mean_s": 0.05,
    "ttft_p50_s": 0.05,
    "ttft_p99_s": 0.05,
    "itl_mean_s": 0.05,
}


def expected_of(compared: Compared) -> Expected:
    """The means over the runs at the expected pace."""

    def mean(name: str) -> float | None:
        range_ = compared.range(name)
        return None if range_ is None else range_.mean

    return Expected(
        output_tokens_per_s=mean("output_tokens_per_s") or 0.0,
        ttft_mean_s=mean("ttft_mean_s"),
        ttft_p99_s=mean("ttft_p99_s"),
        itl_mean_s=mean("itl_mean_s"),
        itl_p99_s=mean("itl_p99_s"),
        preempted_per_s=mean("preempted_per_s") or 0.0,
        refused_ratio=mean("refused_ratio") or 0.0,
    )


def benefit(today: Expected, then: Expected, *, ends_preemption: bool = False) -> float:
    """Above 0: better than today on the whole, before the price of carrying it out."""
    gain = _log(then.output_tokens_per_s, today.output_tokens_per_s)
    wait = _log((today.ttft_mean_s or 0.0) + _SHORT_S, (then.ttft_mean_s or 0.0) + _SHORT_S)
    gap = _log(today.itl_p99_s or 0.0, then.itl_p99_s or 0.0)
    before, after = preempted_per_token(today), preempted_per_token(then)
    most = max(before, after, _TINY)
    weight = min(1.0, most * _THRASH_TOKENS)
    calm = _CALM * (before - after) / most + (_ENDS if ends_preemption else 0.0)
    refused = max(0.0, then.refused_ratio - today.refused_ratio)
    return gain + _WAIT * wait + _GAP * gap + weight * calm - _REFUSED * refused


def price(*, restarts: bool, capacity_ratio: float = 1.0) -> float:
    """Return the cost of the step, on the scale of `benefit`. `capacity_ratio`: of today's GPUs."""
    return (_RESTART if restarts else 0.0) + math.log(max(1.0, capacity_ratio))


def preempted_per_token(expected: Expected) -> float:
    """Preemptions per generated token: comparable where the throughput differs."""
    return expected.preempted_per_s / max(expected.output_tokens_per_s, _TINY)


def preemption_outlook(
    today: Expected, then: Expected, preempted_ratio: float
) -> PreemptionOutlook | None:
    """Return what happens to today's preemptions; None if there are hardly any.

    `preempted_ratio`: preemptions per finished request in the smaller pool in which a step must
    work.
    """
    before = preempted_per_token(today)
    if before * _THRASH_TOKENS < _RARE:
        return None
    if preempted_ratio <= ENDED_RATIO and preempted_per_token(then) <= _ENDED_SHARE * before:
        return "ends"
    return "reduces" if preempted_per_token(then) < _FEWER_RATIO * before else "leaves"


def beyond_chance(today: Expected, then: Expected, differences: Sequence[Difference]) -> Expected:
    """The forecast with each figure that differs by no more than chance as it is today: what steps
    are ordered by.
    """
    sure = {difference.field for difference in differences if difference.significant}
    return replace(
        then,
        **{
            field.name: getattr(today, field.name)
            for field in fields(Expected)
            if field.name not in sure
        },
    )


def effect_of(differences: Sequence[Difference], refused_ratio: float, value: float) -> Effect:
    """Return the effect of the differences. A slight degradation does not outweigh an improvement;
    a step that costs more than it gains harms.

    `value`: from `benefit`.
    """
    told = [difference for difference in differences if difference.significant]
    worse = [difference for difference in told if not difference.better]
    heavy = refused_ratio > MOST_REFUSED_RATIO or any(
        difference.ratio is None or abs(difference.ratio) > _SLIGHT.get(difference.field, 0.1)
        for difference in worse
    )
    if any(difference.better for difference in told):
        return "helps" if not heavy else "trade-off" if value > 0 else "harms"
    return "harms" if worse or refused_ratio > MOST_REFUSED_RATIO else "nothing"


def _log(over: float, under: float) -> float:
    return math.log(over / under) if over > 0 and under > 0 else 0.0
