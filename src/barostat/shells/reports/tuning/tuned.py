"""What tuning found: the settings, what they bring, why, what restarts; in sentences, as data, or as
bare arguments.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from barostat.core.units import figure
from barostat.judge.experiments.outlook import Outlook
from barostat.judge.experiments.tuning import (
    Results,
    compared_runs,
    front,
    mean_or_none,
    mostly_holds,
)
from barostat.judge.experiments.tuning_proof import MOST_BESIDE, Proof, summary_of
from barostat.judge.experiments.tuning_space import LIVE, ON_REQUEST, Point, Value, flags_of
from barostat.shells.reports.api_version import API_VERSION
from barostat.shells.reports.simulation.data import format_seconds, short
from barostat.shells.reports.simulation.side_by_side import pace_json
from barostat.twin.summary import Slo

FRONT = ("good/s", "TTFT p99", "ITL p99", "refused", "holds", "settings")
"""The heading of `front_rows`."""


@dataclass(frozen=True, slots=True)
class Tuned:
    """The search's results, the winner, its proof (None: stopped before it), what was asked, what
    to say beside.
    """

    results: Results
    best: Point
    proof: Proof | None
    slo: Slo
    notes: Sequence[str] = ()

    @property
    def changed(self) -> dict[str, Value]:
        """The winner's changes from today."""
        return self.results.space.changed(self.best)

    @property
    def holds(self) -> bool | None:
        """True if the winner keeps the service level: as the proof saw it, else as the search did;
        None if nothing was run.
        """
        return self.results.keeps(self.best) if self.proof is None else self.proof.holds

    @property
    def reached(self) -> bool:
        """True if the service level holds with the winner, and does not today: whatever else that
        costs.
        """
        return self.proof is not None and self.proof.holds and not self.proof.holds_today

    @property
    def only_searched(self) -> bool:
        """True if something kept the service level while it was searched, and the winner does not
        on the requests held out.
        """
        return self.holds is False and self.results.any_keeps()

    @property
    def flags(self) -> dict[str, Value]:
        """The same as vLLM's arguments."""
        return flags_of(self.results.space.settings, self.changed)

    @property
    def shown(self) -> dict[Point, Sequence[Outlook]]:
        """The settings of the table with the runs that its figures come from: all of them the
        proof's, or without one all of the search. Today's are among them.
        """
        results, today = self.results, self.results.space.today
        points = shown_points(results, self.best)
        if self.proof is not None:
            return {one: self.proof.beside[one] for one in points if one in self.proof.beside}
        least = compared_runs(results)
        points = [one for one in (*points, today) if one in results.runs]
        return {one: results.runs[one][:least] for one in dict.fromkeys(points)}

    @property
    def live(self) -> dict[str, Value]:
        """Changes that apply without a restart."""
        return {name: value for name, value in self.changed.items() if name in LIVE}


def shown_points(results: Results, best: Point) -> list[Point]:
    """The best, the others that no other beats, and today's settings."""
    most = [*front(results, best)[: MOST_BESIDE - 1], results.space.today]
    return list(dict.fromkeys(most))


def tune_args(tuned: Tuned) -> str:
    """The changed arguments as vLLM takes them, on one line; today's, of the levers that were
    tried, where none changes.
    """
    space = tuned.results.space
    today = {lever.name: value for lever, value in zip(space.levers, space.today, strict=True)}
    words = [
        f"--{name} {value:g}" if isinstance(value, float) else f"--{name} {value}"
        for name, value in (tuned.flags or flags_of(space.settings, today)).items()
        if value is not None
    ]
    return " ".join(words) + "\n"


def beside_args(tuned: Tuned) -> str:
    """Return a sentence on what the bare arguments do not show: that nothing better was found, or
    changes that are not arguments. Empty if they show everything.
    """
    short = [] if tuned.holds is not False else ["they do not meet the SLO"]
    if not tuned.changed:
        return "; ".join(
            ("nothing better than today's settings was found: these arguments are today's", *short)
        )
    if not tuned.flags:
        edge = (
            f"what is better is at the edge, not in the engine ({summary_of(tuned.live)}): "
            "these arguments are today's"
        )
        return "; ".join((edge, *short))
    said = [*short, *_left_out(tuned)]
    if tuned.live:
        said.append(f"beside these arguments, at the edge: {summary_of(tuned.live)}")
    if (
        tuned.proof is not None
        and not (tuned.proof.significant and tuned.proof.gain_per_s > 0)
        and not tuned.reached
    ):
        said.append(
            "nothing better than today's settings beyond noise was found: these arguments "
            "are not worth a restart by themselves"
        )
    return "; ".join(said)


