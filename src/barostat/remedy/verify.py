"""The verdict on a change: a lever's expectation, held against the figures before and against the
replicas without the change in the same minutes.

The harm that the diagnosis named decides whether a change is better. Everything else can only show
new harm, and counts where it is worse than before and worse than at the unchanged replicas.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Literal

from barostat.core.change import Expect, Expectation
from barostat.core.signal import Fresh, Signal
from barostat.core.window import Window
from barostat.remedy.acts import Judged
from barostat.remedy.comparison import ERROR_RATE, estimate, lasting, longer_s, radius

Met = Literal["met", "unmet", "unknown"]

ARRIVALS = "arrivals_per_s"
SEEN_S = "seen_s"
"""In a baseline: for how long the load was seen, over all replicas."""
NEARLY = 0.9
"""A window counts as sustained from this share of the time asked for: the last scrape is rarely at
its very end.
"""
ERROR_OF = ":error"
"""Suffix in a baseline for the standard error of the signal."""
LEAST_OF = ":least"
"""After a signal's name in a baseline: its mean at the replica that has least of it."""
NEVER = math.inf
"""Seconds until an answer that more time does not bring."""
FEWEST_REQUESTS = 20.0
"""Fewer on either side are no load to compare under."""
FEWEST_EVENTS = 20.0
"""So many of a harm at an unchanged replica tell whether another one still has it."""
_EVENTS = "1/s"
MOST_LONGER_S = 3600.0
"""Longer remaining times are not reported as a number."""
BESIDE = ("itl_mean_s", "itl_p99_s")
"""Promised beside what proves the change, and not measured everywhere: without the histogram, or if
no client streams.
"""
RELATIVE = ("falls", "rises", "holds")
"""Expectations that compare with the former value, and may differ by chance."""
REMNANT = 0.1
"""Up to this share, a harm has nearly ended. Of what the unchanged replicas have in the same
minutes: the change works. Of before: inconclusive, as the load may differ.
"""
DEMAND = ("running_requests", "waiting_requests")
"""Requests that are there, whether they come from clients that wait for their answers or not."""
QUEUED = 2.0
"""Where more wait than this, the engine has all the load that it can take."""
STILL = 0.7
"""Unchanged replicas that have this share of the former harm, or more, have it still."""
AS_MUCH, MORE = 0.95, 1.1
"""From these multiples on, an engine does as much as another, or more."""
ALIKE = 1.2
"""A replica with up to this multiple of the others' load has not relieved them of theirs."""


@dataclass(frozen=True, slots=True)
class Sureness:
    """The share of the error rate for one comparison, and the planned observation time."""

    error_rate: float
    sustained_s: float


@dataclass(frozen=True, slots=True)
class Finding:
    """The judgement of one promise. `more_s`: additional seconds needed to judge it; NEVER if time
    does not help.
    """

    met: Met
    says: str
    more_s: float = 0.0


def baseline(
    expectation: Expectation, window: Window, fleet: Sequence[Window] = ()
) -> tuple[tuple[str, float], ...]:
    """Return the former figures by signal: the mean, or for a counter its current value.

    They are taken from a replica under the former setting and kept in the plan, so that a run on
    another machine can judge too. Missing and stale signals are omitted. `fleet`: all replicas that
    share the load. Signals that depend on the load use the fleet's mean, because the most affected
    replica has more than its share, if only by chance.
    """
    shared = {
        *expectation.load_signals,
        *(expect.signal for expect in expectation.expects if expect.by_load),
    }
    every = fleet or (window,)
    found = dict(
        _figures(
            expectation,
            {name: every if name in shared else (window,) for name in _names(expectation)},
        )
    )
    for expect in expectation.expects:
        least = [signal.mean for one in every if (signal := one.fresh(expect.signal)) is not None]
        if expect.essential and expect.want == "zero" and least:
            found[expect.signal + LEAST_OF] = min(least)
    return tuple(sorted(found.items()))


