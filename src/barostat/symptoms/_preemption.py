"""How many preemptions there were, from whichever source counted them, against the requests that
finished and the time that passed.
"""

from __future__ import annotations

from dataclasses import dataclass

from barostat.core.signal import Signal
from barostat.core.verdict import Evidence
from barostat.core.window import Window

SOURCES = (
    "preemptions_in_window",
    "preemptions_per_s",
    "log_preemptions",
    "log_preempted_v0",
    "preempted_waiting_requests",
)
V1_DEFAULT_SINCE = "0.8.0"
"""From this version on V0's warning is mostly gone, and nothing in the log takes its place."""


@dataclass(frozen=True, slots=True)
class Preemptions:
    """Preemptions in the window. `per_finished` and `per_s` are None without a divisor.

    `at_least`: the count is a lower bound.
    """

    count: float
    per_finished: float | None
    per_s: float | None
    at_least: bool
    evidence: tuple[Evidence, ...]


SURE_Z = 1.28
"""One-sided, nine times of ten."""


def at_least_expected(count: float) -> float:
    """The smallest mean that would still give this count one time in ten: how many preemptions
    there would be again, at the least.

    Source: Poisson lower bound, Wilson and Hilferty's cube root: 3 -> 1.1, 10 -> 6.2, 100 -> 87.
    """
    if count <= 0:
        return 0.0
    return float(count * max(0.0, 1.0 - 1.0 / (9.0 * count) - SURE_Z / (3.0 * count**0.5)) ** 3)


def not_printed(window: Window) -> bool:
    """True if a count of zero means nothing: known only from a log in which nothing would have
    counted them.

    Source: vLLM 0.11.1 to 0.33, LoggingStatLogger.log zeroes the count before it makes the line
    (pull request 38452 mends it).
    """
    version = window.version
    return (
        version is not None
        and version.at_least(V1_DEFAULT_SINCE)
        and window.fresh("preemptions_in_window") is None
        and window.fresh("preemptions_per_s") is None
        and window.fresh("preempted_waiting_requests") is None
    )


def _span_s(window: Window) -> float:
    spans = [
        found.span_s
        for name in ("running_requests", "kv_usage_ratio", "preemptions_per_s")
        if (found := window.fresh(name)) is not None
    ]
    return max(spans, default=0.0)


def _counted(window: Window) -> tuple[float, Signal, bool] | None:
    # A log's statistics lines go back for hours, what finished is of half a minute: they count only
    # where nothing counted this window.
    names = (
        "preemptions_in_window"
        if window.fresh("preemptions_in_window") is not None
        else "log_preemptions",
        "log_preempted_v0",
    )
    # V0's warnings count since the engine started: only where nothing was counted in this window do
    # they tell anything about it.
    best: tuple[float, Signal, bool] | None = None
    for name in names:
        signal = window.fresh(name)
        since_start = name == "log_preempted_v0"
        if signal is not None and (
            best is None or (signal.high > best[0] and not (since_start and best[0] > 0))
        ):
            best = (signal.high, signal, since_start)
    return best


def preemptions(window: Window) -> Preemptions | None:
    """The preemptions of the window, or None if nothing counted them."""
    rate = window.fresh("preemptions_per_s")
    counted = _counted(window)
    span_s = _span_s(window)
    if counted is None:
        if rate is None:
            return None
        counted = (rate.mean * rate.span_s, rate, False)
    count, signal, at_least = counted
    finished = window.fresh("finished_in_window")
    per_finished = (
        count / finished.high
        if finished is not None and finished.high > 0 and not at_least
        else None
    )
    per_s = (
        rate.mean
        if rate is not None
        else (count / span_s if span_s > 0 and signal.name != "log_preempted_v0" else None)
    )
    evidence = [signal.evidence(window.at, signal.high)]
    if rate is not None and rate is not signal:
        evidence.append(rate.evidence(window.at, rate.mean, "mean over the window"))
    if finished is not None:
        evidence.append(finished.evidence(window.at, finished.high))
    return Preemptions(count, per_finished, per_s, at_least, tuple(evidence))
