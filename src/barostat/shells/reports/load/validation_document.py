"""A validation as a document."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from barostat.core.diagnosis import Severity
from barostat.core.units import figure
from barostat.judge.load_test.knee import Knee, Tried
from barostat.judge.load_test.proof import Check
from barostat.shells.reports.json_text import json_text
from barostat.shells.reports.load.document import latencies, over_time, tiles
from barostat.shells.reports.load.validation import (
    WORDS,
    Validated,
    certificate_text,
    junit,
    knee_sentence,
    validation_json,
)
from barostat.shells.reports.sheet.blocks import (
    Block,
    Document,
    Facts,
    Footer,
    Heading,
    Only,
    Paragraph,
    Section,
    Table,
    Tiles,
    Verdict,
)
from barostat.shells.reports.sheet.forms import shown
from barostat.shells.reports.simulation.data import format_seconds

_SEVERITY: Mapping[str, Severity] = {"pass": "none", "fail": "critical", "unknown": "warning"}


def rendered(found: Validated, form: str) -> str:
    """Return the validation as `-o` asks for it."""
    match form:
        case "json":
            return f"{json_text(validation_json(found))}\n"
        case "certificate":
            return certificate_text(found)
        case "junit":
            return junit(found)
        case _:
            return shown(validation_document(found), form)


def validation_document(found: Validated) -> Document:
    """Return the report: the verdict, what was checked, the knee, and each phase."""
    proof = found.proof
    name = f" ({found.limits_name})" if found.limits_name else ""
    limits = f"{found.limits_file}{name}"
    worst = [one for one in proof.checks if one.standing in ("fail", "unknown")]
    word = WORDS[proof.verdict] if proof.verdict != "unknown" else "CANNOT TELL"
    card = Verdict(
        _SEVERITY[proof.verdict],
        word,
        found.sentence,
        "; ".join(f"{one.phase}: {one.told}" for one in worst),
    )
    rows = [
        ("", "phase", "what", "measured"),
        *((WORDS[one.standing], one.phase, one.name, one.told) for one in proof.checks),
    ]
    blocks: list[Block] = [
        Heading("validate", found.target.named, f"{limits} · {found.at}"),
        card,
        Table(rows, words=(0, 1, 2, 3), shorter=_short(proof.checks)),
    ]
    if proof.knee is not None:
        blocks.append(_knee(proof.knee))
    for phase in proof.phases:
        measured = (
            Paragraph(phase.traffic, "soft"),
            Tiles(tiles(phase.found, found.slo)),
            over_time(phase.found, found.slo),
            latencies(phase.found),
        )
        blocks.append(Only(("html",), [Section(phase.name, measured)]))
    flags = ", ".join(f"{name}={value}" for name, value in found.target.flags)
    tested = (("limits", found.digest), ("engine", flags or "its metrics show no settings"))
    blocks.append(Section("What was tested", [Facts(tested)]))
    blocks.append(Footer("the same as data: barostat validate -o json"))
    return Document(f"Barostat: {found.limits_file} on {found.target.model}", blocks)


def _short(checks: Sequence[Check]) -> list[tuple[str, str, str]]:
    """Standing, phase (once), what was measured."""
    rows, before = [("", "phase", "measured")], ""
    for one in checks:
        phase = "" if one.phase == before else one.phase
        rows.append((WORDS[one.standing], phase, one.told))
        before = one.phase
    return rows


def _knee(knee: Knee) -> Section:
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
    return Section("The knee", [Paragraph(knee_sentence(knee)), Table(rows, words=(1,))])


def _found(tried: Tried) -> str:
    return f"{tried.lost or tried.unsure or 'holds'}{f', for {tried.times} times as long' if tried.times > 1 else ''}"
