"""An incident as a line, as data, as Markdown and as a page: what was found, planned and done, when, and how it ended."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from html import escape

from barostat.judge.causes import causes
from barostat.judge.remedy_measured import Look, document
from barostat.remedy.record import to_json
from barostat.remedy.state import State
from barostat.shells.charts import Band, duration, page
from barostat.shells.incident_charts import drawings, rows


def line(state: State) -> str:
    """One line for a list."""
    return f"{state.plan.id}  {_at(state.plan.made_at)}  {state.plan.target}  {state.phase}  {state.plan.cause}: {state.plan.change}"


def list_json(states: Sequence[State], odd: Sequence[str]) -> str:
    """The records as a list, without their timelines, and what could not be read."""
    found = [{key: value for key, value in json.loads(to_json(state)).items() if key != "timeline"} for state in states]
    return json.dumps({"incidents": found, "problems": list(odd)}, indent=2, ensure_ascii=False)


def as_json(state: State, looks: Sequence[Look] = ()) -> str:
    """The record itself, indented, and beside it as `seen` what was measured, or null."""
    return json.dumps({**json.loads(to_json(state)), "seen": document(looks) if looks else None}, indent=2, ensure_ascii=False)


def as_markdown(state: State, looks: Sequence[Look] = (), unseen: str = "", after: State | None = None) -> str:
    """The post-mortem in Markdown. `unseen`: why there are no looks; `after`: the incident that took its change back."""
    lines = [f"# Incident {state.plan.id}", "", *(f"- **{title}:** {text}" for title, text in _facts(state, after))]
    table = rows(state, looks)
    lines += ["", "## Measured", "", *(_grid(table) if table else [unseen])]
    lines += ["", "## Timeline", "", *_grid([_EVENTS, *_timeline(state)])]
    if state.conditions:
        lines += ["", "## Conditions", ""]
        lines += [f"- **{found.type}** {found.status} ({_at(found.at)}): {found.reason}" for found in state.conditions]
    lines += ["", "## Figures before", "", *(f"- `{name}` {value:.4g}" for name, value in state.plan.baseline)]
    if state.undo and state.phase != "Done":
        lines += ["", "## Not yet taken back", "", *(f"1. {type(act).__name__}" for act in reversed(state.undo))]
    return "\n".join(lines)


def as_html(state: State, looks: Sequence[Look] = (), unseen: str = "", after: State | None = None) -> str:
    """The post-mortem as one page that needs nothing else. `unseen`: why there are no looks; `after`: what took its change back."""
    facts = "".join(f"<tr><th>{escape(title)}</th><td class='words'>{escape(text)}</td></tr>" for title, text in _facts(state, after))
    conditions = "".join(f"<li><b>{escape(found.type)}</b> {found.status}: {escape(found.reason)}</li>" for found in state.conditions)
    measured = f"<p>{escape(unseen)}</p>"
    if looks:
        measured = drawings(state, looks, _bands(state)) + _table(rows(state, looks), 3, "measured")
    body = (
        f"<h1>Incident {escape(state.plan.id)}</h1><table class='facts'>{facts}</table>{_drawing(state)}"
        f"<h2>Measured</h2>{measured}"
        f"<h2>Timeline</h2>{_table([_EVENTS, *_timeline(state)], 4, 'timeline')}"
        f"<h2>Conditions</h2><ul>{conditions}</ul>"
    )
    return page(f"Barostat: incident {state.plan.id}", body, _STYLE)


def _table(entries: Sequence[tuple[str, ...]], words: int, kind: str = "") -> str:
    """The first entry is the heading; the first columns are words, the others numbers."""

    def row(entry: tuple[str, ...], tag: str) -> str:
        kinds = (" class='words'" if place < words else "" for place in range(len(entry)))
        cells = (f"<{tag}{kind}>{escape(cell)}</{tag}>" for kind, cell in zip(kinds, entry, strict=True))
        return f"<tr>{''.join(cells)}</tr>"

    return f"<table class='{kind}'>{row(entries[0], 'th')}{''.join(row(entry, 'td') for entry in entries[1:])}</table>"


def _facts(state: State, after: State | None) -> list[tuple[str, str]]:
    plan = state.plan
    title = next((cause.title for cause in causes() if cause.name == plan.cause), "")
    found = [
        ("Outcome", f"{state.phase}: {state.why}" if state.why else state.phase),
        ("Since then", f"taken back by incident {after.plan.id}, {_at(after.plan.made_at)}" if after else ""),
        ("Target", str(plan.target)),
        ("Cause", f"{plan.cause}{f' ({plan.variant})' if plan.variant else ''}{f': {title}' if title else ''}"),
        ("Change", f"{plan.change} ({plan.lever}): {plan.because}"),
        ("How", f"{plan.strategy}, {plan.replicas} replicas, {plan.kept_in_rotation} kept in rotation"),
    ]
    if state.timeline:
        found.append(("Run by", state.holder))
        found.append(("Took", duration(state.timeline[-1].at - state.timeline[0].at)))
    return [(title, text) for title, text in found if text]


def _timeline(state: State) -> list[tuple[str, str, str, str]]:
    began = state.timeline[0].at if state.timeline else 0.0
    return [(_at(entry.at), f"{entry.at - began:.0f} s", entry.event, entry.detail) for entry in state.timeline]


def _bands(state: State) -> tuple[Band, ...]:
    """The phases, each until the next one."""
    phases = [entry for entry in state.timeline if entry.event in _PHASES]
    ends = [entry.at for entry in (*phases[1:], *state.timeline[-1:])]
    return tuple(Band(entry.at, end, entry.event, _PHASES[entry.event]) for entry, end in zip(phases, ends, strict=True))


def _drawing(state: State) -> str:
    """The phases as bars over time."""
    bands = _bands(state)
    if len(bands) < 2 or state.timeline[-1].at <= state.timeline[0].at:
        return ""
    began = state.timeline[0].at
    scale = 800.0 / (state.timeline[-1].at - began)
    bars = []
    shown = [band for band in bands if band.until_s - band.from_s >= SHORTEST_S]
    for index, band in enumerate(shown):
        x, took = (band.from_s - began) * scale, band.until_s - band.from_s
        width, label = max(1.0, took * scale), f"{band.name} {took:.0f} s"
        if 7.0 * len(label) <= width:
            place = f"x='{x + 4:.1f}'"
        elif x + width + 7.0 * len(label) <= 800.0:
            place = f"x='{x + width + 4:.1f}'"
        else:
            place = f"x='{x - 4:.1f}' text-anchor='end'"
        bars.append(
            f"<rect x='{x:.1f}' y='{20 * index}' width='{width:.1f}' height='14' fill='{band.colour}'/>"
            f"<text {place} y='{20 * index + 11}' font-size='11'>{escape(label)}</text>"
        )
    height = 20 * len(shown)
    return f"<svg role='img' aria-label='phases over time' viewBox='0 0 800 {height}' width='100%'>{''.join(bars)}</svg>"


SHORTEST_S = 1.0
"""A phase that took less is passed through, and has no bar."""
_EVENTS = ("time", "after", "event", "detail")
_STYLE = """
td.words,th.words,.facts td{text-align:left}td{vertical-align:top}.facts th{white-space:nowrap;border:0}
.timeline td:nth-child(-n+2),.measured td,.measured th{white-space:nowrap}.measured td,.measured th{padding-right:.7rem}
.measured td:nth-child(3){white-space:normal;overflow-wrap:anywhere}
svg text.limit-name{paint-order:stroke;stroke:#fff;stroke-width:3px;stroke-linejoin:round}
"""
_PHASES = {
    "Confirming": "#d0d7de", "Planned": "#d0d7de", "Preparing": "#b6d7ff", "Draining": "#ffe0a3", "Changing": "#ffd08a",
    "Verifying": "#c7b9ff", "Promoting": "#a8e0b4", "RollingBack": "#ffb3b3", "Done": "#1a7f37", "RolledBack": "#cf222e",
    "HandedOff": "#cf222e", "Refused": "#8c959f",
}  # fmt: skip


def _at(instant: float) -> str:
    return datetime.fromtimestamp(instant, UTC).strftime("%Y-%m-%d %H:%M:%SZ")


def _grid(entries: Sequence[tuple[str, ...]]) -> list[str]:
    """The entries as a table in Markdown; the first is the heading."""
    written = [f"| {' | '.join(map(_cell, entry))} |" for entry in entries]
    return [written[0], "|---" * len(entries[0]) + "|", *written[1:]]


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")
