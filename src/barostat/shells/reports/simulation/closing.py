"""The last sentence of a simulation: does it keep up, and is it within the service level, if one was stated."""

from __future__ import annotations

from barostat.core.units import seconds
from barostat.judge.experiments.service_level import WITHIN_RATIO, holds, stated
from barostat.twin.keeping_up import keeping_up
from barostat.twin.outcome import Outcome
from barostat.twin.summary import Slo, Summary


def closing(outcome: Outcome, summary: Summary, slo: Slo) -> str:
    """The verdict in two sentences."""
    found = keeping_up(outcome)
    word = {"keeps up": "It keeps up", "falls behind": "It FALLS BEHIND", "cannot tell": "Whether it keeps up cannot be told"}[found.answer]
    if not stated(slo):
        return f"{word}: {found.because}.\nNo SLO was stated (--slo-ttft, --slo-itl), so nothing is called good or bad."
    share = f"{summary.good:,} of {summary.requests:,} requests have {level(slo)}"
    return f"{word}: {found.because}.\nThe SLO {'holds' if holds(summary) else 'is MISSED'}: {share}; {WITHIN_RATIO:.0%} are asked."


def level(slo: Slo) -> str:
    """The service level in words."""
    parts = [f"{name} within {seconds(value)}" for name, value in (("TTFT", slo.ttft_s), ("mean ITL", slo.itl_s)) if value is not None]
    return " and ".join(parts)
