"""A simulated run behind the gateway, for a terminal and as data: the verdict first, then what came
of the requests.
"""

from __future__ import annotations

from typing import Any

from barostat.core.units import seconds
from barostat.core.verdict import Absent, Present, Unknown, Verdict
from barostat.judge.experiments.admission import GatedSummary
from barostat.shells.reports.aligned import aligned
from barostat.shells.reports.api_version import API_VERSION
from barostat.shells.reports.simulation.text import format_seconds
from barostat.twin.summary import Slo, Spread

_WORDS = {
    Absent: "The gateway keeps its promise",
    Present: "MORE PREEMPTED THAN ALLOWED",
    Unknown: "Cannot tell",
}


def gated_table(found: GatedSummary, replicas: int, slo: Slo) -> str:
    """The run for a person."""
    refused = sum(found.refused.values())
    lines = [f"{_WORDS[type(found.harm)]}: {_because(found.harm)}.", ""]
    lines += aligned(
        [
            ("replicas", f"{replicas}"),
            (
                "requests",
                (
                    f"{found.requests:,} after the first tenth; {found.reached:,} reached an "
                    f"engine, {found.finished:,} finished"
                ),
            ),
            ("good", f"{found.good:,}, {found.good_per_s:.4g}/s ({_level(slo)})"),
            ("output", f"{found.output_tokens_per_s:,.5g} tokens/s"),
            (
                "TTFT",
                (
                    f"p50 {format_seconds(found.ttft.p50)}, p99 "
                    f"{format_seconds(found.ttft.p99)}, from the arrival at the gateway"
                ),
            ),
            (
                "in its queue",
                f"p50 {format_seconds(found.waited.p50)}, p99 {format_seconds(found.waited.p99)}",
            ),
            ("KV pool held", f"{found.held_ratio:.0%} on average"),
            (
                "refused",
                f"{refused:,}"
                + "".join(f"; {name} {count:,}" for name, count in sorted(found.refused.items())),
            ),
        ]
    )
    return "\n".join(lines) + "\n"


def gated_json(found: GatedSummary, replicas: int, slo: Slo) -> dict[str, Any]:
    """`kind: GatedSimulation` as plain data."""
    return {
        "apiVersion": API_VERSION,
        "kind": "GatedSimulation",
        "replicas": replicas,
        "slo": {"ttftSeconds": slo.ttft_s, "itlSeconds": slo.itl_s},
        "verdict": {"harm": type(found.harm).__name__, "because": _because(found.harm)},
        "requests": found.requests,
        "reached": found.reached,
        "finished": found.finished,
        "good": found.good,
        "goodPerSecond": found.good_per_s,
        "preemptedRatio": found.preempted_ratio,
        "outputTokensPerSecond": found.output_tokens_per_s,
        "refused": dict(sorted(found.refused.items())),
        "ttftSeconds": _spread(found.ttft),
        "queuedSeconds": _spread(found.waited),
        "kvHeldRatio": found.held_ratio,
    }


def _because(harm: Verdict) -> str:
    return harm.why if isinstance(harm, Unknown) else harm.because


def _level(slo: Slo) -> str:
    said = [
        f"{name} within {seconds(limit)}"
        for name, limit in (("TTFT", slo.ttft_s), ("gaps", slo.itl_s))
        if limit is not None
    ]
    return " and ".join(said) if said else "no service level stated: whatever finishes counts"


def _spread(spread: Spread) -> dict[str, float | int | None]:
    return {"count": spread.count, "p50": spread.p50, "p90": spread.p90, "p99": spread.p99}
