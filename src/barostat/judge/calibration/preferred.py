"""Chooses the best source of a running engine's step times. The order of preference is defined only
here.

1. the log's step lines            what each step computed, and how long it took
2. its metrics between scrapes     with what these do not tell asked of the twin
3. a typical time between tokens   one point of the line
4. the card's own figures          reckoned, not measured
"""

from __future__ import annotations

from barostat.engines.vllm.logs.digest import LogDigest
from barostat.engines.vllm.metrics.scrapes import EngineScrapes
from barostat.judge.calibration.step_times import (
    FittedStepTimes,
    fitted_step_times,
    pace_of_latency,
    pace_of_log,
)
from barostat.judge.calibration.twin_calibration import calibrated_by_twin
from barostat.judge.observed.engine import ObservedEngine
from barostat.judge.observed.traffic import ObservedTraffic
from barostat.twin.linear_pace import LinearPace
from barostat.twin.settings import Settings


def preferred_step_times(
    engine: ObservedEngine,
    settings: Settings | None,
    traffic: ObservedTraffic | None,
    card: LinearPace | None = None,
    budget_tokens: int | None = None,
) -> FittedStepTimes | None:
    """Return the step times from the best available source, or None.

    `settings`: of the twin; None if unknown, then neither log nor twin is used. `card`: step times
    from the card's data sheet.
    """
    if (
        measured := measured_step_times(
            engine.log, engine.index, engine.scrapes, settings, traffic, card, budget_tokens
        )
    ) is not None:
        return measured
    itl = engine.window.signals.get("itl_p50_s") or engine.window.signals.get("tpot_p50_s")
    if itl is not None and itl.last > 0:
        return pace_of_latency(itl.last, itl.source, card)
    return (
        None
        if card is None
        else FittedStepTimes(card, (), (), f"steps are reckoned from {card.source}")
    )


def measured_step_times(
    log: LogDigest | None,
    index: str,
    scrapes: EngineScrapes | None,
    settings: Settings | None,
    traffic: ObservedTraffic | None,
    card: LinearPace | None = None,
    budget_tokens: int | None = None,
) -> FittedStepTimes | None:
    """The step times of the first two sources: those in which steps of more than one kind were
    measured.
    """
    if settings is not None and (logged := pace_of_log(log, index, settings, scrapes)) is not None:
        return logged
    if scrapes is None:
        return None
    if budget_tokens is None and settings is not None:
        budget_tokens = settings.max_num_batched_tokens
    found = fitted_step_times(scrapes, card, budget_tokens)
    if found is not None and settings is not None and traffic is not None:
        return calibrated_by_twin(found, scrapes, settings, traffic, card)
    return found
