"""A simulated run behind the gateway: the verdict first, then what came of the requests; and as
data.
"""

from __future__ import annotations

from typing import Any

from barostat.core.diagnosis import Severity
from barostat.core.units import seconds
from barostat.core.verdict import Absent, Present, Unknown
from barostat.core.verdict import Verdict as Judged
from barostat.judge.experiments.admission import GatedSummary
from barostat.shells.reports.api_version import API_VERSION
from barostat.shells.reports.sheet.blocks import Document, Facts, Heading, Verdict
from barostat.shells.reports.simulation.data import format_seconds
from barostat.twin.summary import Slo, Spread

_CARDS: dict[type, tuple[Severity, str, str]] = {
    Absent: ("none", "KEPT", "The gateway keeps its promise"),
    Present: ("critical", "BROKEN", "more requests were preempted than allowed"),
    Unknown: ("info", "CANNOT TELL", "whether the gateway keeps its promise"),
}


def gated_document(found: GatedSummary, replicas: int, slo: Slo) -> Document:
    """The run for a person: the gateway's promise first."""
    refused = sum(found.refused.values())
    each = "".join(f"; {name} {count:,}" for name, count in sorted(found.refused.items()))
    reached = f"{found.reached:,} reached an engine, {found.finished:,} finished"
    ttft, waited = found.ttft, found.waited
    facts = [
        ("Replicas", f"{replicas}"),
        ("Requests", f"{found.requests:,} after the first tenth; {reached}"),
        ("Good", f"{found.good:,}, {found.good_per_s:.4g}/s ({_level(slo)})"),
        ("Output", f"{found.output_tokens_per_s:,.5g} tokens/s"),
        ("TTFT", f"{_quantiles(ttft)}, from the arrival at the gateway"),
        ("In its queue", _quantiles(waited)),
        ("KV pool held", f"{found.held_ratio:.0%} on average"),
        ("Refused", f"{refused:,}{each}"),
    ]
    severity, word, headline = _CARDS[type(found.harm)]
    blocks = (
        Heading("simulate", "Behind the gateway"),
        Verdict(severity, word, headline, f"{_because(found.harm)}."),
        Facts(facts),
    )
    return Document("Barostat: behind the gateway", blocks)


def _quantiles(spread: Spread) -> str:
    return f"p50 {format_seconds(spread.p50)}, p99 {format_seconds(spread.p99)}"


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


def _because(harm: Judged) -> str:
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
