"""A plan, or several, as one HTML page that needs nothing else: does it fit, where the memory goes,
which limits follow.
"""

from __future__ import annotations

from collections.abc import Sequence

from barostat.core.units import gib
from barostat.judge.sizing.answer import CapacityAnswer
from barostat.judge.sizing.plan import summary
from barostat.shells.reports.capacity.plan_parts import limit_values, memory_parts, where
from barostat.shells.reports.sheet.page import facts, footer, heading, items, page, table, verdict
from barostat.shells.reports.sheet.safe_text import escape

Alternative = tuple[str, CapacityAnswer | None, str]
"""What was asked, the answer, or why there is none."""
_WIDTH = 800.0
_SHOWN_BYTES = 1e7


def plan_html(answer: CapacityAnswer) -> str:
    """The page of one plan."""
    found = answer.plan
    changes = [
        f"<code>{escape(change.arguments)}</code>: {escape(change.cost)}; {change.tokens:,} tokens"
        for change in answer.changes
    ]
    mend = "<p>No single change makes it fit; a smaller model or more GPUs would.</p>"
    todo = (
        ""
        if found.fits
        else f"<h2>What makes it fit</h2>{items(changes, 'ol') if changes else mend}"
    )
    limits = limit_values(answer)
    head = f"<h2>Limits that {'' if found.fits else 'would '}follow</h2>"
    notes = (
        *(f"prediction was off: {note}" for note in found.off_by),
        *answer.derived.pools,
        *found.assumptions,
    )
    body = (
        f"{heading('plan', found.request.model_name, f'on {where(answer)}')}{_verdict(answer)}"
        f"{facts(list(summary(found).items()))}{_memory([('', answer)])}{todo}"
        + (
            head + table([("limit", "value", "because"), *limits], (0, 2), mono=(0,))
            if limits
            else ""
        )
        + (f"<h2>To know</h2>{items([escape(note) for note in notes])}" if notes else "")
        + footer("the same as data: barostat plan -o json")
    )
    return page(f"Plan: {found.request.model_name}", body)


def comparison_html(
    model: str, shown: Sequence[Alternative], rows: Sequence[Sequence[str]], note: str = ""
) -> str:
    """The page of a comparison. `rows`: its table, the heading first; `note`: what to know of it."""
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
        card = verdict("none", "FITS", ", ".join(name for name, _ in fitting), sentence)
    else:
        card = verdict("critical", "DOES NOT FIT", "none of them starts", "")
    wrong = [
        f"<b>{escape(name)}</b>: {escape(why)}" for name, answer, why in shown if answer is None
    ]
    refused = [
        f"<b>{escape(name)}</b>: {escape(answer.why_not)}"
        for name, answer in answered
        if not answer.starts
    ]
    said = f"<h2>Ruled out</h2>{items([*refused, *wrong])}" if refused or wrong else ""
    below = f"<p class='soft'>{escape(note)}</p>" if note else ""
    body = (
        f"{heading('plan', model, f'{len(shown)} alternatives')}{card}"
        f"{_verdict_first(rows)}{below}{_memory(answered)}{said}"
        f"{footer('the same as data: barostat plan --compare -o json')}"
    )
    return page(f"Plans: {model}", body)


def _verdict_first(rows: Sequence[Sequence[str]]) -> str:
    """The table with the deciding column beside the names, in sight on a phone too. A reason is a
    text, yes or no is not.
    """
    at = rows[0].index("starts")
    moved = [(row[0], row[at], *row[1:at], *row[at + 1 :]) for row in rows]
    has_reason = any(len(row[at]) > len("yes") for row in rows[1:])
    return table(moved, (0, 1) if has_reason else (0,))


def _verdict(answer: CapacityAnswer) -> str:
    found = answer.plan
    if not answer.starts:
        return verdict(
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
        return verdict(
            "warning", "MAY NOT START", "It fits, and may not start", f"{answer.doubt}. {sentence}"
        )
    return verdict("none", "FITS", "It fits", sentence)


def _memory(shown: Sequence[tuple[str, CapacityAnswer]]) -> str:
    """Where one GPU's memory goes, a bar for each, all on one scale, with the end of the card;
    empty where no card's size is known.
    """
    bars = [
        (name, parts, _total(answer)) for name, answer in shown if (parts := memory_parts(answer))
    ]
    if not bars:
        return ""
    largest = max(max(total, sum(size for _, size in parts)) for _, parts, total in bars) or 1.0
    drawn = "".join(
        "<figure "
        f"class='wide'>{f'<figcaption>{escape(name)}</figcaption>' if name else ''}{_bar(parts, total, largest)}"
        f"{_legend(parts, total)}</figure>"
        for name, parts, total in bars
    )
    return f"<h2>Memory of one GPU</h2>{drawn}"


def _total(answer: CapacityAnswer) -> float:
    return answer.plan.total.value if answer.plan.total is not None else 0.0


def _bar(parts: Sequence[tuple[str, float]], total: float, largest: float) -> str:
    x, boxes = 0.0, []
    for name, size in parts:
        width = max(0.0, size) / largest * _WIDTH
        tip = f"<title>{escape(name)} {gib(size)}</title>"
        boxes.append(
            f"<rect class='{_kind(name)}' x='{x:.1f}' y='4' width='{width:.1f}' "
            f"height='30'>{tip}</rect>"
        )
        x += width
    end = min(_WIDTH - 2, total / largest * _WIDTH)
    boxes.append(
        f"<rect class='is-end' x='{end:.1f}' y='0' width='2' height='38'><title>the card "
        f"ends: {gib(total)}</title></rect>"
    )
    told = ", ".join(f"{name} {gib(size)}" for name, size in parts)
    label = f"role='img' aria-label='{escape(told)}'"
    return (
        f"<svg {label} viewBox='0 0 {_WIDTH:.0f} 38' height='38' "
        f"preserveAspectRatio='none'>{''.join(boxes)}</svg>"
    )


def _legend(parts: Sequence[tuple[str, float]], total: float) -> str:
    entries = [(name, size) for name, size in parts if size >= _SHOWN_BYTES]
    keys = "".join(
        f"<li><i class='key square {_kind(name)}'></i>{escape(name)} {gib(size)}</li>"
        for name, size in entries
    )
    keys += f"<li><i class='key square is-end'></i>the card has {gib(total)}</li>"
    return f"<ul class='legend'>{keys}</ul>"


def _kind(part: str) -> str:
    return f"is-{part.replace(' ', '-').lower()}"
