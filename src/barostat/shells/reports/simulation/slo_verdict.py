"""Whether candidates meet the SLO: for each one, overall, and as an exit code.

The answer is about the candidates; without any it is about today's engine.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from barostat.core.diagnosis import SloOutlook
from barostat.judge.experiments.service_level import carries, holds, stated
from barostat.judge.experiments.side_by_side import Compared, what_if_outlook
from barostat.shells.reports.sheet.blocks import Verdict
from barostat.shells.reports.simulation.closing import level
from barostat.shells.reports.simulation.over_time import Run
from barostat.twin.summary import Slo, Summary

Outlooks = Mapping[str, SloOutlook]
"""By candidate, today's engine first; empty without an SLO."""
_EXIT: Mapping[SloOutlook, int] = {"meets": 0, "may-miss": 3, "misses": 1}


def compared_outlooks(shown: Sequence[Compared], slo: Slo) -> Outlooks:
    """Return the outlook of each candidate on the traffic of a running engine."""
    return {one.name: found for one in shown if (found := what_if_outlook(one, slo)) is not None}


def run_outlooks(shown: Sequence[Run], ends: Mapping[str, Sequence[Summary]], slo: Slo) -> Outlooks:
    """Return the outlook of each candidate on a given workload. `ends`: the same run with the
    fastest and the slowest steps that are possible.
    """
    if not stated(slo):
        return {}
    found: dict[str, SloOutlook] = {}
    for name, _, outcome, summary in shown:
        kept = [carries(outcome, summary, slo), *map(holds, ends.get(name, ()))]
        found[name] = "meets" if all(kept) else "may-miss" if any(kept) else "misses"
    return found


def in_all(outlooks: Outlooks) -> SloOutlook | None:
    """Return the best outlook of the candidates; None without a service level."""
    tried = list(outlooks.values())[1:] or list(outlooks.values())
    return next((one for one in _EXIT if one in tried), None)


def exit_code_of(outlooks: Outlooks) -> int:
    """Return 0 if a candidate meets the SLO or none was stated, 3 if one may, else 1."""
    found = in_all(outlooks)
    return 0 if found is None else _EXIT[found]


def outlook_words(outlooks: Outlooks, slo: Slo) -> list[str]:
    """Return a sentence per candidate; empty without an SLO."""
    asked = f"{level(slo)} for 99% of requests"
    return [
        f"{name}: {outlook.replace('-', ' ').upper()} {asked}" for name, outlook in outlooks.items()
    ]


def verdict_json(outlooks: Outlooks) -> dict[str, Any] | None:
    """Return the answer as plain data; None without a service level."""
    found = in_all(outlooks)
    if found is None:
        return None
    return {
        "outlook": found,
        "holding": [name for name, one in outlooks.items() if one == "meets"],
    }


def verdict_card(outlooks: Outlooks, slo: Slo, best: str, sentence: str) -> Verdict:
    """Return the page's verdict. `best`: the candidate named if one meets the SLO."""
    found = in_all(outlooks)
    names = [name for name, one in outlooks.items() if one == found]
    match found:
        case "meets":
            return Verdict("none", "SLO MET", f"{best} meets {level(slo)}", sentence)
        case "may-miss":
            told = f"{best if best in names else names[-1]} may miss {level(slo)}"
            return Verdict("warning", "SLO AT RISK", told, sentence)
        case _:
            tried = list(outlooks)[1:]
            nobody = "no candidate meets" if len(tried) > 1 else f"{[*outlooks][-1]} does not meet"
            return Verdict("critical", "SLO MISSED", f"{nobody} {level(slo)}", sentence)
