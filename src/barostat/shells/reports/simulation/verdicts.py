"""The card on top of the pages of `simulate` and `what-if`: what the terminal says last, said
first.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from barostat.core.units import figure, many
from barostat.judge.experiments.service_level import WITHIN_RATIO, carries, holds, stated
from barostat.shells.reports.sheet.blocks import Verdict
from barostat.shells.reports.simulation.closing import level, refused_of_themselves
from barostat.shells.reports.simulation.data import format_seconds
from barostat.shells.reports.simulation.over_time import Run
from barostat.shells.reports.simulation.slo_verdict import Outlooks, in_all, verdict_card
from barostat.twin.keeping_up import keeping_up
from barostat.twin.outcome import Outcome
from barostat.twin.settings import Settings, would_not_start
from barostat.twin.summary import Slo, Summary

_WORTH_A_WORD = 1.01
_MANY_PREEMPTIONS = 0.1
"""So many for each request are worth a warning."""


def run_verdict(settings: Settings, outcome: Outcome, summary: Summary, slo: Slo) -> Verdict:
    """The card of one run: not to be started, stuck, too much, out of its service level, under
    pressure, or well.
    """
    if refused := would_not_start(settings):
        return Verdict(
            "critical", "WOULD NOT START", "a real engine ends before it serves", refused
        )
    if outcome.stuck:
        return Verdict("critical", "STUCK", "the engine would wait forever", outcome.stuck)
    found = keeping_up(outcome)
    unfinished = summary.requests - summary.finished - summary.rejected
    left = f", {unfinished:,} unfinished" if unfinished else ""
    longer = f"{told}. " if (told := refused_of_themselves(outcome)) else ""
    done = (
        f"{longer}{summary.finished:,} of {many(summary.requests, 'request')} finished, "
        f"{summary.rejected:,} rejected{left}"
    )
    sentence = f"{found.because}. {done}; {many(outcome.preemptions, 'preemption')}."
    sentence = sentence[0].upper() + sentence[1:]
    if found.answer == "falls behind":
        return Verdict(
            "critical", "FALLS BEHIND", "requests arrive faster than they finish", sentence
        )
    if stated(slo) and not holds(summary):
        share = (
            f"{summary.good:,} of {summary.requests:,} requests meet {level(slo)}; "
            f"{WITHIN_RATIO:.0%} must"
        )
        return Verdict("critical", "SLO MISSED", share, sentence)
    if unfinished:
        return Verdict("warning", "TOO MUCH", "not every request was answered", sentence)
    if outcome.preemptions > summary.requests * _MANY_PREEMPTIONS:
        return Verdict(
            "warning",
            "PRESSURE",
            f"it keeps up, with {many(outcome.preemptions, 'preemption')}",
            sentence,
        )
    if found.answer == "cannot tell":
        return Verdict("info", "CANNOT TELL", "nothing shows whether it keeps up", sentence)
    held = (
        f"{summary.good:,} of {summary.requests:,} requests have {level(slo)}"
        if stated(slo)
        else "no service level was stated"
    )
    return Verdict("none", "KEEPS UP", held, sentence)


def runs_verdict(
    shown: Sequence[Run], slo: Slo, other_load: Collection[str], outlooks: Outlooks
) -> tuple[Verdict, Run | None]:
    """The card of candidates, and the one that stands out, if any. Another load is asked whether it
    is carried; it is never better. `outlooks`: of a service level, where one was stated.
    """
    stuck = [name for name, _, outcome, _ in shown if outcome.stuck]
    if stuck:
        return Verdict(
            "critical",
            "STUCK",
            ", ".join(stuck),
            next(outcome.stuck for _, _, outcome, _ in shown if outcome.stuck),
        ), None
    alike = [run for run in shown if run[0] not in other_load]
    loads = [run for run in shown if run[0] in other_load]
    if not outlooks:
        if len(alike) == 1 and loads:
            return _carried(shown[0], loads, slo), None
        told = "; ".join(
            f"{name}: {_latency(summary)}, {many(outcome.preemptions, 'preemption')}"
            for name, _, outcome, summary in shown
        )
        return Verdict(
            "info",
            "NO SLO",
            "none is called better without a service level: --slo-ttft, --slo-itl",
            told,
        ), None
    today = shown[0]
    found = in_all(outlooks)
    holding = [run for run in shown[1:] or shown if outlooks[run[0]] == found]
    best = max(holding, key=lambda run: run[3].good_per_s)
    told = "; ".join(
        f"{name}: {figure(summary.good_per_s, 4)} good requests/s, {_latency(summary)}"
        for name, _, _, summary in (today, *([] if best is today else [best]))
    )
    under = "; ".join(_under_load(run, slo) for run in loads)
    card = verdict_card(outlooks, slo, best[0], "; ".join(filter(None, (told, under))))
    if best in alike:
        return card, best
    better = max(alike, key=lambda run: run[3].good_per_s)
    stands_out = better[3].good_per_s > today[3].good_per_s * _WORTH_A_WORD
    return card, better if stands_out else today


def _carried(today: Run, loads: Sequence[Run], slo: Slo) -> Verdict:
    """The card of other loads without a service level."""
    carried = all(carries(outcome, summary, slo) for _, _, outcome, summary in loads)
    beside = f"Today: {_latency(today[3])}. " + " ".join(
        f"{name}: {_latency(summary)}." for name, _, _, summary in loads
    )
    return Verdict(
        "none" if carried else "critical",
        "CARRIED" if carried else "TOO MUCH",
        "; ".join(_under_load(run, slo) for run in loads),
        beside,
    )


def _under_load(run: Run, slo: Slo) -> str:
    """Return `load=2: it keeps up, and misses the SLO (62% good)`."""
    name, _, outcome, summary = run
    answer = {
        "keeps up": "it keeps up",
        "falls behind": "it falls behind",
        "cannot tell": "too few requests to tell",
    }
    told = f"{name}: {answer[keeping_up(outcome).answer]}"
    if not stated(slo):
        return told
    share = f"{summary.good / max(1, summary.requests):.0%} good"
    return f"{told}, and {'meets' if holds(summary) else 'misses'} the SLO ({share})"


def _latency(summary: Summary) -> str:
    return f"TTFT p99 {format_seconds(summary.ttft.p99)}, ITL p99 {format_seconds(summary.itl.p99)}"
