"""A plan in every form it can be shown in."""

from __future__ import annotations

from typing import Any

from barostat.core.limits import API_VERSION
from barostat.core.units import gib
from barostat.io.input_files.limits_file import as_document
from barostat.io.input_files.limits_file import render as render_limits
from barostat.judge.sizing.answer import CapacityAnswer
from barostat.judge.sizing.plan import summary
from barostat.kv.estimate import Estimate
from barostat.shells.reports.capacity.page import plan_html
from barostat.shells.reports.capacity.plan_parts import limit_values, memory_parts, where
from barostat.shells.reports.json_text import json_text
from barostat.shells.reports.wrapped import noted, paragraph, reasons, terminal_width

_BAR_WIDTH = 60
_FILLS = {
    "weights": "█",
    "LoRA adapters": "▚",
    "activations": "▓",
    "non-torch": "▒",
    "graphs": "░",
    "KV cache": "■",
    "unused": "·",
}


def render(answer: CapacityAnswer, form: str) -> str:
    """The plan as text in this form."""
    match form:
        case "json":
            return json_text(document(answer))
        case "yaml":
            import yaml

            return str(
                yaml.safe_dump(document(answer), sort_keys=False, allow_unicode=True, width=140)
            ).rstrip()
        case "limits":
            return render_limits(answer.derived.limits).rstrip()
        case "md":
            return markdown(answer)
        case "html":
            return plan_html(answer).rstrip()
        case _:
            return table(answer, terminal_width())


def document(answer: CapacityAnswer) -> dict[str, Any]:
    """The plan as the versioned JSON document."""
    found = answer.plan
    pool = found.pool
    return {
        "apiVersion": API_VERSION,
        "kind": "CapacityPlan",
        "model": found.request.model_name,
        "architecture": found.request.model.name,
        "architectureKnown": found.request.model.known,
        "engineVersion": str(found.request.version),
        "gpu": found.request.card.name if found.request.card is not None else None,
        "gpus": found.gpus,
        "maxModelLen": found.flags.max_model_len,
        "kvBytesPerToken": round(found.kv_bytes_per_token, 1),
        "kvBytesPerTokenPerGpu": round(found.kv_bytes_per_token_per_gpu, 1),
        "weightsBytesPerGpu": int(found.weights_bytes),
        "availableKvBytesPerGpu": int(found.available.value),
        "numBlocks": pool.blocks,
        "blockSize": pool.block_tokens,
        "kvCacheTokens": pool.tokens,
        "kvCacheTokensRange": [found.low.tokens, found.high.tokens],
        "maxConcurrency": round(pool.concurrency, 4) if pool.concurrency != float("inf") else None,
        "longestThatFits": pool.longest_tokens,
        "fits": answer.starts,
        "refusal": answer.why_not or None,
        "mayNotStart": answer.doubt or None,
        "changesThatFit": [
            {"arguments": c.arguments, "cost": c.cost, "kvCacheTokens": c.tokens}
            for c in answer.changes
        ],
        "limits": as_document(answer.derived.limits)["spec"],
        "because": dict(answer.derived.limits.because),
        "separatePools": list(answer.derived.pools),
        "estimates": [_estimate(e) for e in _estimates(answer)],
        "predictionOffBy": list(found.off_by),
        "assumptions": list(found.assumptions),
    }


def _estimates(answer: CapacityAnswer) -> list[Estimate]:
    found = answer.plan
    parts = [*(found.spent.parts if found.spent is not None else ()), found.available]
    return [*([found.total] if found.total is not None else []), *parts]


def _estimate(found: Estimate) -> dict[str, Any]:
    return {
        "name": found.name,
        "value": round(found.value),
        "low": round(found.low),
        "high": round(found.high),
        "source": found.source,
    }


def _bar(parts: list[tuple[str, float]]) -> str:
    total = sum(size for _, size in parts) or 1.0
    cells, so_far, drawn = "", 0.0, 0
    for name, size in parts:
        so_far += size
        upto = round(so_far / total * _BAR_WIDTH)
        cells += _FILLS.get(name, "?") * (upto - drawn)
        drawn = upto
    return cells


def table(answer: CapacityAnswer, width: int) -> str:
    """The plan for a terminal of this width."""
    found = answer.plan
    lines = [
        *paragraph(
            f"{found.request.model_name}  ({found.request.model.name}) on {where(answer)}",
            "",
            width,
        ),
        "",
    ]
    for refused in answer.refused:
        lines += [*paragraph(f"It does not start: {refused}.", "", width), ""]
    lines += [f"  {title:<15} {text}" for title, text in summary(found).items()]
    parts = memory_parts(answer)
    if parts:
        lines += ["", f"  {_bar(parts)}"]
        lines += [f"  {_FILLS.get(name, '?')} {name:<12} {gib(size):>11}" for name, size in parts]
    lines.append("")
    if found.fits:
        lines.append("With that mended, it fits." if answer.refused else "It fits.")
        if answer.doubt:
            lines += paragraph(f"It may not start: {answer.doubt}.", "", width)
    else:
        lines += paragraph(f"It does not start: {answer.refusal}.", "", width)
        for number, change in enumerate(answer.changes, 1):
            lines += paragraph(
                f"{change.arguments}   ({change.cost}; {change.tokens:,} tokens)",
                f"  {number}. ",
                width,
            )
        if not answer.changes:
            lines.append("  no single change makes it fit; a smaller model or more GPUs would")
    for note in found.off_by:
        lines += paragraph(f"prediction was off: {note}", "  ", width)
    if answer.derived.limits.because:
        lines += [
            "",
            "Limits that follow:"
            if found.fits
            else "Limits that would follow with the first change:",
        ]
        lines += reasons(limit_values(answer), width)
    for advice in answer.derived.pools:
        lines += paragraph(advice, "  * ", width)
    return "\n".join((*lines, *noted(found.assumptions)))


def markdown(answer: CapacityAnswer) -> str:
    """The plan for a pull request."""
    found = answer.plan
    lines = [f"## Plan: {found.request.model_name} on {where(answer)}", "", "| | |", "|---|---|"]
    lines += [f"| {title} | {text} |" for title, text in summary(found).items()]
    lines += [
        "",
        "**It fits.**" if answer.starts else f"**It does not start:** {answer.why_not}.",
        "",
    ]
    if answer.doubt:
        lines += [f"**It may not start:** {answer.doubt}.", ""]
    lines += [
        f"{n}. `{change.arguments}`: {change.cost}; {change.tokens:,} tokens"
        for n, change in enumerate(answer.changes, 1)
    ]
    lines += ["", "| limit | value | because |", "|---|---|---|"]
    lines += [f"| {path} | {value} | {reason} |" for path, value, reason in limit_values(answer)]
    lines += [
        "",
        *(f"* {advice}" for advice in answer.derived.pools),
        *(f"* assumed: {note}" for note in found.assumptions),
    ]
    return "\n".join(lines)
