"""`--until-it-breaks` of simulate and what-if: the load at which the service level is lost, by
bisection, with what it may be off by.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence

from barostat.core.errors import InputError
from barostat.judge.experiments.breaking_point import BreakingPoint, breaking_point, rate_of
from barostat.judge.experiments.service_level import WITHIN_RATIO, stated
from barostat.shells.cli.simulate.too_long import too_long
from barostat.shells.reports.sheet.forms import as_text
from barostat.shells.reports.simulation.breaking import breaking_document, breaking_json
from barostat.twin.keeping_up import FEWEST
from barostat.twin.pace import Pace
from barostat.twin.request import Row
from barostat.twin.settings import Settings
from barostat.twin.summary import Slo

_FLAG = "--until-it-breaks"
Candidate = tuple[str, Settings, Sequence[Row], Sequence[Pace]]
"""Name, settings, requests, and paces: the expected one, then those that it may be as well."""


def find_and_print(candidates: Sequence[Candidate], slo: Slo, output: str, version: str) -> int:
    """Print where each is lost; 0 if the first holds the load as it is, 1 if not.

    Errors: InputError for a load that cannot be made denser, or is too short to tell.
    """
    if output not in ("table", "json"):
        raise InputError(f"comes as table or json, not as {output}", _FLAG)
    for _, _, rows, _ in candidates:
        if any(row.after_id is not None for row in rows):
            raise InputError(
                "these clients wait for their answers, so the load is their number: try "
                "more of them (closed:)",
                _FLAG,
            )
        if len(rows) < FEWEST:
            raise InputError(
                f"{len(rows)} requests are too few to see whether an engine keeps up; "
                f"{FEWEST} at least",
                _FLAG,
            )
        if rate_of(rows) == 0.0:
            raise InputError(
                f"all {len(rows):,} requests come at one instant: what has no rate cannot "
                "come faster",
                _FLAG,
            )
    found: list[BreakingPoint] = []
    for name, settings, rows, paces in candidates:
        if told := too_long(settings, rows):
            hopeless = stated(slo) and told.ratio > 1 - WITHIN_RATIO
            never = f"; so no load has {WITHIN_RATIO:.0%} good" if hopeless else ""
            print(f"barostat: {name + ': ' if name else ''}{told.words}{never}", file=sys.stderr)
        print(f"barostat: looking for the load that breaks {name or 'it'}", file=sys.stderr)
        found.append(breaking_point(name, settings, rows, paces, slo))
    if output == "json":
        print(json.dumps(breaking_json(found, slo, version), indent=2))
    else:
        print(as_text(breaking_document(found, slo)), end="")
    holds_at = found[0].expected.holds_at
    return 0 if holds_at is not None and holds_at >= 1 else 1
