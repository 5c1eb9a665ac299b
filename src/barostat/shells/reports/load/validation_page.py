"""A validation as one HTML page that needs nothing else."""

from __future__ import annotations

from barostat.core.units import figure
from barostat.judge.load_test.knee import Knee, Tried
from barostat.shells.reports.load.page import latencies, over_time, tiles
from barostat.shells.reports.load.validation import WORDS, Validated, knee_sentence
from barostat.shells.reports.sheet.page import facts, figures, footer, heading, page, table, verdict
from barostat.shells.reports.sheet.safe_text import escape
from barostat.shells.reports.simulation.text import format_seconds

_SEVERITY = {"pass": "none", "fail": "critical", "unknown": "warning"}


def validation_html(found: Validated) -> str:
    """The page."""
    proof = found.proof
    worst = [one for one in proof.checks if one.standing in ("fail", "unknown")]
    word = WORDS[proof.verdict] if proof.verdict != "unknown" else "CANNOT TELL"
    card = verdict(
        _SEVERITY[proof.verdict],
        word,
        found.sentence,
        "; ".join(f"{one.phase}: {one.told}" for one in worst),
    )
    rows = [
        ("", "phase", "what", "measured"),
        *((WORDS[one.standing], one.phase, one.name, one.told) for one in proof.checks),
    ]
    parts = [
        heading("validate", found.target.named, f"{found.limits_file} · {found.at}"),
        card,
        table(rows, words=(0, 1, 2, 3)),
    ]
    if proof.knee is not None:
        parts.append(_knee(proof.knee))
    for phase in proof.phases:
        parts.append(f"<h2>{escape(phase.name)}</h2><p class='soft'>{escape(phase.traffic)}</p>")
        parts.append(
            f"{figures(tiles(phase.found, found.slo))}{over_time(phase.found, found.slo)}{latencies(phase.found)}"
        )
    flags = ", ".join(f"{name}={value}" for name, value in found.target.flags)
    parts.append(
        "<h2>What was "
        f"tested</h2>{facts([('limits', found.digest), ('engine', flags or 'its metrics show no settings')])}"
    )
    parts.append(footer("the same as data: barostat validate -o json"))
    return page(f"Barostat: {found.limits_file} on {found.target.model}", "".join(parts))


def _knee(knee: Knee) -> str:
    rows = [
        ("requests/s", "", "TTFT p99", "ITL p99"),
        *(
            (
                figure(one.per_s, 4),
                _found(one),
                format_seconds(one.found.ttft.p99),
                format_seconds(one.found.itl.p99),
            )
            for one in knee.tried
        ),
    ]
    return f"<h2>The knee</h2><p>{escape(knee_sentence(knee))}</p>{table(rows, words=(1,))}"


def _found(tried: Tried) -> str:
    return f"{tried.lost or tried.unsure or 'holds'}{f', for {tried.times} times as long' if tried.times > 1 else ''}"
