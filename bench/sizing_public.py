"""The planner against start-ups from public threads and logs that it was never fitted to.

    python bench/sizing_public.py [--rows FILE.yaml ...] [--configs DIR] [--keep]

Rows were written down before the planner was run on them; the rules for DeepSeek V4 before 0.29 and
for hybrids without prefix caching were found afterwards with the help of five of them (44376,
51041, the L40S). Part 1: tokens, concurrency and the longest length given the logged memory. Part
2: the memory itself, for rows that name their card, and its errors by vendor and card. `--keep` writes
bench/results/start-ups-public.json.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))
from bench.kept import Figure, Kept, by_card, keep  # noqa: E402
from bench.sizing import error_bytes, is_plain  # noqa: E402
from bench.sizing_answer import Answer, answer  # noqa: E402
from bench.sizing_rows import public_rows  # noqa: E402
from bench.sizing_shares import off, shares  # noqa: E402
from bench.sizing_terms import term_table  # noqa: E402

from barostat.core.units import GIB  # noqa: E402

FILES = tuple(f"bench/sizing_{name}.yaml" for name in ("public", "fresh", "amd"))
"""Of public start-ups; bench/sizing_h100.yaml has our own."""


def errors_of(found: Answer) -> dict[str, float]:
    """Relative errors of what the row logs, given its memory."""
    observed, ours = found.row["observed"], found.given
    if ours is None:
        return {}
    pairs = {
        "tokens": (
            None if found.row.get("given") == "tokens" else ours.pool.tokens,
            observed.get("kv_tokens"),
        ),
        "concurrency": (ours.pool.concurrency, observed.get("max_concurrency")),
        "longest": (ours.pool.longest_tokens, observed.get("estimated_max_model_len")),
    }
    return {
        name: error
        for name, (mine, theirs) in pairs.items()
        if (error := off(mine, theirs)) is not None
    }


def line_of(found: Answer) -> str:
    """One row as text."""
    parts = [f"{name} {error:+.2%}" for name, error in errors_of(found).items()]
    if found.given is not None:
        refused = found.row.get("outcome") == "does not fit"
        by_memory = not refused or found.row["observed"].get("available_kv_gib") is not None
        told = found.given if by_memory else found.whole or found.given
        parts.append(
            f"{'refused' if not told.fits else 'starts'}{'' if told.fits != refused else ', WRONG'}"
        )
    if has_memory(found):
        absolute, relative = error_bytes(found)
        assert found.whole is not None
        parts.append(
            f"available KV memory {absolute:+.2f} GiB of "
            f"{found.whole.available.value / GIB - absolute:.2f} ({relative:+.0%})"
        )
    return (
        f"- {found.row['id']} ({found.row['model']}, {found.row.get('vllm_version')}): "
        f"{'; '.join(parts) or found.why}"
    )


def has_memory(found: Answer) -> bool:
    """True for a row of part 2: its card, its memory and a model whose own weights are known."""
    row = found.row
    known = (
        row.get("gpu")
        and row["observed"].get("available_kv_gib") is not None
        and (not row.get("shape") or row.get("quantization") or row.get("dtype"))
    )
    return (
        bool(known)
        and found.whole is not None
        and not row.get("other_flags", {}).get("kv_cache_memory_bytes")
    )


def report(answers: list[Answer]) -> str:
    """Shares, then every row."""
    plain, mixed, memory = [], [], [error_bytes(found) for found in answers if has_memory(found)]
    for found in answers:
        errors = errors_of(found)
        if found.given is None or not errors:
            continue
        if is_plain(found.given) and "tokens" in errors:
            plain.append(abs(errors["tokens"]))
        elif not is_plain(found.given):
            mixed.append(
                abs(errors.get("concurrency", errors.get("tokens", errors.get("longest", 1.0))))
            )
    lines = [f"plain rows: tokens within 1 % for {sum(e <= 0.01 for e in plain)} of {len(plain)}"]
    if mixed:
        lines.append(
            f"hybrid rows: within 2 % for {sum(e <= 0.02 for e in mixed)} of {len(mixed)}, "
            f"median {statistics.median(mixed):.2%}"
        )
    lines.append(f"available KV memory: {shares(memory)}")
    return "\n".join(
        [
            *lines,
            "",
            *term_table([found for found in answers if has_memory(found)]),
            "",
            "| vendor | card | rows | error of the KV memory |",
            "|---|---|---|---|",
            *(
                f"| {one.vendor or 'all'} | {one.card or 'all'} | {one.cases} | {one.value} |"
                for one in errors_by_card(answers)
            ),
            "",
            *map(line_of, answers),
        ]
    )


def errors_by_card(answers: list[Answer]) -> list[Figure]:
    """Relative errors of the memory: of all rows of part 2, of each vendor and of each card."""
    rows = []
    for found in answers:
        card = None if found.whole is None else found.whole.request.card
        if card is not None and has_memory(found):
            rows.append((card.vendor, card.name, abs(error_bytes(found)[1])))
    return by_card(rows, "KV memory from model, card, flags and version: error")


def _kept(answers: list[Answer]) -> Kept:
    return Kept(
        f"python bench/sizing_public.py --rows {' '.join(FILES)} --keep",
        "public start-ups on cards of both vendors, each written down before the planner was run on it",
        errors_by_card(answers),
        ["Some of these rows taught the planner a rule afterwards: docs/decisions/memory-model.md has the figures as found.",
         "Rows of one page are not independent; several cards have one or two rows."],
    )  # fmt: skip


def main() -> int:
    """Answer every row and print the report."""
    asked = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    asked.add_argument(
        "--rows",
        type=Path,
        nargs="+",
        default=[Path(__file__).with_name("sizing_public.yaml")],
    )
    asked.add_argument("--configs", type=Path, default=Path())
    asked.add_argument("--keep", action="store_true", help="write bench/results")
    given = asked.parse_args()
    answers = [answer(row, given.configs) for path in given.rows for row in public_rows(path)]
    print(report(answers))
    if given.keep:
        keep("start-ups-public", _kept(answers))
    return 0


if __name__ == "__main__":
    sys.exit(main())
