"""The shares that bench/sizing.py reports, and its table of peers."""

from __future__ import annotations

import statistics
from typing import Any


def off(ours: float | None, theirs: float | None) -> float | None:
    """Relative error, or None where one is missing."""
    return None if not theirs or ours is None else ours / theirs - 1


def shares(errors: list[tuple[float, float]]) -> str:
    """Median and ninth tenth of the absolute error, and the shares within 3 % or 0.5 GiB (the goal:
    nine tenths), 10 % or 0.75 GiB.
    """
    if not errors:
        return "no rows"
    sizes = sorted(abs(relative) for _, relative in errors)
    median, ninth = statistics.median(sizes), sizes[max(0, -(-9 * len(sizes) // 10) - 1)]
    good = sum(1 for absolute, relative in errors if abs(relative) <= 0.10 or abs(absolute) <= 0.75)
    close = sum(1 for absolute, relative in errors if abs(relative) <= 0.03 or abs(absolute) <= 0.5)
    return (
        f"n={len(errors)}, median {median:.1%}, nine tenths within {ninth:.1%}, within 3 % "
        f"or 0.5 GiB: {close / len(errors):.0%}, "
        f"within 10 % or 0.75 GiB: {good / len(errors):.0%}"
    )


def part_one_shares(
    rows: list[dict[str, Any]], theirs: tuple[dict[str, Any], dict[str, Any]] | None
) -> str:
    """How many plain rows' tokens are within 1 %, and hybrids' concurrency within 2 %; a row
    without an answer counts as wrong.
    """
    plain = good = mixed = fine = 0
    for r in rows:
        tokens, concurrency = r["tokens"], r["concurrency"]
        if (tokens is None or r["pp"] != 1) if r["plain"] else concurrency is None:
            continue
        if theirs is not None:
            given, observed = theirs[0].get(r["id"], {}), theirs[1][r["id"]]
            tokens, concurrency = (
                off(given.get("tokens"), observed.get("kv_tokens")),
                off(given.get("concurrency"), observed.get("max_concurrency")),
            )
        if r["plain"]:
            plain, good = plain + 1, good + (tokens is not None and abs(tokens) <= 0.01)
        else:
            mixed, fine = mixed + 1, fine + (concurrency is not None and abs(concurrency) <= 0.02)
    return f"plain {good} of {plain}, hybrids {fine} of {mixed}"


def peer_table(
    rows: list[dict[str, Any]],
    two: dict[str, float],
    ours: list[str],
    observed: dict[str, Any],
    peers: dict[str, dict[str, Any]],
) -> list[str]:
    """Ours, the naive formula and every peer that was asked, over the same rows.

    `rows`: of part 1. `two`: logged available memory in GiB of part 2's rows. `ours`: the lines of
    our own two.
    """
    lines = [
        line.rstrip("|") + f"| {part_one_shares(rows, None) if 'barostat' in line else 'n/a'} |"
        for line in ours
    ]
    notes = (
        []
        if peers
        else ["", "the peers (llm-d-planner, hf-mem, aiconfigurator) are asked with --peers"]
    )
    for name, found in peers.items():
        given = found["answers"]
        errors = []
        for row, theirs in two.items():
            if (value := given.get(row, {}).get("available_gib")) is not None:
                errors.append((value - theirs, (value - theirs) / abs(theirs) if theirs else 0.0))
        lines.append(
            f"| {name} | {shares(errors)} | "
            f"{part_one_shares(rows, (given, observed)) if given else 'no rows'} |"
        )
        refused = found.get("refused", {})
        example = "".join(
            f"; refuses {len(refused)} rows, as {row}: {why}"
            for row, why in list(refused.items())[:1]
        )
        notes += ["", f"{name}: {found['note']}{example}"]
    return lines + notes
