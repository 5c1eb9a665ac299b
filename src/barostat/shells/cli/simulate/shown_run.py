"""A simulated run as data, as a document, on standard output and as a page in a file."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from barostat.core.errors import InputError

if TYPE_CHECKING:
    from barostat.shells.cli.simulate.simulated_run import Simulated
    from barostat.shells.reports.sheet.blocks import Document


def run_json(found: Simulated) -> dict[str, Any]:
    """Return what `simulate -o json` prints."""
    from barostat.shells.reports.simulation.closing import closing
    from barostat.shells.reports.simulation.data import simulation_json
    from barostat.twin.keeping_up import keeping_up
    from barostat.twin.settings import would_not_start

    plain = simulation_json(found.settings, found.outcome, found.summary, found.ends)
    plain |= {
        "wouldStart": not would_not_start(found.settings),
        "keepsUp": keeping_up(found.outcome).answer,
        "verdict": closing(found.settings, found.outcome, found.summary, found.slo),
        "notes": list(found.notes),
    }
    if found.ranks is not None:
        from barostat.shells.reports.simulation.ranks import ranks_json

        plain |= ranks_json(found.ranks)
    if found.pair is not None:
        from barostat.shells.reports.simulation.pair import pair_json

        plain |= pair_json(found.pair)
    return plain


def document_of(found: Simulated) -> Document:
    """Return the run as a document, each of several engines in a part of its own."""
    from barostat.shells.reports.simulation.data import engine_line
    from barostat.shells.reports.simulation.document import run_document
    from barostat.shells.reports.simulation.pair import pair_section
    from barostat.shells.reports.simulation.ranks import ranks_section

    engine, parts = engine_line(found.settings, found.version), []
    if found.ranks is not None:
        engine += f"; {len(found.ranks.summaries)} data-parallel ranks like this"
        parts.append(ranks_section(found.ranks))
    if found.pair is not None:
        engine += "; a prefill engine like this, and a decode engine: "
        engine += engine_line(found.pair.decode_settings, found.version)
        parts.append(pair_section(found.pair))
    return run_document(
        found.title,
        found.settings,
        found.outcome,
        found.summary,
        found.slo,
        engine=engine,
        ends=found.ends,
        usable_blocks=found.usable_blocks,
        parts=parts,
        notes=found.notes,
    )


def show(document: Document, output: str, page: Path | None) -> None:
    """Print the run in the form of `-o`, unless that is json, and write its page if one is asked for.

    Errors: InputError for a file that cannot be written.
    """
    from barostat.shells.reports.sheet import forms

    if output != "json":
        sys.stdout.write(forms.shown(document, output))
    if page is not None:
        try:
            page.write_text(forms.as_html(document), encoding="utf-8")
        except OSError as error:
            raise InputError(error.strerror or str(error), str(page)) from None
