"""A plan in every form it can be shown in."""

from __future__ import annotations

import html
import json
from typing import Any

from barostat.core.limits import API_VERSION
from barostat.core.units import GIB, gib
from barostat.io.limits_file import as_document
from barostat.io.limits_file import render as render_limits
from barostat.judge.limits_from import as_arguments
from barostat.judge.plan import summary
from barostat.kv.estimate import Estimate
from barostat.shells.cli.plan_inputs import Answer
from barostat.shells.wrapped import paragraph, reasons, terminal_width

_BAR_WIDTH = 60
_FILLS = {"weights": "█", "activations": "▓", "non-torch": "▒", "graphs": "░", "KV cache": "■", "unused": "·"}


def render(answer: Answer, form: str) -> str:
    """The plan as text in this form."""
    match form:
        case "json":
            return json.dumps(document(answer), indent=2, ensure_ascii=False)
        case "yaml":
            import yaml

            return str(yaml.safe_dump(document(answer), sort_keys=False, allow_unicode=True, width=140)).rstrip()
        case "limits":
            return render_limits(answer.derived.limits).rstrip()
        case "args":
            return " ".join(as_arguments(answer.derived.limits))
        case "md":
            return markdown(answer)
        case "html":
            return page(answer)
        case _:
            return table(answer, terminal_width())


def document(answer: Answer) -> dict[str, Any]:
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
        "fits": found.fits,
        "refusal": answer.refusal or None,
        "changesThatFit": [{"arguments": c.arguments, "cost": c.cost, "kvCacheTokens": c.tokens} for c in answer.changes],
        "limits": as_document(answer.derived.limits)["spec"],
        "because": dict(answer.derived.limits.because),
        "separatePools": list(answer.derived.pools),
        "estimates": [_estimate(e) for e in _estimates(answer)],
        "predictionOffBy": list(found.off_by),
        "assumptions": list(found.assumptions),
    }


def _estimates(answer: Answer) -> list[Estimate]:
    found = answer.plan
    parts = [*(found.spent.parts if found.spent is not None else ()), found.available]
    return [*([found.total] if found.total is not None else []), *parts]


def _estimate(found: Estimate) -> dict[str, Any]:
    return {"name": found.name, "value": round(found.value), "low": round(found.low), "high": round(found.high), "source": found.source}


def memory_parts(answer: Answer) -> list[tuple[str, float]]:
    """Where one GPU's memory goes, in bytes; empty where its size is not known."""
    found = answer.plan
    if found.total is None or found.spent is None:
        return []
    parts = [(part.name, part.value) for part in found.spent.parts if part.name != "graphs" or found.spent.graphs_counted]
    kv = max(0.0, found.pool.blocks * found.layout.block_bytes)
    rest = found.total.value - sum(size for _, size in parts) - kv
    return [*parts, ("KV cache", kv), ("unused", max(0.0, rest))]


def _bar(parts: list[tuple[str, float]]) -> str:
    total = sum(size for _, size in parts) or 1.0
    cells, so_far, drawn = "", 0.0, 0
    for name, size in parts:
        so_far += size
        upto = round(so_far / total * _BAR_WIDTH)
        cells += _FILLS.get(name, "?") * (upto - drawn)
        drawn = upto
    return cells


def table(answer: Answer, width: int) -> str:
    """The plan for a terminal of this width."""
    found = answer.plan
    lines = [*paragraph(f"{found.request.model_name}  ({found.request.model.name}) on {_where(answer)}", "", width), ""]
    lines += [f"  {title:<15} {text}" for title, text in summary(found).items()]
    parts = memory_parts(answer)
    if parts:
        lines += ["", f"  {_bar(parts)}"]
        lines += [f"  {_FILLS.get(name, '?')} {name:<12} {gib(size):>11}" for name, size in parts]
    lines.append("")
    if found.fits:
        lines.append("It fits.")
    else:
        lines += paragraph(f"It does not start: {answer.refusal}.", "", width)
        for number, change in enumerate(answer.changes, 1):
            lines += paragraph(f"{change.arguments}   ({change.cost}; {change.tokens:,} tokens)", f"  {number}. ", width)
        if not answer.changes:
            lines.append("  no single change makes it fit; a smaller model or more GPUs would")
    for note in found.off_by:
        lines += paragraph(f"prediction was off: {note}", "  ", width)
    if answer.derived.limits.because:
        lines += ["", "Limits that follow:" if found.fits else "Limits that would follow with the first change:"]
        lines += reasons(_limit_values(answer), width)
    for advice in answer.derived.pools:
        lines += paragraph(advice, "  * ", width)
    if found.assumptions:
        lines += ["", "To know:"]
        for note in found.assumptions:
            lines += paragraph(note, "  - ", width)
    return "\n".join(lines)


