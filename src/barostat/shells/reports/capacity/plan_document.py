"""A plan, or several side by side: does it fit, where the memory goes, which limits follow."""

from __future__ import annotations

from collections.abc import Sequence

from barostat.core.units import gib
from barostat.judge.sizing.answer import CapacityAnswer
from barostat.judge.sizing.plan import summary
from barostat.shells.reports.capacity.plan_parts import limit_values, memory_parts, where
from barostat.shells.reports.sheet.blocks import (
    Block,
    Document,
    Drawn,
    Facts,
    Footer,
    Heading,
    Items,
    Listing,
    Only,
    Paragraph,
    Section,
    Table,
    Text,
    Verdict,
    code,
    named,
)
from barostat.shells.reports.sheet.drawing import Box, Drawing, Entry, Figure

Alternative = tuple[str, CapacityAnswer | None, str]
"""What was asked, the answer, or why there is none."""
_FIRST_TO_GO = ("weights GiB/GPU", "max seqs", "per M tokens", "KV GiB/GPU")
"""Columns of a comparison that a narrow terminal leaves out."""
_WIDTH = 800.0
_SHOWN_BYTES = 1e7
_BAR_SIGNS = 60
_FILLS = {
    "weights": "█",
    "LoRA adapters": "▚",
    "activations": "▓",
    "non-torch": "▒",
    "graphs": "░",
    "KV cache": "■",
    "unused": "·",
}


def plan_document(answer: CapacityAnswer) -> Document:
    """One plan."""
    found = answer.plan
    changes: list[Text] = [
        (code(change.arguments), f": {change.cost}; {change.tokens:,} tokens")
        for change in answer.changes
    ]
    todo: Block = Items(changes, numbered=True)
    if not changes:
        todo = Paragraph("No single change makes it fit; a smaller model or more GPUs would.")
    limits = limit_values(answer)
    rows = [("limit", "value", "because"), *limits]
    notes = (
        *(f"prediction was off: {note}" for note in found.off_by),
        *answer.derived.pools,
        *found.assumptions,
    )
    would = "" if found.fits else "would "
    blocks = (
        Heading("plan", found.request.model_name, f"{found.request.model.name} on {where(answer)}"),
        _verdict(answer),
        Facts(list(summary(found).items())),
        _memory([("", answer)]),
        Only(("terminal",), [Section("Memory of one GPU", _memory_lines(answer))]),
        Section("What makes it fit", [] if found.fits else [todo]),
        Section(f"Limits that {would}follow", [Table(rows, (0, 2), mono=(0,))] if limits else []),
        Listing("Notes", notes),
        Footer("the same as data: barostat plan -o json"),
    )
    return Document(f"Plan: {found.request.model_name}", blocks)


def comparison_document(
    model: str, shown: Sequence[Alternative], rows: Sequence[Sequence[str]], note: str = ""
) -> Document:
    """Several plans. `rows`: the table, the heading first; `note`: what to know of it."""
    fitting = [(name, answer) for name, answer, _ in shown if answer is not None and answer.starts]
    answered = [(name, answer) for name, answer, _ in shown if answer is not None]
    if fitting:
        name, best = max(
            fitting, key=lambda one: (one[1].plan.pool.tokens / max(1, one[1].plan.gpus), one[0])
        )
        sentence = (
            f"{len(fitting)} of {len(shown)} start; the most room per GPU is on {name}: "
            f"{best.plan.pool.tokens:,} tokens "
            f"on {best.plan.gpus} {'GPU' if best.plan.gpus == 1 else 'GPUs'}"
        )
        card = Verdict("none", "FITS", ", ".join(name for name, _ in fitting), sentence)
    else:
        card = Verdict("critical", "DOES NOT FIT", "none of them starts", "")
    refused = [named(name, answer.why_not) for name, answer in answered if not answer.starts]
    wrong = [named(name, why) for name, answer, why in shown if answer is None]
    blocks: list[Block] = [
        Heading("plan", model, f"{len(shown)} alternatives"),
        card,
        _verdict_first(rows),
        *([Paragraph(note, "soft")] if note else []),
        _memory(answered),
        Listing("Ruled out", [*refused, *wrong]),
        Footer("the same as data: barostat plan --compare -o json"),
    ]
    return Document(f"Plans: {model}", blocks)


