"""What a change came to: a lever's expectation held against the figures before and the window
after, at the load of before.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
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
"""After a signal's name in a baseline: the standard error of what stands under the name itself."""
FEWEST_REQUESTS = 20.0
"""Fewer on either side are no load to compare under."""
MOST_LONGER_S = 3600.0
"""What would take longer to tell is not worth a number."""
BESIDE = ("itl_mean_s", "itl_p99_s")
"""Promised beside what proves the change, and not measured everywhere: without the histogram, or
where nobody streams.
"""
RELATIVE = ("falls", "rises", "holds")
"""What is held against what it was, and so may differ by chance."""
REMNANT = 0.1
"""Up to this share of before, what was to end has all but ended: not kept, but taking the change
back would bring the rest again.
"""


@dataclass(frozen=True, slots=True)
class Sureness:
    """What one comparison may be wrong by: its share of the error rate, and for how long it is
    planned to be looked at.
    """

    error_rate: float
    sustained_s: float


def baseline(
    expectation: Expectation, window: Window, fleet: Sequence[Window] = ()
) -> tuple[tuple[str, float], ...]:
    """The figures that the expectation will be held against, by signal: the mean, and of a counter
    where it stands.

    Taken from a replica under the former setting, and kept in the plan, so that a run on another
    machine can judge too. What is missing or stale is left out. `fleet`: all replicas that share
    the load; what goes by the load is their mean, as the one that is worst off has more than its
    part, if only by chance.
    """
    counters = {expect.signal for expect in expectation.expects if expect.want == "no-more"}
    shared = {
        *expectation.load_signals,
        *(expect.signal for expect in expectation.expects if expect.by_load),
    }
    found = {}
    for name in sorted({*shared, *(expect.signal for expect in expectation.expects)}):
        signals = [
            signal
            for one in (fleet if name in shared else ()) or (window,)
            if (signal := one.fresh(name)) is not None
        ]
        if name in shared:  # who has none of the load does not share it
            signals = [signal for signal in signals if signal.mean > 0] or signals
        if signals and any(
            expect.signal == name and expect.want in RELATIVE for expect in expectation.expects
        ):
            errors = [estimate(signal).error for signal in signals]
            if all(map(math.isfinite, errors)):
                found[name + ERROR_OF] = math.hypot(*errors) / len(errors)
        if signals:
            found[name] = fmean(
                signal.last if name in counters else signal.mean for signal in signals
            )
        if name in expectation.load_signals and signals:
            found[SEEN_S] = max(found.get(SEEN_S, 0.0), sum(signal.span_s for signal in signals))
    return tuple(sorted(found.items()))


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
    expectation: Expectation, former: Mapping[str, float], after: Window, since: float
) -> Judged:
    """Better, worse, or inconclusive, with a sentence for each thing that counted.

    `former`: the plan's baseline (the rest of the fleet is no substitute: it has other load by
    now). `after`: the replica with the change; only what was measured from `since` on counts.
    Better: every essential promise is met, nothing got worse, under no less load, for long enough.
    Worse: harm was done, a level that was promised is not kept, nor nearly, or what should have
    improved got worse, and another load does not explain it. Inconclusive: everything else, with
    how long more it would take. What is held against what it was counts where the difference is not
    by chance: of all the comparisons of one verification, at any number of looks, at most
    `comparison.ERROR_RATE` call one where there is none. A latency that was measured neither before
    nor now is named, and the rest is judged.
    Law: L2, what was not measured proves nothing.
    """
    beside = unmeasured(expectation, former)
    relative = sum(expect.want in RELATIVE for expect in expectation.expects)
    sure = Sureness(ERROR_RATE / max(1, relative), expectation.sustained_s)
    load, load_says = _load(expectation, former, after, since)
    kept: list[str] = []
    broken: list[str] = []
    open_: list[str] = []
    harmed: list[str] = []
    less = min(1.0, load) if load is not None else 1.0
    for expect in expectation.expects:
        met, says = _met(expect, former, after, since, less if expect.by_load else 1.0, sure)
        if (
            met == "unmet"
            and expect.want in RELATIVE
            and not expect.by_load
            and (why := _incomparable(expectation, former, after, since, load))
        ):
            met, says = "unknown", f"{says}: {why}"
        if (
            met == "unmet"
            and expect.unless
            and all(
                _met(other, former, after, since, 1.0, sure)[0] == "met" for other in expect.unless
            )
        ):
            continue
        if met == "met":
            kept += [says] if expect.essential else []
        elif met == "unmet":
            (
                harmed
                if not expect.essential
                else open_
                if _remnant(expect, former, after, since)
                else broken
            ).append(says)
        elif expect.essential and expect.signal in beside:
            kept.append(f"not judged: {says}")
        elif expect.essential:
            open_.append(says)
    seen_s = _seen_s(expectation, after, since)
    short = seen_s < NEARLY * expectation.sustained_s
    if (broken or harmed) and load is not None and load > 1.0 / expectation.load_ratio:
        return Judged(
            "inconclusive",
            (
                f"{load_says}: more than before, so what is wrong is not the change's",
                *harmed,
                *broken,
            ),
        )
    if harmed or (broken and not short):
        return Judged("worse", (*harmed, *broken, load_says))
    if open_:
        return Judged("inconclusive", (*open_, load_says))
    if broken or short:
        return Judged(
            "inconclusive", (f"seen for {seen_s:.0f} s of {expectation.sustained_s:.0f} s", *broken)
        )
    if load is None:
        return Judged("inconclusive", (load_says, *kept))
    if load * (1.0 + _by_chance(expectation, former, after, since)) < expectation.load_ratio:
        return Judged("inconclusive", (f"{load_says}: too little to tell", *kept))
    return Judged("better", (*kept, load_says))