def _left_out(tuned: Tuned) -> list[str]:
    return [f"leave out --{name}" for name, value in tuned.flags.items() if value is None]


def table_title(tuned: Tuned) -> str:
    """Return the table's title, with the requests its figures are from."""
    of = "the requests of the search" if tuned.proof is None else "the same held-out requests"
    return f"the Pareto front (no other setting is better in all three) and today's, all on {of}"


def tune_json(tuned: Tuned) -> dict[str, Any]:
    """`kind: Tuning` as plain data."""
    results, proof = tuned.results, tuned.proof
    return {
        "apiVersion": API_VERSION,
        "kind": "Tuning",
        "slo": {
            "ttftP99Seconds": tuned.slo.ttft_s,
            "itlP99Seconds": tuned.slo.itl_s,
            "maxRefusedRatio": tuned.slo.refused_ratio,
        },
        "best": {
            "changes": tuned.changed,
            "args": tuned.flags,
            "live": tuned.live,
            "restarts": bool(tuned.flags),
            "holds": tuned.holds,
        },
        "proof": None
        if proof is None
        else {
            "heldOutRuns": len(proof.today),
            "runs": proof.spent,
            "today": _three_json(proof.today),
            "best": _three_json(proof.best),
            "gainPerSecond": short(proof.gain_per_s),
            "standardError": short(proof.error_per_s) if math.isfinite(proof.error_per_s) else None,
            "moreThanNoise": proof.significant,
            "withEveryPace": proof.agreed,
            "holdsToday": proof.holds_today,
            "holds": proof.holds,
            "bindsToday": proof.binds_today,
            "binds": proof.binds,
            "lostWithoutPerSecond": {name: short(value) for name, value in proof.parts.items()},
        },
        "front": [
            {
                "changes": results.space.changed(point),
                **_three_json(runs),
                "holds": mostly_holds(runs, tuned.slo),
            }
            for point, runs in tuned.shown.items()
        ],
        "runs": results.spent,
        "stopped": results.stopped,
        "pace": pace_json(results.pace),
        "notes": list(tuned.notes),
    }


def headline(tuned: Tuned) -> list[str]:
    """Return sentences on the best setting, its price and its benefit."""
    proof, changed = tuned.proof, tuned.changed
    asked = [
        f"{name} p99 <= {format_seconds(limit)}"
        for name, limit in (("TTFT", tuned.slo.ttft_s), ("ITL", tuned.slo.itl_s))
        if limit is not None
    ]
    if tuned.slo.refused_ratio is not None:
        asked.append(f"at most {tuned.slo.refused_ratio:.0%} refused")
    lines = [f"{_first(tuned, ' and '.join(asked))}: {summary_of(changed)}"]
    if proof is not None and changed and _is_in_vain(tuned):
        return [
            *lines,
            (
                f"no change is worth a restart: on {_runs(proof)}: 0 good requests/s today, "
                "and 0 with it"
            ),
        ]
    if tuned.flags:
        lines.append(
            "needs a restart: "
            f"{'; '.join(filter(None, (tune_args(tuned).strip(), *_left_out(tuned))))}"
        )
    if tuned.live:
        cut = "; an answer that is cut counts as good" if "edge-output-cap" in tuned.live else ""
        lines.append(f"live, at the edge: {summary_of(tuned.live)}{cut}")
    if _takes_memory(tuned):
        lines.append(
            "more slots or a larger budget take memory from the KV pool, which is not "
            "counted here: `barostat plan` says how much"
        )
    if proof is None:
        return [
            *lines,
            "stopped before it was confirmed on requests not used in the search",
        ]
    before, after = mean_of(proof.today), mean_of(proof.best)
    if not changed:
        return [
            *lines,
            f"no setting tried improves on today's {figure(before)} good requests/s",
        ]
    percent = f" ({proof.gain_per_s / before:+.0%})" if before else ""
    sure = (
        "more than noise"
        if proof.significant
        else "within noise"
        if tuned.reached
        else "within noise: not worth a restart by itself"
    )
    if proof.significant and not proof.agreed:
        sure = "more than noise, but not with every pace that its steps may have"
    if tuned.reached:
        sure += "; it meets the SLO, and today's settings do not"
    error = (
        f" with a standard error of {figure(proof.error_per_s, 2)}"
        if math.isfinite(proof.error_per_s)
        else ""
    )
    lines.append(
        f"on {_runs(proof)}: {figure(before)} good requests/s today, {figure(after)} "
        f"then{percent}, "
        f"difference {proof.gain_per_s:+.3g}{error}: {sure}"
    )
    return lines


