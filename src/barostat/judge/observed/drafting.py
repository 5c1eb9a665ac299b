"""How many of its drafts a running engine accepts, from its own counters."""

from __future__ import annotations

from barostat.core.errors import InputError
from barostat.core.prose import Prose
from barostat.core.window import Window
from barostat.judge.observed.settings import Assumption
from barostat.judge.sizing.planned_twin import with_drafts
from barostat.judge.sizing.speculation import drafter_of
from barostat.twin.drafting import acceptance_of
from barostat.twin.settings import Settings

SPECULATION = "speculative_config"
_OPTION = "--draft-acceptance"


def seen_acceptance(window: Window) -> float | None:
    """Probability that a draft is accepted where all before it were, with which as many are
    accepted as the engine counts; None without speculation, or where it drafted nothing.

    Errors: InputError for a drafter that is not simulated.
    """
    drafter = drafter_of(window.config)
    counted = window.signals.get("accepted_drafts_per_step")
    if drafter is None or counted is None or not counted.values:
        return None
    return acceptance_of(min(counted.last, float(drafter.tokens)), drafter.tokens)


def with_seen_drafts(settings: Settings, window: Window) -> tuple[Settings, tuple[Assumption, ...]]:
    """The settings with the engine's drafter, and what is assumed where that cannot be."""
    try:
        ratio = seen_acceptance(window)
        drafting = with_drafts(settings, window.config, ratio)
        silent = ratio is None and drafter_of(window.config) is not None
    except InputError as error:
        return settings, (_left_out(error.what),)
    if silent:
        return settings, (_left_out("no drafts were counted while looking"),)
    return drafting, ()


def _left_out(why: str) -> Assumption:
    return Assumption(SPECULATION, Prose(f"speculative decoding is left out: {why}"), _OPTION)
