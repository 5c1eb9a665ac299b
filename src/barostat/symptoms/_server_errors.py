"""Whose 5xx it was: answers that the engine's own server counts, and what the gateway saw."""

from __future__ import annotations

from barostat.core.window import Window

HARM_RATIO = 0.01
"""One in a hundred: below it there are always a few."""
FEW = 3
PASSED_ON_RATIO = 0.5
"""If the engine's share of errors is at least this ratio of the gateway's, most gateway errors come
from the engine.
"""


def own_error_ratio(window: Window) -> float:
    """Share of 5xx among the answers of the engine's own server within the window; 0 where they are
    few, or were not counted.

    They are counted for the whole endpoint, what ended for each data-parallel engine behind it.
    """
    errors, finished, engines = (
        window.fresh(name)
        for name in ("errors_in_window", "finished_in_window", "data_parallel_engines")
    )
    if errors is None or errors.last < FEW:
        return 0.0
    ended = (
        0.0
        if finished is None
        else finished.last * (1.0 if engines is None else max(1.0, engines.last))
    )
    ratio = errors.last / (ended + errors.last)
    return ratio if ratio >= HARM_RATIO else 0.0


def made_at_the_gateway(window: Window) -> bool:
    """True if one answer in a hundred at the gateway fails or is given up, and the engine's own 5xx
    are not what it passes on.
    """
    failed, timed_out = window.fresh("gateway_5xx_ratio"), window.fresh("gateway_timeout_ratio")
    if timed_out is not None and timed_out.last >= HARM_RATIO:
        return True
    return (
        failed is not None
        and failed.last >= HARM_RATIO
        and own_error_ratio(window) < PASSED_ON_RATIO * failed.last
    )