def _first(tuned: Tuned, level: str) -> str:
    if tuned.only_searched:
        return f"the best of the search misses {level} on requests not used in the search"
    return (
        f"no setting tried meets {level}; the closest"
        if tuned.holds is False
        else f"best for {level}"
    )


def _runs(proof: Proof) -> str:
    return (
        f"{len(proof.today)} held-out runs"
        if len(proof.today) > 1
        else "one held-out run, which decides nothing"
    )


def _is_in_vain(tuned: Tuned) -> bool:
    """True if no request is good today, and none with the winner: it is the least bad, and brings
    nothing.
    """
    return (
        tuned.proof is not None
        and mean_of(tuned.proof.today) == 0
        and mean_of(tuned.proof.best) == 0
    )


def _takes_memory(tuned: Tuned) -> bool:
    """True if a setting is raised that the engine reserves memory for when it starts."""
    now = tuned.results.space.settings
    slots, budget = tuned.flags.get("max-num-seqs"), tuned.flags.get("max-num-batched-tokens")
    return bool(
        (slots and slots > now.max_num_seqs) or (budget and budget > now.max_num_batched_tokens)
    )


def why(tuned: Tuned) -> list[str]:
    """Return sentences on the bottleneck before and after, and the effect of each change."""
    proof = tuned.proof
    lines = []
    if proof is not None:
        lines.append(f"today: {proof.binds_today}; {_level(proof.today, proof.holds_today)}")
    if proof is not None and tuned.changed:
        lines.append(f"then: {proof.binds}; {_level(proof.best, proof.holds)}")
    if tuned.only_searched:
        lines.append(
            "it met the SLO in the search only, so it is at its limit: reduce the load, "
            "add replicas, or search for a stricter SLO"
        )
    elif tuned.holds is False:
        untried = [
            f"--lever {name}"
            for name in ON_REQUEST
            if name not in {lever.name for lever in tuned.results.space.levers}
        ]
        also = f"; {', '.join(untried)} can be searched as well" if untried else ""
        lines.append(
            f"no setting tried meets the SLO at this load: reduce the load or add replicas{also}"
        )
    parts = {} if proof is None else proof.parts
    lines += [
        (
            f"without {name} "
            f"{'off' if (value := tuned.changed[name]) is None else f'{value:g}'}: "
            f"{0.0 - lost:+.3g} good requests/s"
        )
        for name, lost in sorted(parts.items(), key=lambda item: -item[1])
        if lost
    ]
    return lines


def _level(runs: Sequence[Outlook], kept: bool) -> str:
    ttft, itl = (latency_of(runs, name, format_seconds) for name in ("ttft_p99_s", "itl_p99_s"))
    refused = mean_of(runs, "refused_ratio")
    turned_away = f", {refused:.1%} refused" if refused else ""
    met = "meets" if kept else "misses"
    return f"TTFT p99 {ttft}, ITL p99 {itl}{turned_away}: {met} the SLO"


def front_rows(tuned: Tuned) -> list[tuple[str, ...]]:
    """The settings of the table: goodput, TTFT p99, ITL p99, then what is refused, whether the
    level holds, the settings.
    """
    results = tuned.results
    found = []
    for point, runs in tuned.shown.items():
        kept = mostly_holds(runs, tuned.slo)
        latencies = (latency_of(runs, name, format_seconds) for name in ("ttft_p99_s", "itl_p99_s"))
        cells = (f"{figure(mean_of(runs))}", *latencies, f"{mean_of(runs, 'refused_ratio'):.1%}")
        found.append((*cells, "yes" if kept else "no", summary_of(results.space.changed(point))))
    return found


def _three_json(runs: Sequence[Outlook]) -> dict[str, Any]:
    return {
        "goodRequestsPerSecond": short(mean_of(runs)),
        "ttftP99Seconds": short(mean_or_none(runs, "ttft_p99_s")),
        "itlP99Seconds": short(mean_or_none(runs, "itl_p99_s")),
        "preemptionsPerSecond": short(mean_of(runs, "preempted_per_s")),
        "kvUsageRatio": short(mean_of(runs, "kv_usage_ratio")),
        "refusedRatio": short(mean_of(runs, "refused_ratio")),
    }


def mean_of(runs: Sequence[Outlook], name: str = "good_per_s") -> float:
    """The mean of that field over the runs that have it; 0 where none has."""
    return mean_or_none(runs, name) or 0.0


def latency_of(runs: Sequence[Outlook], name: str, words: Callable[[float], str]) -> str:
    """The mean of that field in words; `-` where no run has it."""
    value = mean_or_none(runs, name)
    return "-" if value is None else words(value)
