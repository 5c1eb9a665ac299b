"""What a benchmark found, kept in bench/results: docs/reference/proof.md is made from these files.

A benchmark that can keep its result takes `--keep`. Without it nothing in the tree changes.
"""

from __future__ import annotations

import json
import statistics
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from datetime import date
from pathlib import Path

FOLDER = Path(__file__).with_name("results")


@dataclass(frozen=True)
class Figure:
    """One figure. `value`: as it is shown. `cases`: that it rests on. `vendor`, `card`: of the
    cards that were measured; empty where none was.
    """

    what: str
    value: str
    cases: int
    vendor: str = ""
    card: str = ""


@dataclass(frozen=True)
class Kept:
    """One benchmark's result. `command`: runs it again. `source`: where its cases come from.
    `unknown`: what it does not tell, a sentence each.
    """

    command: str
    source: str
    figures: list[Figure]
    unknown: list[str]
    made: str = field(default_factory=lambda: date.today().isoformat())


def keep(name: str, found: Kept) -> Path:
    """Write the result; return the file."""
    FOLDER.mkdir(exist_ok=True)
    path = FOLDER / f"{name}.json"
    path.write_text(json.dumps(asdict(found), indent=2, ensure_ascii=False) + "\n")
    return path


def kept(name: str, folder: Path = FOLDER) -> Kept | None:
    """Return the result of that name, None where none was kept."""
    path = folder / f"{name}.json"
    if not path.exists():
        return None
    read = json.loads(path.read_text())
    return Kept(**{**read, "figures": [Figure(**one) for one in read["figures"]]})


def by_card(
    rows: Sequence[tuple[str, str, float]], what: str, shown: str = "{:.1%}"
) -> list[Figure]:
    """Median and nine tenths of the errors: of all, of each vendor and of each card. Rows: vendor,
    card, error.
    """
    groups: dict[tuple[str, str], list[float]] = {}
    for vendor, card, error in sorted(rows):
        for group in (("", ""), (vendor, ""), (vendor, card)):
            groups.setdefault(group, []).append(error)
    return [
        Figure(what, _spread(sorted(errors), shown), len(errors), vendor, card)
        for (vendor, card), errors in sorted(groups.items())
    ]


def _spread(ordered: Sequence[float], shown: str) -> str:
    ninth = ordered[-(-9 * len(ordered) // 10) - 1]
    told = shown.format(statistics.median(ordered))
    return f"{told} median, {shown.format(ninth)} for nine tenths"
