"""The last sentences of a simulation: would it start, does it keep up, and is it within the service
level, if one was stated.
"""

from __future__ import annotations

from barostat.core.units import many, seconds
from barostat.judge.experiments.service_level import WITHIN_RATIO, holds, stated
from barostat.twin.intake import OF_ITSELF
from barostat.twin.keeping_up import keeping_up
from barostat.twin.outcome import Outcome
from barostat.twin.settings import Settings, would_not_start
from barostat.twin.summary import Slo, Summary


def closing(settings: Settings, outcome: Outcome, summary: Summary, slo: Slo) -> str:
    """The verdict in some sentences, a line each: would it start, does it keep up, what does it
    refuse, does the service level hold.
    """
    found = keeping_up(outcome)
    word = {
        "keeps up": "It keeps up",
        "falls behind": "It FALLS BEHIND",
        "cannot tell": "Whether it keeps up cannot be told",
    }[found.answer]
    lines = [f"{word}: {found.because}."]
    if refused := would_not_start(settings):
        lines.insert(0, f"A real engine WOULD NOT START: {refused}. If it did:")
    if of_themselves := refused_of_themselves(outcome):
        lines.append(f"{of_themselves}.")
    if not stated(slo):
        return "\n".join(
            (*lines, "No SLO was stated (--slo-ttft, --slo-itl), so nothing is called good or bad.")
        )
    share = f"{summary.good:,} of {many(summary.requests, 'request')} have {level(slo)}"
    return "\n".join(
        (
            *lines,
            (
                f"The SLO {'holds' if holds(summary) else 'is MISSED'}: {share}; "
                f"{WITHIN_RATIO:.0%} are asked."
            ),
        )
    )


def refused_of_themselves(outcome: Outcome) -> str:
    """How many were refused for their length, in a clause; empty if none was."""
    count = sum(one.status in OF_ITSELF for one in outcome.rejections)
    total = len(outcome.lives) + len(outcome.rejections)
    return (
        (
            f"{count:,} of {many(total, 'request')} are longer than it takes, and refused "
            "however little comes"
        )
        if count
        else ""
    )


def level(slo: Slo) -> str:
    """The service level in words."""
    parts = [
        f"{name} within {seconds(value)}"
        for name, value in (("TTFT", slo.ttft_s), ("mean ITL", slo.itl_s))
        if value is not None
    ]
    return " and ".join(parts)
