"""Each term of the memory with its own error, so that the worst one is seen, and the rows that miss
the goal.

A term is held against what the row's log says of it; where a log is silent the term is not in its
row of the table. `rounding`: what a logged pool differs from ours once the memory is given, in GiB
of that memory: blocks, groups, padding.
"""

from __future__ import annotations

import statistics
from typing import Any

from bench.sizing_answer import Answer

from barostat.core.units import GIB

GOAL_RATIO, GOAL_GIB = 0.03, 0.5
_LOGGED = {
    "weights": "weights_gib",
    "activations": "activation_gib",
    "non-torch": "non_torch_gib",
    "graphs": "graph_capture_gib",
}


def terms_of(found: Answer) -> dict[str, float]:
    """Ours less theirs in GiB, by term. Graphs only where the whole of them is reckoned: a charge
    to the budget is another number.
    """
    observed, whole, given = found.row["observed"], found.whole, found.given
    errors: dict[str, float] = {}
    if whole is not None and whole.spent is not None:
        for part in whole.spent.parts:
            logged = observed.get(_LOGGED.get(part.name, ""))
            if logged is not None and not (part.name == "graphs" and whole.spent.graphs_counted):
                # What the engine logs of the weights has the places of adapters in it: it keeps
                # them while it loads.
                size = part.value + (whole.spent.adapters.value if part.name == "weights" else 0.0)
                errors[part.name] = size / GIB - logged
        if observed.get("available_kv_gib") is not None:
            errors["KV memory"] = whole.available.value / GIB - observed["available_kv_gib"]
    if (
        given is not None
        and given.pool.tokens
        and observed.get("kv_tokens")
        and observed.get("available_kv_gib")
    ):
        errors["rounding"] = (given.pool.tokens / observed["kv_tokens"] - 1) * observed[
            "available_kv_gib"
        ]
    return errors


def term_table(answers: list[Answer]) -> list[str]:
    """A line per term: how many logs say it, the median of its error with and without sign, what
    nine tenths stay below, the worst row.
    """
    by_term: dict[str, list[tuple[float, str]]] = {}
    for found in answers:
        for name, error in terms_of(found).items():
            by_term.setdefault(name, []).append((error, found.row["id"]))
    lines = [
        "| term | rows | median GiB | median of the size | nine tenths below | worst |",
        "|---|---|---|---|---|---|",
    ]
    for name in (*_LOGGED, "rounding", "KV memory"):
        errors = by_term.get(name, [])
        if not errors:
            continue
        sizes = sorted(abs(error) for error, _ in errors)
        worst, row = max(errors, key=lambda pair: abs(pair[0]))
        lines.append(
            f"| {name} | {len(errors)} | "
            f"{statistics.median(error for error, _ in errors):+.2f} | "
            f"{statistics.median(sizes):.2f} "
            f"| {sizes[max(0, -(-9 * len(sizes) // 10) - 1)]:.2f} | {row} {worst:+.2f} |"
        )
    return lines


def meets_goal(absolute_gib: float, relative: float) -> bool:
    """True within 3 % or half a GiB."""
    return abs(relative) <= GOAL_RATIO or abs(absolute_gib) <= GOAL_GIB


def missing_rows(two: list[tuple[Answer, float, float]], reasons: dict[str, str]) -> list[str]:
    """The rows of part 2 beyond the goal, each with its terms and the reason that is on record.
    `two`: answer, GiB off, ratio off.
    """
    lines = []
    for found, absolute, relative in sorted(two, key=lambda item: -abs(item[2])):
        if meets_goal(absolute, relative):
            continue
        row: dict[str, Any] = found.row
        assert found.whole is not None
        assert found.whole.spent is not None
        parts = ", ".join(f"{part.name} {part.value / GIB:.2f}" for part in found.whole.spent.parts)
        logged = ", ".join(
            f"{name} {row['observed'][key]:.2f}"
            for name, key in _LOGGED.items()
            if row["observed"].get(key) is not None
        )
        lines.append(
            f"- {row['id']} ({row.get('model')}, {row.get('gpu')}, "
            f"{row.get('vllm_version')}): {relative:+.1%}, {absolute:+.2f} GiB; "
            f"reckoned {parts}; logged {logged or 'no part'}. "
            f"{reasons.get(row['id'], 'no reason known')}"
        )
    return lines
