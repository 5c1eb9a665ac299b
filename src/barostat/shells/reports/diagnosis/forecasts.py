"""What the next steps are forecast to bring: as words beside each, and as a table of all with today
first.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping, Sequence

from barostat.core.diagnosis import Expected, NextStep, ReplicaReport, StepForecast, Trials
from barostat.core.units import figure
from barostat.judge.advice.change_text import as_set_option, as_written, price_of, summary_of
from barostat.judge.experiments.side_by_side import NO_DIFFERENCE
from barostat.shells.reports.simulation.data import format_seconds

HEADING = (
    "",
    "tokens/s",
    "TTFT mean",
    "TTFT p99",
    "ITL mean",
    "ITL p99",
    "preempt/s",
    "refused",
    "compared with today",
)
_SHORT_HEADING = ("", "tokens/s", "TTFT", "p99", "ITL", "p99", "preempt/s", "refused")
TODAY = "today (twin)"
PLAIN = ("", TODAY, "measured", "at least", "at most")
"""What the first cell of a row holds that is no change."""
_WIDE_RATIO = 0.25
_EFFECTS = {"helps": "helps", "trade-off": "helps at a price", "harms": "does more harm than good"}


def expected_words(found: Expected) -> str:
    """The forecast in one clause."""
    refused = (
        f"{found.refused_ratio:.1%} refused" if found.refused_ratio >= 0.0005 else "none refused"
    )
    return (
        f"{rate_words(found.output_tokens_per_s)} tokens/s, TTFT "
        f"{format_seconds(found.ttft_mean_s)} (p99 {format_seconds(found.ttft_p99_s)}), "
        f"ITL {format_seconds(found.itl_mean_s)} (p99 {format_seconds(found.itl_p99_s)}), "
        f"{rate_words(found.preempted_per_s)} preemptions/s, {refused}"
    )


def effect_words(step: NextStep, trials: Trials | None) -> str:
    """Return the step's forecast compared with today and its price, or why it was not tried; empty if
    no trials were made.
    """
    forecast = step.forecast
    if forecast is None or trials is None:
        return f"not tried: {step.untried}" if step.untried else ""
    match forecast.effect:
        case "nothing":
            return f"forecast: {NO_DIFFERENCE}"
        case "unsure":
            return f"cannot tell whether it helps: {forecast.may_change}; try it on a spare"
        case effect:
            worse = f"worse: {forecast.worse}" if forecast.worse else ""
            figures = "; ".join(filter(None, (str(forecast.better), worse)))
            return f"{_EFFECTS[effect]}: {figures}; price: {price_of(step, trials)}"


def trials_words(steps: Sequence[NextStep], trials: Trials | None) -> list[str]:
    """Return today's forecast, the basis of the ranking and the command to repeat it; or why nothing
    was tried.
    """
    if trials is None:
        return []
    if trials.today is None:
        return [f"the next steps are in their usual order, not tried: {trials.why_not}"]
    again = next((as_set_option(step.change) for step in steps if step.forecast is not None), None)
    more = []
    if again:
        words = ("barostat", "what-if", *trials.source, "--set", str(again))
        told = shlex.join(words) if trials.source else f"barostat what-if, with --set {again}"
        more = [f"repeat with more runs: {told}"]
    return [f"today on the twin: {expected_words(trials.today)}", str(trials.basis), *more]


def rows(
    replica: ReplicaReport, measured: Mapping[str, float] | None = None
) -> list[tuple[str, ...]]:
    """Return table rows: the heading, today on the twin, and every step that was tried; empty if none
    was. `measured`: the engine's own figures by field of `Expected`, as a separate row.
    """
    if replica.trials is None or replica.trials.today is None:
        return []
    found: list[tuple[str, ...]] = [HEADING]
    if measured:
        found.append(("measured", *_measured_cells(measured), ""))
    found.append((TODAY, *_cells(replica.trials.today), ""))
    for step in replica.next:
        if (forecast := step.forecast) is not None:
            told = f"{summary_of(forecast)}; price: {price_of(step, replica.trials)}"
            found += [
                (str(as_written(step.change)), *_cells(forecast.expected), told),
                *((*row, "") for row in _ends(forecast)),
            ]
    return found


def numbered_rows(replica: ReplicaReport, steps: int) -> list[tuple[str, ...]]:
    """Return table rows: the heading, today, and those of the first `steps` steps that would change
    something, by number; empty without trials.
    """
    if replica.trials is None or replica.trials.today is None:
        return []
    found = [_SHORT_HEADING, (TODAY, *_cells(replica.trials.today))]
    for number, step in enumerate(replica.next[:steps], 1):
        if (forecast := step.forecast) is not None and forecast.effect != "nothing":
            found += [(str(number), *_cells(forecast.expected)), *_ends(forecast)]
    return found


def _ends(forecast: StepForecast) -> list[tuple[str, ...]]:
    """The least and the most of each figure, where one that is told first is further than a quarter
    from what is expected.
    """
    if forecast.between is None or forecast.effect == "nothing":
        return []
    expected, *ends = (
        (one.output_tokens_per_s, one.ttft_mean_s, one.itl_mean_s)
        for one in (forecast.expected, *forecast.between)
    )
    far = any(
        value and other is not None and abs(other / value - 1) > _WIDE_RATIO
        for end in ends
        for value, other in zip(expected, end, strict=True)
    )
    return (
        [(word, *_cells(one)) for word, one in zip(PLAIN[3:], forecast.between, strict=True)]
        if far
        else []
    )


def _measured_cells(measured: Mapping[str, float]) -> tuple[str, ...]:
    def cell(name: str, words: Callable[[float], str]) -> str:
        value = measured.get(name)
        return "-" if value is None else words(value)

    return (
        cell("output_tokens_per_s", rate_words),
        *(
            cell(name, format_seconds)
            for name in ("ttft_mean_s", "ttft_p99_s", "itl_mean_s", "itl_p99_s")
        ),
        cell("preempted_per_s", rate_words),
        "-",
    )


def _cells(found: Expected) -> tuple[str, ...]:
    seconds = (found.ttft_mean_s, found.ttft_p99_s, found.itl_mean_s, found.itl_p99_s)
    return (
        rate_words(found.output_tokens_per_s), *(format_seconds(value) for value in seconds), rate_words(found.preempted_per_s),
        f"{found.refused_ratio:.1%}",
    )  # fmt: skip


def rate_words(value: float) -> str:
    """Return a rate in two digits."""
    return (
        f"{value:,.0f}"
        if value >= 100 or value == 0
        else "0"
        if value < 0.0005
        else figure(value, 2)
    )