def _names(expectation: Expectation) -> list[str]:
    asked = (found for expect in expectation.expects for found in (expect, *expect.unless))
    return sorted({*expectation.load_signals, *DEMAND, *(expect.signal for expect in asked)})


def _figures(expectation: Expectation, of: Mapping[str, Sequence[Window]]) -> dict[str, float]:
    """By signal, the mean over these windows, with its error where it is compared. A replica that
    has none of the load does not share it.
    """
    asked = [found for expect in expectation.expects for found in (expect, *expect.unless)]
    counters = {expect.signal for expect in asked if expect.want == "no-more"}
    compared = {expect.signal for expect in asked if expect.want in RELATIVE}
    by_load = {expect.signal for expect in asked if expect.by_load}
    found: dict[str, float] = {}
    for name, windows in of.items():
        signals = [signal for one in windows if (signal := one.fresh(name)) is not None]
        if name in expectation.load_signals or name in by_load:
            signals = [signal for signal in signals if signal.mean > 0] or signals
        if not signals:
            continue
        found[name] = fmean(signal.last if name in counters else signal.mean for signal in signals)
        if name in compared:
            errors = [estimate(signal).error for signal in signals]
            if all(map(math.isfinite, errors)):
                found[name + ERROR_OF] = math.hypot(*errors) / len(errors)
        if name in expectation.load_signals:
            found[SEEN_S] = max(found.get(SEEN_S, 0.0), sum(signal.span_s for signal in signals))
    return found


def unmeasured(expectation: Expectation, former: Mapping[str, float]) -> tuple[str, ...]:
    """The latencies that are promised and were not measured before, where another promise was: they
    cannot be waited for.

    Law: L2, the proof itself is never among them.
    """
    essential = [expect.signal for expect in expectation.expects if expect.essential]
    return (
        tuple(name for name in essential if name in BESIDE and name not in former)
        if not set(essential) <= set(BESIDE)
        else ()
    )


def verify(
    expectation: Expectation,
    former: Mapping[str, float],
    after: Window,
    since: float,
    control: Sequence[Window] = (),
) -> Judged:
    """Return better, worse or inconclusive, with a sentence for each relevant result.

    `former`: the plan's baseline. `after`: the changed replica; only measurements from `since` on
    count. `control`: unchanged replicas that serve during the same minutes.

    Better: every essential promise is met and nothing got worse, under at least the same load, for
    long enough. The load counts as the same if it equals the former load or that of replicas that
    still show the harm. Worse: harm occurred, a promised level is clearly missed, or an expected
    improvement got worse, and a changed load does not explain it. Inconclusive: everything else,
    with the remaining time.

    Comparisons with former values count only if significant: over all comparisons of one
    verification, at any number of looks, at most a share of `comparison.ERROR_RATE` report a
    difference where there is none. A latency that was measured neither before nor now is named, and
    the rest is judged.

    Law: L2, what was not measured proves nothing.
    """
    return _Case(expectation, former, after, since, tuple(control)).judged()


def is_over(judged: Judged, left_s: float, *, fresh: bool) -> bool:
    """True if looking on cannot change the verdict in the time that is left.

    `fresh`: the replica was made with the change; one that was there before has a queue to work
    off, and is not worse before the time is over.
    """
    match judged.outcome:
        case "better":
            return True
        case "worse":
            return fresh
    return fresh and judged.more_s > left_s


@dataclass(frozen=True, slots=True)
class _Side:
    """The other side of the comparison: the former figures, or the current figures of unchanged
    replicas.

    `load`: arrival rate of the changed replica relative to the other side. `demand`: the same for
    requests in flight, which does not fall when closed-loop clients wait longer. None if not
    measured.
    """

    figures: Mapping[str, float]
    named: str
    load: float | None
    load_says: str
    demand: float | None


