"""What a forecast is worth beside today's: one number that orders, and in a word whether it helps.

The number weighs, in logarithms of the ratio to today: throughput whole, the wait for the first
token a third, the 99th percentile of the gap between tokens a fifth; a fifth for a thrash that
ceases; each hundredth of the requests refused costs as much as 3 % throughput.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import fields, replace

from barostat.core.diagnosis import Effect, Expected
from barostat.judge.experiments.side_by_side import Compared, Difference

MOST_REFUSED_RATIO = 0.01
"""More refused than this is a price, whatever else it brings."""
_WAIT, _GAP, _CALM, _REFUSED, _RESTART = 0.3, 0.2, 0.2, 3.0, 0.05
_SHORT_S = 0.05  # waits below this are as good as none
_FEW_PER_S = 1e-6
_TOKENS_EACH = 1000  # one preemption for so many generated tokens, or more, is a thrash
# Less than this is told as worse only beside nothing better: the twin is not finer than that.
_SLIGHT = {
    "output_tokens_per_s": 0.02,
    "good_per_s": 0.02,
    "ttft_mean_s": 0.05,
    "ttft_p50_s": 0.05,
    "ttft_p99_s": 0.05,
    "itl_mean_s": 0.05,
}


def expected_of(one: Compared) -> Expected:
    """The means over the runs with the expected pace."""

    def mean(name: str) -> float | None:
        found = one.range(name)
        return None if found is None else found.mean

    return Expected(
        mean("output_tokens_per_s") or 0.0, mean("ttft_mean_s"), mean("ttft_p99_s"), mean("itl_mean_s"), mean("itl_p99_s"),
        mean("preempted_per_s") or 0.0, mean("refused_ratio") or 0.0,
    )  # fmt: skip


def worth(today: Expected, then: Expected, *, restarts: bool = False) -> float:
    """Above 0: better than today on the whole."""
    gain = _log(then.output_tokens_per_s, today.output_tokens_per_s)
    wait = _log((today.ttft_mean_s or 0.0) + _SHORT_S, (then.ttft_mean_s or 0.0) + _SHORT_S)
    gap = _log(today.itl_p99_s or 0.0, then.itl_p99_s or 0.0)
    most = max(today.preempted_per_s, then.preempted_per_s, _FEW_PER_S)
    matter = min(1.0, most / max(today.output_tokens_per_s, 1e-9) * _TOKENS_EACH)
    calm = (today.preempted_per_s - then.preempted_per_s) / most * matter
    refused = max(0.0, then.refused_ratio - today.refused_ratio)
    return (
        gain
        + _WAIT * wait
        + _GAP * gap
        + _CALM * calm
        - _REFUSED * refused
        - (_RESTART if restarts else 0.0)
    )


def as_told(today: Expected, then: Expected, differences: Sequence[Difference]) -> Expected:
    """The forecast with what is no more than chance as it is today: what is ordered by, so that
    noise orders nothing.
    """
    sure = {one.field for one in differences if one.told}
    return replace(
        then,
        **{
            field.name: getattr(today, field.name)
            for field in fields(Expected)
            if field.name not in sure
        },
    )


def effect_of(differences: Sequence[Difference], refused_ratio: float, value: float) -> Effect:
    """What the differences come to; a slight one for the worse does not outweigh a better, and what
    costs more than it brings is harm.

    `value`: as `worth` has it.
    """
    told = [one for one in differences if one.told]
    worse = [one for one in told if not one.better]
    heavy = refused_ratio > MOST_REFUSED_RATIO or any(
        one.ratio is None or abs(one.ratio) > _SLIGHT.get(one.field, 0.1) for one in worse
    )
    if any(one.better for one in told):
        return "helps" if not heavy else "trade-off" if value > 0 else "harms"
    return "harms" if worse or refused_ratio > MOST_REFUSED_RATIO else "nothing"


def _log(over: float, under: float) -> float:
    return math.log(over / under) if over > 0 and under > 0 else 0.0
