"""How long answers of this traffic get: survival by class, learned from what ended, sound with few
samples.

    leaf (tenant, route, class, prompt size, stated limit) -> middle (route, class, prompt size) ->
    root -> what is known of no traffic

A class' hazard in each bin of lengths is drawn towards its parent's by a weight of samples, the
root's towards none: what nobody was seen to do, to end before so long, is taken to be done by
nobody, and every answer runs to its limit. Only of the last tenth of all answers, half of those
that came so far are taken to end before twice as far (a Pareto tail of index 1: heavier than any
traffic we know). Answers that were cut, and those still under way when a table is made, count as
having lived that long (Kaplan and Meier 1958: right-censored). Old samples fade: at most `_MEMORY`
weigh in a class.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from functools import cache

HORIZONS = (*range(0, 193, 16), 256, 384, 512, 768, 1024, 1536, 3072, 6144, 12288)
"""Tokens from now at which the running set is looked at. All sequences of a replica grow at about
the same rate: these are its steps. What was admitted together grows together, and peaks before the
first of it ends: where most answers end, they stand close.
"""
_COUNT = len(HORIZONS)
_CUT_BITS = _COUNT.bit_length()
_SHAPE = 3  # bits of a length below its leading one that tell bins apart: 8 bins to an octave
_BINS = (18 << _SHAPE) + 1
_MEMORY = 2000.0
_TOWARDS_PARENT = 20.0
_TOWARDS_TAIL = 2.0
_RARE = 0.1
_TAIL_HAZARD = 1.0 - 0.5 ** (1.0 / (1 << _SHAPE))
_LEAVES = 512
_MEANS = 1024
_FEW = 500  # answers, below which what still runs says as much as what has ended


def bin_of(tokens: int) -> int:
    """The bin that so many output tokens fall into: exact below 8, then 8 to an octave, the last
    from 2^20 on.
    """
    if tokens < 8:
        return tokens if tokens > 0 else 0
    shift = tokens.bit_length() - _SHAPE - 1
    return min(_BINS - 1, (shift << _SHAPE) + (tokens >> shift))


def _first_of(place: int) -> int:
    """The least tokens of a bin."""
    if place < 8:
        return place
    shift = (place >> _SHAPE) - 1
    return (8 + (place & 7)) << shift


_EDGES = tuple(_first_of(place) for place in range(_BINS + 1))


@cache
def _ahead_of(place: int) -> tuple[tuple[int, float], ...]:
    """Where an answer in the middle of that bin is at each horizon: the bin, and the share of it
    that is behind.
    """
    middle = (_EDGES[place] + _EDGES[place + 1]) / 2 if place >= 8 else float(place)
    found = []
    for steps in HORIZONS:
        start = bin_of(int(middle + steps))
        if start >= _BINS - 1:
            found.append((_BINS - 1, 1.0))  # past the last edge, what is left stays
        else:
            found.append(
                (start, (middle + steps - _EDGES[start]) / (_EDGES[start + 1] - _EDGES[start]))
            )
    return tuple(found)


class LengthClass:
    """Requests whose answers are taken to be alike. Mutable."""

    __slots__ = (
        "_cuts",
        "_deaths",
        "_means",
        "_new",
        "_parent",
        "_root_seen",
        "_rows",
        "_survival",
        "_total",
        "live",
        "root",
        "seen",
    )

    def __init__(self, parent: LengthClass | None) -> None:
        self._parent = parent
        self._deaths = [0.0] * _BINS
        self._cuts = [0.0] * _BINS
        self._total = 0.0
        self._new = 0
        self.root: LengthClass = self if parent is None else parent.root
        self.seen = 0
        self._root_seen = 0
        self._survival: list[float] = []
        self._rows: dict[int, tuple[float, ...]] = {}
        self._means: dict[int, float] = {}
        self.live: dict[int, int] = {}

    def learn(self, tokens: int, ended: bool) -> None:
        """One answer of that length: it ended there, or was cut there."""
        place = bin_of(tokens)
        one: LengthClass | None = self
        while one is not None:
            (one._deaths if ended else one._cuts)[place] += 1.0
            one._total += 1.0
            one._new += 1
            one.seen += 1
            one = one._parent

    def remaining(self, age_tokens: int, left_tokens: int) -> tuple[float, ...]:
        """The chance that an answer of that age still grows at each of the horizons, up to the
        first that is not within what it has left.

        There it counts as if it grew so far: it ends between two horizons, and answers that end
        together hold the most just before. Past the tuple's end the chance is nothing.
        """
        if self._new >= 8 + self._total / 8 or self.root.seen >= self._root_seen:
            self._remake()
        place = bin_of(age_tokens)
        cut = min(
            _COUNT, bisect_left(HORIZONS, max(0, left_tokens)) + 1
        )  # what is held now is held, whatever is left
        row = self._rows.get(place << _CUT_BITS | cut)
        if row is None:
            row = self._rows[place << _CUT_BITS | cut] = self._row(place, cut)
        return row

    def mean_tokens(self, most: int) -> float:
        """Return the expected length, in tokens, of a response with that limit."""
        if self._new >= 8 + self._total / 8 or self.root.seen >= self._root_seen:
            self._remake()
        mean = self._means.get(most)
        if mean is not None:
            return mean
        survival = self._survival
        mean = 0.0
        for place in range(_BINS):
            start = _EDGES[place]
            if start >= most or survival[place] < 1e-4:
                break
            mean += (
                (survival[place] + survival[place + 1]) / 2 * (min(_EDGES[place + 1], most) - start)
            )
        if len(self._means) < _MEANS:
            self._means[most] = mean
        return mean

    def expire(self) -> None:
        """The table is rebuilt on its next use."""
        self._root_seen = 0

    def _row(self, place: int, cut: int) -> tuple[float, ...]:
        survival = self._survival
        alive = 1e-9
        found: list[float] = []
        for steps, (start, share) in zip(HORIZONS[:cut], _ahead_of(place), strict=False):
            reached = survival[start] + (survival[start + 1] - survival[start]) * share
            if not steps:
                alive = max(alive, reached)
            chance = min(1.0, reached / alive) if steps else 1.0
            if chance < 1e-4:
                break
            found.append(chance)
        return tuple(found)

    def _hazards(self) -> list[float]:
        if self._parent is None:
            return self._root_hazards()
        drawn = self._parent._hazards()
        reached = 0.0
        deaths, cuts, live = self._deaths, self._cuts, self.live
        for place in range(_BINS - 1, -1, -1):
            died = deaths[place]
            reached += died + cuts[place] + live.get(place, 0)
            drawn[place] = (died + _TOWARDS_PARENT * drawn[place]) / (reached + _TOWARDS_PARENT)
        return drawn

    def _root_hazards(self) -> list[float]:
        deaths, cuts, live = self._deaths, self._cuts, self.live
        reached = 0.0
        exposed = [0.0] * _BINS
        for place in range(_BINS - 1, -1, -1):
            reached += deaths[place] + cuts[place] + live.get(place, 0)
            exposed[place] = reached
        found: list[float] = []
        alive = 1.0
        for died, count in zip(deaths, exposed, strict=True):
            # Where nobody has come so far yet, and many may still, none of them is taken to end.
            tail = _TAIL_HAZARD if alive < _RARE else 0.0
            hazard = (died + _TOWARDS_TAIL * tail) / (count + _TOWARDS_TAIL)
            alive *= 1.0 - hazard
            found.append(hazard)
        return found

    def _remake(self) -> None:
        if self._total > _MEMORY:
            fade = 0.5
            self._deaths = [value * fade for value in self._deaths]
            self._cuts = [value * fade for value in self._cuts]
            self._total *= fade
        alive = 1.0
        survival = []
        for hazard in self._hazards():
            survival.append(alive)
            alive *= 1.0 - hazard
        self._survival = [*survival, alive]
        self._rows.clear()
        self._means.clear()
        self._new = 0
        seen = self.root.seen
        self._root_seen = seen + 8 + min(seen // 2, 2000)


class Known(LengthClass):
    """Answers that run to their limit, because they may not end before it (min_tokens =
    max_tokens).
    """

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__(None)

    def learn(self, tokens: int, ended: bool) -> None:
        """Nothing is to be learned from these."""


class Lengths:
    """All classes. Mutable; bounded: past 512 leaves a request counts with its parent class."""

    __slots__ = ("_leaves", "_middles", "known", "root")

    def __init__(self) -> None:
        self.root = LengthClass(None)
        self.known = Known()
        self._middles: dict[tuple[str, str, int], LengthClass] = {}
        self._leaves: dict[tuple[str, str, str, int, int], LengthClass] = {}

    def of(
        self, tenant: str, route: str, class_key: str, prompt_tokens: int, limit: int | None
    ) -> LengthClass:
        """The narrowest class of such a request."""
        size = prompt_tokens.bit_length() >> 1
        key = (tenant, route, class_key, size, 0 if limit is None else limit.bit_length())
        leaf = self._leaves.get(key)
        if leaf is not None:
            return leaf
        middle = self._middles.get(key[1:4])
        if middle is None:
            if len(self._middles) >= _LEAVES:
                return self.root
            middle = self._middles[key[1:4]] = LengthClass(self.root)
        if len(self._leaves) >= _LEAVES:
            return middle
        leaf = self._leaves[key] = LengthClass(middle)
        return leaf

    def note_live(self, ages: Iterable[tuple[LengthClass, int]]) -> None:
        """How far those that still run have come: they count as censored there in the tables made
        from now on.
        """
        for one in (self.root, *self._middles.values(), *self._leaves.values()):
            if one.live:
                one.live = {}
            if self.root.seen < _FEW:
                one.expire()
        for leaf, age in ages:
            place = bin_of(age)
            leaf.live[place] = leaf.live.get(place, 0) + 1
        for one in (*self._leaves.values(), *self._middles.values()):
            above = one._parent or self.root
            for place, count in one.live.items():
                above.live[place] = above.live.get(place, 0) + count
