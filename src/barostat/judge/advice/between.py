"""What a forecast may be between: under every pace that the window leaves open, not only the
expected one.

A forecast of another step size, or of more requests at once, rests on how a step's time divides
into what grows with its work and what does not. Where nothing in the window tells that, the paces
differ, and so does what comes of a step: it may help under one and harm under another. Then no
figure of it is worth its place before what is sure.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace

from barostat.core.diagnosis import Expected
from barostat.judge.advice.worth import expected_of, worth
from barostat.judge.experiments.side_by_side import Compared, title_of

# Worth that differs from nothing by less is noise of single runs.
_SLIGHT = 0.05
_MORE_IS_BETTER = "output_tokens_per_s"
_TOLD = (_MORE_IS_BETTER, "ttft_mean_s", "itl_mean_s")
_TOLD_IF_WORSE = ("itl_p99_s", "preempted_per_s")


def by_pace(one: Compared) -> list[Expected]:
    """What is expected under each pace: the expected one first, of one run as the others are."""
    places = (0, *range(one.central, len(one.runs)))
    return [expected_of(replace(one, runs=(one.runs[place],), central=1)) for place in places]


def ends(one: Compared) -> tuple[Expected, Expected] | None:
    """The least and the most of every figure, over all runs; None where one pace alone was
    tried.
    """
    if len(one.runs) == one.central:
        return None
    found = [expected_of(one), *by_pace(one)]
    values = {
        field.name: [value for each in found if (value := getattr(each, field.name)) is not None]
        for field in fields(Expected)
    }
    low, high = (
        {name: end(those) for name, those in values.items() if those} for end in (min, max)
    )
    return replace(found[0], **low), replace(found[0], **high)


def is_open(today: Compared, then: Compared, *, restarts: bool) -> bool:
    """True where it is better than today under one pace and worse under another."""
    values = [
        worth(before, after, restarts=restarts)
        for before, after in zip(by_pace(today), by_pace(then), strict=True)
    ]
    return min(values) < -_SLIGHT and max(values) > _SLIGHT


def between_words(today: Compared, then: Compared) -> str:
    """How far each figure may change, in one clause; the rarer ones where they alone may get
    worse.
    """
    pairs = list(zip(by_pace(today), by_pace(then), strict=True))
    found = {name: ratios for name in (*_TOLD, *_TOLD_IF_WORSE) if (ratios := _ratios(pairs, name))}
    harms = any(
        -min(ratios) > _SLIGHT if name == _MORE_IS_BETTER else max(ratios) > _SLIGHT
        for name, ratios in found.items()
        if name in _TOLD
    )
    told = {
        name: ratios
        for name, ratios in found.items()
        if name in _TOLD or (not harms and max(ratios) > _SLIGHT)
    }
    return ", ".join(
        f"{title_of(name, promised=False)} {min(ratios):+.0%} to {max(ratios):+.0%}"
        for name, ratios in told.items()
    )


def _ratios(pairs: Sequence[tuple[Expected, Expected]], name: str) -> list[float]:
    """By how much each pace changes that figure, where it is known."""
    return [
        getattr(after, name) / before - 1
        for one, after in pairs
        if (before := getattr(one, name)) and getattr(after, name)
    ]