def _after(window: Window, name: str, since: float) -> Signal | None:
    match window.read(name):
        case Fresh(signal, _):
            return signal.since(since)
        case _:
            return None


def _load(
    expectation: Expectation, former: Mapping[str, float], after: Window, since: float
) -> tuple[float | None, str]:
    """The least ratio of load after to load before, over the signals that both windows have; the
    greatest where one is enough.
    """
    found: list[tuple[float, str]] = []
    for name in expectation.load_signals:
        now = _after(after, name, since)
        if now is not None and former.get(name, 0.0) > 0:
            ratio = now.mean / former[name]
            found.append((ratio, f"{name} {now.mean:.3g}, {ratio:.2f} of before"))
    which = max if expectation.any_load else min
    return which(found, default=(None, "the load before and after was not measured"))


def _by_chance(
    expectation: Expectation, former: Mapping[str, float], after: Window, since: float
) -> float:
    """One standard deviation of the ratio of two counts of requests that come by chance, over the
    ratio: 0.3 for 20 and 20 of them.
    """
    now = _after(after, ARRIVALS, since) if ARRIVALS in expectation.load_signals else None
    before = former.get(ARRIVALS, 0.0) * former.get(SEEN_S, 0.0)
    return (
        (1.0 / before + 1.0 / (now.mean * now.span_s)) ** 0.5
        if now is not None and before > 0 and now.mean * now.span_s > 0
        else 0.0
    )


def _seen_s(expectation: Expectation, after: Window, since: float) -> float:
    """How long the essential promises were watched: the shortest of their series, and none for a
    single point.
    """
    spans = [
        signal.span_s
        for expect in expectation.expects
        if expect.essential
        and (signal := _after(after, expect.signal, since)) is not None
        and len(signal.points) > 1
    ]
    return min(spans, default=0.0)