def _where(answer: Answer) -> str:
    found = answer.plan
    card = found.request.card
    cards = "the CPU" if found.request.is_cpu else f"{found.gpus} x {card.name}" if card is not None else f"{found.gpus} x a GPU with"
    given = "" if card is not None or found.request.is_cpu else " memory as given"
    return f"{cards}{given}, vLLM {found.request.version}"


def _limit_values(answer: Answer) -> list[tuple[str, str, str]]:
    """Field, value and reason of every limit."""
    spec = as_document(answer.derived.limits)["spec"]
    rows = []
    for path, reason in answer.derived.limits.because.items():
        section, name = path.split(".")
        value = spec.get(section, {}).get(name)
        if value is not None:
            rows.append(
                (path, f"{value:,}" if isinstance(value, int) else f"{value:g}" if isinstance(value, float) else str(value), reason)
            )
    return rows


def markdown(answer: Answer) -> str:
    """The plan for a pull request."""
    found = answer.plan
    lines = [f"## Plan: {found.request.model_name} on {_where(answer)}", "", "| | |", "|---|---|"]
    lines += [f"| {title} | {text} |" for title, text in summary(found).items()]
    lines += ["", "**It fits.**" if found.fits else f"**It does not start:** {answer.refusal}.", ""]
    lines += [f"{n}. `{change.arguments}`: {change.cost}; {change.tokens:,} tokens" for n, change in enumerate(answer.changes, 1)]
    lines += ["", "| limit | value | because |", "|---|---|---|"]
    lines += [f"| {path} | {value} | {reason} |" for path, value, reason in _limit_values(answer)]
    lines += ["", *(f"* {advice}" for advice in answer.derived.pools), *(f"* assumed: {note}" for note in found.assumptions)]
    return "\n".join(lines)


def page(answer: Answer) -> str:
    """The plan as one HTML page with a picture of the memory; nothing is loaded from elsewhere."""
    found = answer.plan
    colours = {
        "weights": "#4062bb",
        "activations": "#f45b69",
        "non-torch": "#9aa0a6",
        "graphs": "#c2a83e",
        "KV cache": "#2e933c",
        "unused": "#e8eaed",
    }
    parts = memory_parts(answer)
    total = sum(size for _, size in parts) or 1.0
    x, boxes = 0.0, []
    for name, size in parts:
        width = size / total * 800
        title = f"<title>{html.escape(name)} {gib(size)}</title>"
        boxes.append(f'<rect x="{x:.1f}" y="0" width="{width:.1f}" height="40" fill="{colours.get(name, "#ccc")}">{title}</rect>')
        x += width
    key = " ".join(
        f'<span style="color:{colours.get(name, "#ccc")}">■</span> {html.escape(name)} {size / GIB:.1f} GiB' for name, size in parts
    )
    rows = "".join(f"<tr><th>{html.escape(t)}</th><td>{html.escape(v)}</td></tr>" for t, v in summary(found).items())
    limits = "".join(
        f"<tr><td><code>{html.escape(p)}</code></td><td>{html.escape(v)}</td><td>{html.escape(b)}</td></tr>"
        for p, v, b in _limit_values(answer)
    )
    verdict = "It fits." if found.fits else f"It does not start: {answer.refusal}."
    changes = "".join(f"<li><code>{html.escape(c.arguments)}</code>: {html.escape(c.cost)}</li>" for c in answer.changes)
    name = html.escape(found.request.model_name)
    notes = "".join(f"<li>{html.escape(note)}</li>" for note in (*answer.derived.pools, *found.assumptions))
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>Plan: {name}</title>'
        "<style>body{font:15px sans-serif;max-width:60em;margin:2em auto;padding:0 1em}table{border-collapse:collapse}"
        "td,th{text-align:left;padding:.3em .8em;vertical-align:top;border-bottom:1px solid #e8eaed}td:nth-child(2){white-space:nowrap}"
        "svg{width:100%}</style>"
        f'<h1>{name}</h1><p>on {html.escape(_where(answer))}</p><svg viewBox="0 0 800 40" '
        f'preserveAspectRatio="none" height="40" role="img">{"".join(boxes)}</svg><p>{key}</p>'
        f"<table>{rows}</table><p><b>{html.escape(verdict)}</b></p><ol>{changes}</ol>"
        + (f"<h2>Limits that {'' if found.fits else 'would '}follow</h2><table>{limits}</table>" if limits else "")
        + ("<h2>To know</h2>" if notes else "")
        + f"<ul>{notes}</ul></html>"
    )
