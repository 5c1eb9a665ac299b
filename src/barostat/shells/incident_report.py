"""An incident as a line, as data, as Markdown and as a page: what was found, planned and done, when, and how it ended."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from html import escape

from barostat.remedy.record import to_json
from barostat.remedy.state import State
from barostat.shells.charts import duration, page


def line(state: State) -> str:
    """One line for a list."""
    return f"{state.plan.id}  {_at(state.plan.made_at)}  {state.plan.target}  {state.phase}  {state.plan.cause}: {state.plan.change}"


def as_json(state: State) -> str:
    """The record itself, indented."""
    return json.dumps(json.loads(to_json(state)), indent=2, ensure_ascii=False)


def as_markdown(state: State) -> str:
    """The post-mortem in Markdown."""
    lines = [f"# Incident {state.plan.id}", "", *(f"- **{title}:** {text}" for title, text in _facts(state)), "", "## Timeline", ""]
    lines += ["| time | after | event | detail |", "|---|---|---|---|"]
    lines += [f"| {at} | {after} | {event} | {_cell(detail)} |" for at, after, event, detail in _timeline(state)]
    if state.conditions:
        lines += ["", "## Conditions", ""]
        lines += [f"- **{found.type}** {found.status} ({_at(found.at)}): {found.reason}" for found in state.conditions]
    lines += ["", "## Figures before", "", *(f"- `{name}` {value:.4g}" for name, value in state.plan.baseline)]
    if state.undo and state.phase != "Done":
        lines += ["", "## Not yet taken back", "", *(f"1. {type(act).__name__}" for act in reversed(state.undo))]
    return "\n".join(lines)


def as_html(state: State) -> str:
    """The post-mortem as one page that needs nothing else."""
    facts = "".join(f"<tr><th>{escape(title)}</th><td style='text-align:left'>{escape(text)}</td></tr>" for title, text in _facts(state))
    rows = "".join(
        "<tr>" + "".join(f"<td style='text-align:left'>{escape(cell)}</td>" for cell in entry) + "</tr>" for entry in _timeline(state)
    )
    conditions = "".join(f"<li><b>{escape(found.type)}</b> {found.status}: {escape(found.reason)}</li>" for found in state.conditions)
    body = (
        f"<h1>Incident {escape(state.plan.id)}</h1><table>{facts}</table>{_drawing(state)}"
        f"<h2>Timeline</h2><table><tr><th>time</th><th>after</th><th>event</th><th>detail</th></tr>{rows}</table>"
        f"<h2>Conditions</h2><ul>{conditions}</ul>"
    )
    return page(f"Barostat: incident {state.plan.id}", body)


def _facts(state: State) -> list[tuple[str, str]]:
    plan = state.plan
    found = [
        ("Target", str(plan.target)),
        ("Cause", f"{plan.cause}{f' ({plan.variant})' if plan.variant else ''}"),
        ("Change", f"{plan.change} ({plan.lever}): {plan.because}"),
        ("How", f"{plan.strategy}, {plan.replicas} replicas, {plan.kept_in_rotation} kept in rotation"),
        ("Phase", state.phase),
        ("Why", state.why),
    ]
    if state.timeline:
        found.append(("Took", duration(state.timeline[-1].at - state.timeline[0].at)))
    return [(title, text) for title, text in found if text]


def _timeline(state: State) -> list[tuple[str, str, str, str]]:
    began = state.timeline[0].at if state.timeline else 0.0
    return [(_at(entry.at), f"{entry.at - began:.0f} s", entry.event, entry.detail) for entry in state.timeline]


def _drawing(state: State) -> str:
    """The phases as bars over time."""
    phases = [entry for entry in state.timeline if entry.event[:1].isupper() and entry.event in _PHASES]
    if len(phases) < 2 or state.timeline[-1].at <= state.timeline[0].at:
        return ""
    began, ended = state.timeline[0].at, state.timeline[-1].at
    scale = 800.0 / (ended - began)
    bars = []
    for index, entry in enumerate(phases):
        until = phases[index + 1].at if index + 1 < len(phases) else ended
        x, width = (entry.at - began) * scale, max(1.0, (until - entry.at) * scale)
        colour = _PHASES[entry.event]
        bars.append(
            f"<rect x='{x:.1f}' y='{20 * index}' width='{width:.1f}' height='14' fill='{colour}'/>"
            f"<text x='{min(x, 640.0):.1f}' y='{20 * index + 11}' font-size='11'>{escape(entry.event)} {until - entry.at:.0f} s</text>"
        )
    height = 20 * len(phases)
    return f"<svg role='img' aria-label='phases over time' viewBox='0 0 800 {height}' width='100%'>{''.join(bars)}</svg>"


_PHASES = {
    "Confirming": "#d0d7de", "Planned": "#d0d7de", "Preparing": "#b6d7ff", "Draining": "#ffe0a3", "Changing": "#ffd08a",
    "Verifying": "#c7b9ff", "Promoting": "#a8e0b4", "RollingBack": "#ffb3b3", "Done": "#1a7f37", "RolledBack": "#cf222e",
    "HandedOff": "#cf222e", "Refused": "#8c959f",
}  # fmt: skip


def _at(instant: float) -> str:
    return datetime.fromtimestamp(instant, UTC).strftime("%Y-%m-%d %H:%M:%SZ")


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")