class _Case:
    """One verification."""

    def __init__(
        self,
        expectation: Expectation,
        former: Mapping[str, float],
        after: Window,
        since: float,
        control: tuple[Window, ...],
    ) -> None:
        self.expectation, self.after, self.since = expectation, after, since
        cut = [_since(one, since) for one in control]
        figures = _figures(expectation, dict.fromkeys(_names(expectation), cut)) if cut else {}
        loaded = any(figures.get(name, 0.0) > 0 for name in expectation.load_signals)
        self.before = self._side(former, "before")
        self.control = self._side(figures, "the unchanged replicas") if loaded else None
        compared = sum(expect.want in RELATIVE for expect in expectation.expects)
        self.sure = Sureness(ERROR_RATE / max(1, compared), expectation.sustained_s)

    def judged(self) -> Judged:
        """Return the verdict: better, worse or inconclusive, with reasons."""
        expectation, former = self.expectation, self.before.figures
        beside = unmeasured(expectation, former)
        kept: list[str] = []
        broken: list[str] = []
        harmed: list[str] = []
        open_: list[Finding] = []
        for expect in expectation.expects:
            found = self._essential(expect) if expect.essential else self._harm(expect)
            if found.met == "met" or self._excused(expect):
                kept += [found.says] if expect.essential else []
            elif found.met == "unmet" and not expect.essential:
                harmed.append(found.says)
            elif found.met == "unmet" and not self._remnant(expect):
                broken.append(found.says)
            elif expect.essential and expect.signal in beside:
                kept.append(f"not judged: {found.says}")
            elif expect.essential:
                open_.append(found)
        load, load_says = self._load()
        seen_s = self._seen_s()
        short = seen_s < NEARLY * expectation.sustained_s
        measure = self.control or self.before
        heavier = [ratio for ratio in (measure.load, measure.demand) if ratio is not None]
        if (broken or harmed) and min(heavier, default=0.0) > 1.0 / expectation.load_ratio:
            more = f"{measure.load_says}: more than {measure.named}, so what is wrong is not the change's"
            return Judged("inconclusive", (more, *harmed, *broken))
        if harmed or (broken and not short):
            return Judged("worse", (*harmed, *broken, load_says))
        if open_:
            says = (*(found.says for found in open_), load_says)
            return Judged("inconclusive", says, max(found.more_s for found in open_))
        if broken or short:
            seen = f"seen for {seen_s:.0f} s of {expectation.sustained_s:.0f} s"
            return Judged("inconclusive", (seen, *broken))
        if load is None:
            return Judged("inconclusive", (load_says, *kept))
        if load < expectation.load_ratio and not self._full(measure):
            more_s = NEVER if load == 0 else 0.0
            return Judged("inconclusive", (f"{load_says}: too little to tell", *kept), more_s)
        if gone := self._gone_everywhere() or self._demand_fell():
            return Judged("inconclusive", (gone, *kept))
        return Judged("better", (*kept, load_says))

    # --- single promises

    def _essential(self, expect: Expect) -> Finding:
        """Against the unchanged replicas where there are any: they have the load of now."""
        side = self.control
        beside = side is not None and expect.want in RELATIVE and expect.signal in side.figures
        found = self._against(expect, side if side is not None and beside else self.before)
        now = self._now(expect.signal)
        if found.met == "met" or now is None:
            return found
        there = side.figures.get(expect.signal, 0.0) if side is not None else 0.0
        if _nearly_ended(expect, now, there):
            return Finding(
                "met", f"{expect.signal} {now.mean:.3g}, {there:.3g} at the unchanged replicas"
            )
        if found.met != "unmet" or expect.want != "zero":
            return found
        more_s = now.mean * now.span_s / expect.bound - now.span_s if expect.bound > 0 else NEVER
        return Finding("unmet", found.says, more_s)

    def _harm(self, expect: Expect) -> Finding:
        """Unmet only where it is worse than before, and not so at the unchanged replicas as well."""
        found = self._against(expect, self.before)
        side = self.control
        if (
            found.met == "unmet"
            and side is not None
            and expect.want in RELATIVE
            and (expect.signal in side.figures)
        ):
            return self._against(expect, side)
        return found

    def _excused(self, expect: Expect) -> bool:
        sides = [self.before, *([self.control] if self.control is not None else [])]
        return bool(expect.unless) and all(
            any(self._against(other, side, scale=1.0).met == "met" for side in sides)
            for other in expect.unless
        )

    def _against(self, expect: Expect, side: _Side, scale: float | None = None) -> Finding:
        """The promise against one side; unknown where a comparison has no load to go by."""
        if scale is None:
            less = expect.by_load and side.load is not None and not self._full(side)
            scale = min(1.0, side.load or 0.0) if less else 1.0
        found = self._met(expect, side.figures, scale)
        if found.met == "unmet" and expect.want in RELATIVE and not expect.by_load:
            why, more_s = self._incomparable(side)
            if why:
                return Finding("unknown", f"{found.says}: {why}", more_s)
        return found

    def _met(self, expect: Expect, former: Mapping[str, float], scale: float) -> Finding:
        now = self._now(expect.signal)
        if now is None:
            return Finding("unknown", f"{expect.signal} was not measured after the change")
        value, bound = now.mean, expect.bound
        match expect.want:
            case "zero" | "below":
                return _of(value <= bound, f"{expect.signal} {value:.3g}, at most {bound:.3g}")
            case "above":
                return _of(value >= bound, f"{expect.signal} {value:.3g}, at least {bound:.3g}")
        was = former.get(expect.signal)
        if was is None:
            return Finding("unknown", f"{expect.signal} was not measured before the change")
        was *= scale
        if expect.want == "no-more":
            # a replica made anew counts from nought
            more = now.last - min(was, now.first)
            return _of(more <= bound, f"{expect.signal} {now.last:.3g}, was {was:.3g}")
        says = f"{expect.signal} {value:.3g}, was {was:.3g}"
        if self.control is not None and former is self.control.figures:
            says = f"{expect.signal} {value:.3g}, {was:.3g} at the unchanged replicas"
        says += "" if scale == 1.0 else " for the load of now"
        error = former.get(expect.signal + ERROR_OF)
        kept = former is self.before.figures  # the others are seen on
        return _compared(
            expect, now, was, None if error is None else error * scale, self.sure, says, kept=kept
        )

    def _remnant(self, expect: Expect) -> bool:
        now = self._now(expect.signal)
        return (
            expect.want == "zero"
            and now is not None
            and now.mean <= REMNANT * self.before.figures.get(expect.signal, 0.0)
        )

    # --- the load

    def _load(self) -> tuple[float | None, str]:
        """The load as a ratio, and a sentence: of before, or of unchanged replicas that still have
        the harm, whichever is more. Chance is allowed for.
        """
        sides = [self.before]
        if self.control is not None and self._harm_goes_on(self.control.figures):
            sides.append(self.control)
        found = [
            (side.load * (1.0 + self._by_chance(side.figures)), side.load_says)
            for side in sides
            if side.load is not None
        ]
        return max(found, default=(None, self.before.load_says))

    def _side(self, figures: Mapping[str, float], named: str) -> _Side:
        """The least ratio of load after to that load, over the signals that both have; the greatest
        where one is enough.
        """
        found: list[tuple[float, str]] = []
        for name in self.expectation.load_signals:
            now = self._now(name)
            if now is not None and figures.get(name, 0.0) > 0:
                ratio = now.mean / figures[name]
                found.append((ratio, f"{name} {now.mean:.3g}, {ratio:.2f} of {named}"))
        which = max if self.expectation.any_load else min
        load, says = which(found, default=(None, "the load before and after was not measured"))
        return _Side(figures, named, load, says, self._demand(figures))

    def _harm_goes_on(self, control: Mapping[str, float]) -> bool:
        """True if the unchanged replicas have what the change should end."""
        return any(
            control.get(expect.signal, 0.0) > expect.bound
            if expect.want == "zero"
            else expect.want == "falls"
            and control.get(expect.signal, 0.0)
            >= STILL * self.before.figures.get(expect.signal, NEVER)
            for expect in self.expectation.expects
            if expect.essential
        )

    def _gone_everywhere(self) -> str:
        """Return why the end of the harm is not due to the change: every replica had it, and it
        also ended on unchanged replicas, which the changed one has not relieved. Empty if the
        change may be the reason.
        """
        if self.control is None or (self.control.load or 0.0) > ALIKE:
            return ""
        for expect in self.expectation.expects:
            there = self.control.figures.get(expect.signal)
            least = self.before.figures.get(expect.signal + LEAST_OF, 0.0)
            if there is not None and there <= expect.bound < least:
                return (
                    f"{expect.signal} {there:.3g} at the unchanged replicas too, where it was "
                    f"{least:.3g} or more: the load is another"
                )
        return ""

    def _full(self, side: _Side) -> bool:
        """True if as many requests are there, or some wait: where fewer come then, answers take
        longer.
        """
        waiting = self._now("waiting_requests")
        return (waiting is not None and waiting.mean > QUEUED) or (
            side.demand is not None and side.demand >= self.expectation.load_ratio
        )

    def _demand(self, figures: Mapping[str, float]) -> float | None:
        now = [self._now(name) for name in DEMAND]
        was = sum(figures.get(name, 0.0) for name in DEMAND)
        if None in now or was <= 0 or not figures.keys() >= set(DEMAND):
            return None
        return sum(found.mean for found in now if found is not None) / was

    def _demand_fell(self) -> str:
        """Why the end of the harm is not the change's doing: fewer requests are there, and the
        engine does no more than others that have the harm (no more than before, where a queue is
        what should end). Empty if it may be.
        """
        if self.expectation.any_load:
            return (
                ""  # a limit at the edge keeps requests from the engine: the load is counted there
            )
        side = self.control or self.before
        if side.demand is None or side.demand >= self.expectation.load_ratio:
            return ""
        queue = any(
            expect.essential and expect.want == "falls" and expect.signal in DEMAND
            for expect in self.expectation.expects
        )
        least = MORE if queue else AS_MUCH
        for name in ("generation_tokens_per_s", *(("running_requests",) if queue else ())):
            now = self._now(name)
            if now is not None and now.mean >= least * side.figures.get(name, NEVER):
                return ""
        fewer = f"{side.demand:.2f} of the requests {self._where(side)} are there"
        return f"{fewer}, and it serves no more of them: too little to tell"

    def _where(self, side: _Side) -> str:
        return "before" if side is self.before else "of the unchanged replicas"

    def _by_chance(self, figures: Mapping[str, float]) -> float:
        """One standard deviation of the ratio of two counts of requests that come by chance, over
        the ratio: 0.3 for 20 and 20 of them.
        """
        now = self._now(ARRIVALS) if ARRIVALS in self.expectation.load_signals else None
        before = figures.get(ARRIVALS, 0.0) * figures.get(SEEN_S, 0.0)
        return (
            (1.0 / before + 1.0 / (now.mean * now.span_s)) ** 0.5
            if now is not None and before > 0 and now.mean * now.span_s > 0
            else 0.0
        )

    def _incomparable(self, side: _Side) -> tuple[str, float]:
        """Return why the load after the change is not comparable (too few requests, or too
        different) and how many more seconds would help; empty if it is comparable.
        """
        arrivals = self._now(ARRIVALS) if ARRIVALS in self.expectation.load_signals else None
        if arrivals is not None and arrivals.mean * arrivals.span_s < FEWEST_REQUESTS:
            seen = arrivals.mean * arrivals.span_s
            more_s = (FEWEST_REQUESTS - seen) / arrivals.mean if arrivals.mean > 0 else NEVER
            more = f", about {more_s:.0f} s more" if more_s < NEVER else ""
            few = f"{seen:.0f} requests came, {FEWEST_REQUESTS:.0f} are needed to compare{more}"
            return few, more_s
        least = self.expectation.load_ratio
        where = self._where(side)
        if self._full(side):
            return "", 0.0
        if side.load is not None and side.load * (1.0 + self._by_chance(side.figures)) < least:
            return (
                f"at {side.load:.2f} of the load {where} it cannot be compared; "
                f"{least:.2f} is needed"
            ), 0.0
        return "", 0.0

    # --- the window after

    def _now(self, name: str) -> Signal | None:
        match self.after.read(name):
            case Fresh(signal, _):
                return signal.since(self.since)
            case _:
                return None

    def _seen_s(self) -> float:
        """How long the essential promises were watched: the shortest of their series, and none for
        a single point.
        """
        spans = [
            signal.span_s
            for expect in self.expectation.expects
            if expect.essential
            and (signal := self._now(expect.signal)) is not None
            and len(signal.points) > 1
        ]
        return min(spans, default=0.0)


