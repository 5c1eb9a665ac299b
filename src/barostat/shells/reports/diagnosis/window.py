"""What was measured over the window of a diagnosis: figures, and drawings over time."""

from __future__ import annotations

from collections.abc import Callable

from barostat.core.diagnosis import Diagnosis
from barostat.core.signal import Signal
from barostat.core.window import Window
from barostat.shells.reports.diagnosis.forecasts import rate_words
from barostat.shells.reports.sheet.blocks import Charts, Tiles
from barostat.shells.reports.sheet.charts import Chart, Line, Span
from barostat.shells.reports.sheet.scale import duration, percent, plain
from barostat.shells.reports.simulation.data import format_seconds

_MEASURED = {
    "output_tokens_per_s": "generation_tokens_per_s",
    "ttft_mean_s": "ttft_mean_s",
    "ttft_p99_s": "ttft_p99_s",
    "itl_mean_s": "itl_mean_s",
    "itl_p99_s": "itl_p99_s",
    "preempted_per_s": "preemptions_per_s",
}
"""Fields of a forecast -> the signals that show the same of the engine."""


def measured(window: Window | None) -> dict[str, float]:
    """Return what the engine itself shows of each figure of a forecast, by its field."""
    signals = window.signals if window is not None else {}
    return {
        name: _over_window(signals[signal])
        for name, signal in _MEASURED.items()
        if signal in signals
    }


_FIGURES: tuple[tuple[str, str, Callable[[float], str]], ...] = (
    ("KV usage", "kv_usage_ratio", percent),
    ("Running", "running_requests", plain),
    ("Waiting", "waiting_requests", plain),
    ("Preemptions/s", "preemptions_per_s", rate_words),
    ("TTFT p99", "ttft_p99_s", format_seconds),
    ("ITL p99", "itl_p99_s", format_seconds),
)


def tiles(window: Window) -> Tiles:
    """Return the key figures over the whole window; empty if the engine showed none."""
    found = [
        (name, words(_over_window(one)), _window_words(one, words))
        for name, signal, words in _FIGURES
        if (one := window.signals.get(signal)) is not None
    ]
    return Tiles(found)


def _over_window(signal: Signal) -> float:
    """The one value of a signal on a page: of a quantile, which is of the whole window, the last;
    else the mean.
    """
    return signal.last if "_p99_" in signal.name else signal.mean


def _window_words(signal: Signal, words: Callable[[float], str]) -> str:
    """Over which time the value is, and how far single looks went."""
    if "_p99_" in signal.name:
        return "all requests of the window, within a histogram bucket"
    if signal.span_s <= 0:
        return "one look"
    span = f"mean of {duration(signal.span_s)}"
    return (
        f"{span}, {words(signal.high)} at most"
        if words(signal.high) != words(signal.mean)
        else span
    )


def drawings(window: Window, diagnosis: Diagnosis, marks: tuple[tuple[float, str], ...]) -> Charts:
    """The signals that carry a diagnosis of load, with their limits, over the time that was looked
    at.
    """
    drawn = [
        chart
        for chart in _charts(window, diagnosis)
        if any(len(line.points) > 1 for line in chart.lines)
    ]
    instants = [at for chart in drawn for line in chart.lines for at, _ in line.points]
    first, last = min(instants, default=0.0), max(instants, default=0.0)
    return Charts(drawn, Span(first, last, marks, zero_s=first))


def _charts(window: Window, diagnosis: Diagnosis) -> list[Chart]:
    pool, slots = window.signals.get("kv_pool_tokens"), window.signals.get("max_running_requests")
    full = ((1.0, "full" if pool is None else f"{plain(pool.last)} tokens"),)
    found = [
        Chart("KV usage", _lines(window, kv_usage_ratio=""), percent, 1.0, full),
        Chart(
            "Requests",
            _lines(window, running_requests="running", waiting_requests="waiting"),
            plain,
            limits=_limit(slots, "slot" if slots is not None and slots.last == 1 else "slots"),
            counts=True,
        ),
        Chart("Preemptions per second", _lines(window, preemptions_per_s=""), plain),
        Chart("Output tokens per second", _lines(window, generation_tokens_per_s=""), plain),
        Chart(
            "Time to first token",
            _lines(window, ttft_mean_s=""),
            duration,
            note="mean",
        ),
        Chart(
            "Time between tokens",
            _lines(window, itl_mean_s=""),
            duration,
            note="mean",
        ),
    ]
    if diagnosis.cause == "host-bound":
        limit = _limit(window.signals.get("cpu_limit_cores"), "cores there are")
        found.append(
            Chart(
                "CPU cores",
                _lines(window, cpu_usage_cores="all", api_server_cpu_cores="API server"),
                plain,
                limits=limit,
            )
        )
    return found


def _lines(window: Window, **names: str) -> tuple[Line, ...]:
    """Signals by name, with what their line is called; those of one source only, so that the axis
    is one.
    """
    found = [
        (window.signals[name], words) for name, words in names.items() if name in window.signals
    ]
    return tuple(
        Line(signal.points, words, "second" if place else "")
        for place, (signal, words) in enumerate(found)
    )


def _limit(signal: Signal | None, name: str) -> tuple[tuple[float, str], ...]:
    return () if signal is None else ((signal.last, f"{plain(signal.last)} {name}"),)
