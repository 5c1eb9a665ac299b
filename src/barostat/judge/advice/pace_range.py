"""The range of a forecast over all step-time models that fit the window.

A forecast for another step size or concurrency depends on which part of a step's time grows with
its work. If the window does not show this, the models differ, and so do their forecasts: a step may
help under one and harm under another. It then ranks below steps with a certain effect.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace

from barostat.core.diagnosis import Expected
from barostat.judge.advice.step_score import benefit, expected_of, price
from barostat.judge.experiments.side_by_side import Compared, title_of

# A smaller benefit or harm is noise of single runs.
_SLIGHT = 0.05
_MORE_IS_BETTER = "output_tokens_per_s"
_ALWAYS_NAMED = (_MORE_IS_BETTER, "ttft_mean_s", "itl_mean_s")
_NAMED_IF_WORSE = ("itl_p99_s", "preempted_per_s")


def by_pace(compared: Compared) -> list[Expected]:
    """The forecast under each pace, of one run each; that of the expected pace first."""
    places = (0, *range(compared.central, len(compared.runs)))
    return [
        expected_of(replace(compared, runs=(compared.runs[place],), central=1)) for place in places
    ]


def lowest_and_highest(compared: Compared) -> tuple[Expected, Expected] | None:
    """The lowest and highest value of every figure over all runs; None if only one pace was
    tried.
    """
    if len(compared.runs) == compared.central:
        return None
    forecasts = [expected_of(compared), *by_pace(compared)]
    values = {
        field.name: [
            value for each in forecasts if (value := getattr(each, field.name)) is not None
        ]
        for field in fields(Expected)
    }
    low, high = (
        {name: end(those) for name, those in values.items() if those} for end in (min, max)
    )
    return replace(forecasts[0], **low), replace(forecasts[0], **high)


def is_open(today: Compared, then: Compared, *, restarts: bool) -> bool:
    """True if it is better than today under one pace and worse under another."""
    values = [
        benefit(before, after) - price(restarts=restarts)
        for before, after in zip(by_pace(today), by_pace(then), strict=True)
    ]
    return min(values) < -_SLIGHT and max(values) > _SLIGHT


def possible_changes(today: Compared, then: Compared) -> str:
    """How far each figure may change, in one clause; the rarer ones only where they alone may get
    worse.
    """
    pairs = list(zip(by_pace(today), by_pace(then), strict=True))
    ratios = {
        name: those
        for name in (*_ALWAYS_NAMED, *_NAMED_IF_WORSE)
        if (those := _ratios(pairs, name))
    }
    harms = any(
        -min(those) > _SLIGHT if name == _MORE_IS_BETTER else max(those) > _SLIGHT
        for name, those in ratios.items()
        if name in _ALWAYS_NAMED
    )
    named = {
        name: those
        for name, those in ratios.items()
        if name in _ALWAYS_NAMED or (not harms and max(those) > _SLIGHT)
    }
    return ", ".join(
        f"{title_of(name, promised=False)} {min(those):+.0%} to {max(those):+.0%}"
        for name, those in named.items()
    )


def _ratios(pairs: Sequence[tuple[Expected, Expected]], name: str) -> list[float]:
    """By how much each pace changes that figure, where it is known."""
    return [
        getattr(after, name) / today - 1
        for before, after in pairs
        if (today := getattr(before, name)) and getattr(after, name)
    ]