def _since(window: Window, since: float) -> Window:
    signals = {name: cut for name, found in window.signals.items() if (cut := found.since(since))}
    return replace(window, signals=signals)


def _compared(
    expect: Expect,
    now: Signal,
    was: float,
    former_error: float | None,
    sure: Sureness,
    says: str,
    *,
    kept: bool,
) -> Finding:
    """Met and unmet only beyond what chance explains: what should improve is unmet where it got
    worse, not where nothing changed. `kept`: what it is compared with is past, so that its error
    stays.
    """
    found = estimate(now)
    planned = (
        sure.sustained_s / now.span_s * found.points if now.span_s > 0 else float(found.points)
    )
    reach = radius(found, former_error, planned, sure.error_rate)
    promised = was * (1.0 - expect.bound if expect.want == "falls" else 1.0 + expect.bound)
    up = expect.want == "rises"
    value, former_mean, promise = ((-one if up else one) for one in (found.mean, was, promised))
    harm = max(former_mean, promise)
    if value - reach > harm:
        return Finding("unmet", says)
    improves = promise < former_mean
    if value <= promise and (not improves or value + reach < former_mean):
        return Finding("met", says)
    if not improves:  # within what is allowed for all that can be told
        return Finding("met", says)
    if value > promise:
        return Finding("unknown", f"{says}: not what was promised, and not worse")
    stays = lasting(found, former_error, reach) if kept else 0.0
    if stays >= former_mean - value:
        why = "it was seen too briefly before the change for how much it varied"
        return Finding("unknown", f"{says}: no difference can be told, as {why}", NEVER)
    more_s = longer_s(now.span_s, former_mean - value, reach, stays)
    if more_s is None or more_s > MOST_LONGER_S:
        return Finding("unknown", f"{says}: no difference can be told yet")
    return Finding(
        "unknown",
        f"{says}: no difference can be told yet; about {more_s:.0f} s more would tell",
        more_s,
    )


def _nearly_ended(expect: Expect, now: Signal, there: float) -> bool:
    """True if the replica has no more than a remnant of a harm that the unchanged ones have in the
    same minutes: of a level that should be none, or of events that should become fewer, where there
    were enough to tell.
    """
    match expect.want:
        case "zero":
            harmed = there > expect.bound
        case "falls":
            harmed = now.unit == _EVENTS and there * now.span_s >= FEWEST_EVENTS
        case _:
            harmed = False
    return harmed and now.mean <= REMNANT * there


def _of(holds: bool, says: str) -> Finding:
    return Finding("met" if holds else "unmet", says)
