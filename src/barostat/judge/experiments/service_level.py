"""Does a run hold what was promised: does it keep up, and are enough of its requests good."""

from __future__ import annotations

from barostat.twin.keeping_up import keeping_up
from barostat.twin.outcome import Outcome
from barostat.twin.summary import Slo, Summary

WITHIN_RATIO = 0.99
"""Share of requests that must meet the SLO."""


def stated(slo: Slo) -> bool:
    """True if anything is promised."""
    return slo.ttft_s is not None or slo.itl_s is not None


def holds(summary: Summary) -> bool:
    """True if enough of all requests, those turned away included, are good."""
    return summary.good >= WITHIN_RATIO * summary.requests


def carries(outcome: Outcome, summary: Summary, slo: Slo) -> bool:
    """True if nothing shows that it falls behind, and the service level, where one was stated,
    holds.
    """
    return keeping_up(outcome).answer != "falls behind" and (not stated(slo) or holds(summary))