def _met(
    expect: Expect,
    former: Mapping[str, float],
    after: Window,
    since: float,
    scale: float,
    sure: Sureness,
) -> tuple[Met, str]:
    now = _after(after, expect.signal, since)
    if now is None:
        return "unknown", f"{expect.signal} was not measured after the change"
    value, bound = now.mean, expect.bound
    match expect.want:
        case "zero" | "below":
            return _of(value <= bound), f"{expect.signal} {value:.3g}, at most {bound:.3g}"
        case "above":
            return _of(value >= bound), f"{expect.signal} {value:.3g}, at least {bound:.3g}"
    was = former.get(expect.signal)
    if was is None:
        return "unknown", f"{expect.signal} was not measured before the change"
    was *= scale
    says = (
        f"{expect.signal} {value:.3g}, was "
        f"{was:.3g}{'' if scale == 1.0 else ' for the load of now'}"
    )
    match expect.want:
        case "falls" | "rises" | "holds":
            return _compared(
                expect, now, was, former.get(expect.signal + ERROR_OF), scale, sure, says
            )
        case "no-more":
            # a replica made anew counts from nought
            return _of(
                now.last - min(was, now.first) <= bound
            ), f"{expect.signal} {now.last:.3g}, was {was:.3g}"


def _compared(
    expect: Expect,
    now: Signal,
    was: float,
    former_error: float | None,
    scale: float,
    sure: Sureness,
    says: str,
) -> tuple[Met, str]:
    """Met and unmet only beyond what chance explains: what should improve is unmet where it got
    worse, not where nothing changed.
    """
    found = estimate(now)
    planned = (
        sure.sustained_s / now.span_s * found.points if now.span_s > 0 else float(found.points)
    )
    reach = radius(
        found, None if former_error is None else former_error * scale, planned, sure.error_rate
    )
    promised = was * (1.0 - expect.bound if expect.want == "falls" else 1.0 + expect.bound)
    up = expect.want == "rises"
    value, former_mean, promise = ((-one if up else one) for one in (found.mean, was, promised))
    harm = max(former_mean, promise)
    if value - reach > harm:
        return "unmet", says
    improves = promise < former_mean
    if value <= promise and (not improves or value + reach < former_mean):
        return "met", says
    if not improves:  # within what is allowed for all that can be told
        return "met", says
    if value > promise:
        return "unknown", f"{says}: not what was promised, and not worse"
    stays = lasting(found, None if former_error is None else former_error * scale, reach)
    if stays >= former_mean - value:
        return (
            "unknown",
            (
                f"{says}: no difference can be told, as it was seen too briefly before the "
                "change for how much it varied"
            ),
        )
    more_s = longer_s(now.span_s, former_mean - value, reach, stays)
    longer = (
        f"; about {more_s:.0f} s more would tell"
        if more_s is not None and more_s <= MOST_LONGER_S
        else ""
    )
    return "unknown", f"{says}: no difference can be told yet{longer}"


def _incomparable(
    expectation: Expectation,
    former: Mapping[str, float],
    after: Window,
    since: float,
    load: float | None,
) -> str:
    """Why the load after is none to compare under: too few requests, or too different; empty where
    it is one.
    """
    arrivals = _after(after, ARRIVALS, since) if ARRIVALS in expectation.load_signals else None
    if arrivals is not None and arrivals.mean * arrivals.span_s < FEWEST_REQUESTS:
        seen = arrivals.mean * arrivals.span_s
        more = (
            f", about {(FEWEST_REQUESTS - seen) / arrivals.mean:.0f} s more"
            if arrivals.mean > 0
            else ""
        )
        return f"{seen:.0f} requests came, {FEWEST_REQUESTS:.0f} are needed to compare{more}"
    if (
        load is not None
        and load * (1.0 + _by_chance(expectation, former, after, since)) < expectation.load_ratio
    ):
        return (
            f"at {load:.2f} of the load before it cannot be compared; "
            f"{expectation.load_ratio:.2f} is needed"
        )
    return ""


def _remnant(expect: Expect, former: Mapping[str, float], after: Window, since: float) -> bool:
    now = _after(after, expect.signal, since)
    return (
        expect.want == "zero"
        and now is not None
        and now.mean <= REMNANT * former.get(expect.signal, 0.0)
    )


def _of(holds: bool) -> Met:
    return "met" if holds else "unmet"
