"""docs/reference/proof.md: what Barostat's figures were measured against, made from the results that
the benchmarks keep (bench/results).
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from bench.kept import FOLDER, Figure, Kept, kept  # noqa: E402

_INTRODUCTION = """\
# Proof

What Barostat computes, beside what real engines did. Every table is made from a file that a benchmark wrote
(`bench/results`); the command under it writes the file again. "Cases" is the number of cases that a figure rests on.
A figure with a vendor and a card is of measurements on that card.

"""
SECTIONS: tuple[tuple[str, str, str, str], ...] = (
    (
        "decisions",
        "Decisions",
        "The twin's scheduler beside vLLM's own, step by step, to the order of the free blocks.",
        "python bench/decisions.py --keep",
    ),
    (
        "strangers",
        "Preemptions on strangers' cards",
        "Preemptions, and whether settings preempt at all, as others counted them on their cards, beside the twin's.",
        "python bench/strangers.py --keep",
    ),
    (
        "start-ups",
        "Start-ups",
        "The KV cache that `plan` predicts, beside what engines logged when they started.",
        "python bench/sizing.py CASES.jsonl --configs DIR --out FILE.jsonl --keep",
    ),
    (
        "start-ups-public",
        "Start-ups from public pages, by vendor and card",
        "The KV cache that `plan` predicts, beside what engines logged on cards of both vendors.",
        "python bench/sizing_public.py --rows bench/sizing_public.yaml bench/sizing_fresh.yaml bench/sizing_amd.yaml --keep",
    ),
    (
        "step-times",
        "Step times",
        "Time per token and to the first token from model and card alone, beside measured ones.",
        "python bench/pace.py POINTS.jsonl --models DIR --as-shipped --keep",
    ),
    (
        "step-times-left-out",
        "Step times of what the fit has not seen",
        "The same, where a card, a model or a version of vLLM was left out of the fit, each in turn.",
        "python bench/pace.py POINTS.jsonl --models DIR --leave-out card model version --keep",
    ),
    (
        "forecasts",
        "Forecasts",
        "The twin calibrated on a running engine, then asked for loads that the engine has not seen.",
        "python bench/forecast_reality.py --keep",
    ),
    (
        "admission",
        "Admission",
        "The gateway's admission beside an oracle that knows every length, on published traces.",
        "python bench/admission.py TRACES --keep",
    ),
    (
        "two-pools",
        "One pool or two",
        "Engines that serve all prompts beside as many that are divided into a pool for short and one for long prompts, on the twin.",
        "python bench/two_pools.py TRACES --keep",
    ),
    (
        "verdicts",
        "Verdicts",
        "The cause that `diagnose` names, beside the one that the thread of the incident settled on.",
        "python bench/incidents.py CASES.jsonl --out FILE --keep",
    ),
)
"""File in bench/results, heading, what is compared, and the command that keeps it."""


def proof_page(folder: Path = FOLDER) -> str:
    """The page: a section for each benchmark; one that kept nothing says so."""
    parts = [_INTRODUCTION]
    for name, title, compared, command in SECTIONS:
        found = kept(name, folder)
        body = _missing(command) if found is None else _section(found)
        parts.append(f"## {title}\n\n{compared}\n\n{body}")
    return "\n".join(parts)


def _missing(command: str) -> str:
    return f"No result is on file. `{command}` makes one.\n"


def _section(found: Kept) -> str:
    rows = ["| figure | vendor | card | cases | value |", "|---|---|---|---:|---|"]
    rows += [_row(one) for one in found.figures]
    about = [
        f"*Cases from*: {found.source}.",
        f"*Run again*: `{found.command}` (this result: {found.made}).",
        "*Not known*:",
    ]
    return _lines([*rows, "", *_apart(about), *(f"- {one}" for one in found.unknown)])


def _row(one: Figure) -> str:
    cells = (one.what, one.vendor or "-", one.card or "all", f"{one.cases:,}", one.value)
    return f"| {' | '.join(cells)} |"


def _apart(lines: Iterable[str]) -> list[str]:
    return [part for line in lines for part in (line, "")]


def _lines(lines: Iterable[str]) -> str:
    return "".join(f"{line}\n" for line in lines)