def _verdict_first(rows: Sequence[Sequence[str]]) -> Table:
    """The table with the deciding column beside the names, in sight on a phone too. A reason is a
    text, yes or no is not.
    """
    at = rows[0].index("starts")
    moved = [(row[0], row[at], *row[1:at], *row[at + 1 :]) for row in rows]
    has_reason = any(len(row[at]) > len("yes") for row in rows[1:])
    to_go = [moved[0].index(name) for name in _FIRST_TO_GO if name in moved[0]]
    return Table(moved, (0, 1) if has_reason else (0,), first_to_go=to_go)


def _verdict(answer: CapacityAnswer) -> Verdict:
    found = answer.plan
    if not answer.starts:
        return Verdict(
            "critical",
            "REFUSED" if found.fits else "DOES NOT FIT",
            "It does not start",
            f"{answer.why_not}.",
        )
    sentence = (
        f"{found.pool.tokens:,} tokens of KV cache: {found.pool.concurrency:.2f} requests of "
        f"{found.flags.max_model_len:,} tokens at once."
    )
    if answer.doubt:
        return Verdict(
            "warning", "MAY NOT START", "It fits, and may not start", f"{answer.doubt}. {sentence}"
        )
    return Verdict("none", "FITS", "It fits", sentence)


def _memory(shown: Sequence[tuple[str, CapacityAnswer]]) -> Section:
    """Where one GPU's memory goes, a bar for each, all on one scale, with the end of the card;
    empty if no card's size is known.
    """
    bars = [
        (name, parts, _total(answer)) for name, answer in shown if (parts := memory_parts(answer))
    ]
    largest = max(
        (max(total, sum(size for _, size in parts)) for _, parts, total in bars), default=0
    )
    figures = [
        Figure(_bar(parts, total, largest or 1.0), name, legend=_legend(parts, total), wide=True)
        for name, parts, total in bars
    ]
    return Section("Memory of one GPU", [Drawn(figures)])


def _memory_lines(answer: CapacityAnswer) -> list[Block]:
    """The bar of signs, and what each sign is; nothing if the card's size is not known."""
    parts = memory_parts(answer)
    total = sum(size for _, size in parts)
    cells, so_far = "", 0.0
    for name, size in parts:
        so_far += size
        cells += _FILLS.get(name, "?") * (round(so_far / total * _BAR_SIGNS) - len(cells))
    entries = [(f"{_FILLS.get(name, '?')} {name}", gib(size)) for name, size in parts]
    return [Paragraph(cells), Facts(entries)] if parts else []


def _total(answer: CapacityAnswer) -> float:
    return answer.plan.total.value if answer.plan.total is not None else 0.0


def _bar(parts: Sequence[tuple[str, float]], total: float, largest: float) -> Drawing:
    x, boxes = 0.0, []
    for name, size in parts:
        width = max(0.0, size) / largest * _WIDTH
        boxes.append(Box(x, 4, width, 30, _kind(name), f"{name} {gib(size)}"))
        x += width
    end = min(_WIDTH - 2, total / largest * _WIDTH)
    boxes.append(Box(end, 0, 2, 38, "is-end", f"end of the card: {gib(total)}"))
    label = ", ".join(f"{name} {gib(size)}" for name, size in parts)
    return Drawing(label, round(_WIDTH), 38, boxes, stretched=True)


def _legend(parts: Sequence[tuple[str, float]], total: float) -> list[Entry]:
    return [
        *(
            Entry(f"{name} {gib(size)}", _kind(name))
            for name, size in parts
            if size >= _SHOWN_BYTES
        ),
        Entry(f"the card has {gib(total)}", "is-end"),
    ]


def _kind(part: str) -> str:
    return f"is-{part.replace(' ', '-').lower()}"
