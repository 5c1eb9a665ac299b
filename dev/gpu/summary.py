"""What came of the run-book, for a person: from the files alone, so of all runs that wrote them."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from pathlib import Path

from bench.pace import shipped
from bench.pace_points import points
from bench.sizing import error_bytes
from bench.sizing_answer import Answer, answer
from bench.sizing_public import errors_of, has_memory
from bench.sizing_rows import public_rows
from bench.sizing_shares import shares
from dev.gpu.forecast import told
from dev.gpu.item import Item
from dev.gpu.journal import FORECAST, PACE, STARTUPS, STATES, STEPS, Journal, Row
from dev.gpu.run import Tally
from dev.tried import Outcome


def summary(items: Sequence[Item], outcome: Tally, journal: Journal, shown: Path) -> str:
    """The summary. `shown`: the folder as a person sees it."""
    lines = [f"{len(outcome.done)} done, {len(outcome.before)} were done before, of {len(items)}"]
    lines += [f"  not measured: {name}: {why:.200}" for name, why in outcome.failed.items()]
    lines += [f"  left out: {name}: {why}" for name, why in outcome.left_out.items()]
    if outcome.no_time:
        lines.append(
            f"  no time was left for {', '.join(outcome.no_time)}: the same command goes on there"
        )
    lines += [f"  {torn}" for torn in journal.torn]
    lines += [*_sizing(journal), *_pace(journal), *_states(journal), *_forecast(journal)]
    models = shown / "models"
    lines.append(f"files: {shown}")
    if journal.rows(STARTUPS):
        lines.append(
            f"  python bench/sizing_public.py --rows {shown / STARTUPS} --configs {models}"
        )
    if journal.rows(PACE):
        lines.append(f"  python bench/pace.py {shown / PACE} --models {models} --as-shipped")
    return "\n".join(lines)


def _sizing(journal: Journal) -> list[str]:
    if not (journal.folder / STARTUPS).exists():
        return []
    rows = public_rows(journal.folder / STARTUPS)
    answers = [answer(row, journal.folder / "models") for row in rows]
    failed = sum("why" in row for row in rows)
    lines = [f"sizing: {len(rows)} start-ups, {failed} of them failed; {_given(answers)}"]
    if memory := [error_bytes(found) for found in answers if has_memory(found)]:
        lines.append(f"  memory for the pool: {shares(memory)}")
    return lines


def _given(answers: Sequence[Answer]) -> str:
    offs = [abs(errors["tokens"]) for found in answers if "tokens" in (errors := errors_of(found))]
    if not offs:
        return "no pool to compare"
    return (
        "tokens of the pool, its memory given: within 1 % for "
        f"{sum(off <= 0.01 for off in offs)} of {len(offs)}"
    )


def _pace(journal: Journal) -> list[str]:
    rows = journal.rows(PACE)
    if not rows:
        return []
    found, left = points(journal.folder / PACE, [journal.folder / "models"])
    lines = [f"pace: {len(rows)} points"]
    if answers := shipped(found):
        tpot, ttft = (
            [abs(off) for off in offs]
            for offs in zip(*((one.tpot_off, one.ttft_off) for one in answers), strict=True)
        )
        lines[0] += (
            f"; time per token: median error {statistics.median(tpot):.1%}, first token "
            f"{statistics.median(ttft):.1%}"
        )
    if left:
        lines.append(f"  {len(left)} are not predicted: {left[0].split(': ', 1)[-1]}")
    return [*lines, *map(_step, journal.rows(STEPS))]


def _step(row: Row) -> str:
    return (
        f"  a step takes {_ms(row['base_s'])} and {_ms(row['decode_s'])} for each request that "
        f"decodes, by {row['source']}"
    )


def _ms(seconds: float) -> str:
    return f"{seconds * 1000:.3g} ms"


def _states(journal: Journal) -> list[str]:
    rows = journal.rows(STATES)
    wrong = [
        f"  {row['id']}: {row['named']} {row['variant']}, wanted was {row['wanted']}"
        for row in rows
        if not row["right"]
    ]
    return (
        [f"states: {sum(row['right'] for row in rows)} of {len(rows)} named right", *wrong]
        if rows
        else []
    )


def _forecast(journal: Journal) -> list[str]:
    rows = [row for row in journal.rows(FORECAST) if row.get("forecast")]
    judged = [
        (row["change"], *(Outcome(**row[name]).judged() for name in ("forecast", "measured")))
        for row in rows
    ]
    return [f"forecast of {change}: {told(forecast, found)}" for change, forecast, found in judged]
