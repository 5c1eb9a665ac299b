"""An incident as a line, as data and as a document: what was found, planned and done, when, and how
it ended.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from barostat.core.diagnosis import Severity
from barostat.core.units import figure, many
from barostat.judge.diagnosis.causes import causes
from barostat.judge.mitigation.measurements import Look, document
from barostat.remedy.acts import KeepPrevious
from barostat.remedy.history import kept_until
from barostat.remedy.journal import cut_sentence, left_to_do, left_to_undo
from barostat.remedy.record import to_json
from barostat.remedy.roll_spares import PREVIOUS
from barostat.remedy.state import State
from barostat.remedy.verify import ERROR_OF, LEAST_OF
from barostat.shells.reports.incident.charts import drawings, rows
from barostat.shells.reports.json_text import json_text
from barostat.shells.reports.sheet.blocks import (
    Block,
    Document,
    Drawn,
    Facts,
    Footer,
    Heading,
    Listing,
    Only,
    Paragraph,
    Part,
    Section,
    Table,
    Text,
    Verdict,
    bold,
    code,
)
from barostat.shells.reports.sheet.charts import Band
from barostat.shells.reports.sheet.drawing import Box, Drawing, Figure, Label, Shape
from barostat.shells.reports.sheet.scale import duration, instant


def line(state: State) -> str:
    """One line for a list."""
    return (
        f"{state.plan.id}  {_at(state.plan.made_at)}  {state.plan.target}  {state.phase}  "
        f"{state.plan.cause}: {state.plan.change}{_kept(state)}"
    )


def _kept(state: State) -> str:
    until = kept_until(state)
    return f"; former version warm until {_at(until)}" if until is not None else ""


def list_json(states: Sequence[State], odd: Sequence[str]) -> str:
    """The records as a list, without their timelines, and what could not be read."""
    found = [
        {key: value for key, value in json.loads(to_json(state)).items() if key != "timeline"}
        for state in states
    ]
    return json_text({"incidents": found, "problems": list(odd)})


def as_json(state: State, looks: Sequence[Look] = ()) -> str:
    """The record itself, indented, and beside it as `seen` what was measured, or null."""
    return json_text({**json.loads(to_json(state)), "seen": document(looks) if looks else None})


def post_mortem(
    state: State, looks: Sequence[Look] = (), unseen: str = "", after: State | None = None
) -> Document:
    """Return the post-mortem. `unseen`: why there are no looks; `after`: the incident that took its
    change back.
    """
    conditions: list[Text] = [
        (bold(found.type), f" {found.status} ({_at(found.at)}): {found.reason}")
        for found in state.conditions
    ]
    measured: list[Block] = [Paragraph(unseen)]
    if looks:
        measured = [
            Only(("html",), drawings(state, looks, _bands(state))),
            Table(rows(state, looks), (0, 2), mono=(2,)),
        ]
    before = state.plan.baseline
    severity, word = _VERDICTS.get(state.phase, ("info", state.phase.upper()))
    blocks: list[Block] = [
        Heading(
            "incident",
            f"Incident {state.plan.id}",
            f"{state.plan.target} · {_at(state.plan.made_at)}",
        ),
        Verdict(severity, word, state.why or "it goes on"),
        Facts(_facts(state, after)),
        *_phases(state),
        Section("Measured", measured),
        Section("Timeline", [Table([_EVENTS, *_timeline(state)], (0, 2, 3), mono=(2,))]),
        Listing("Conditions", conditions),
        Listing("Figures before", [_figure(name, value) for name, value in before]),
        *(Listing(title, acts, numbered=True) for title, acts in _left(state)),
        Footer(f"the same as data: barostat incident show {state.plan.id} -o json"),
    ]
    return Document(f"Barostat: incident {state.plan.id}", blocks)


def _figure(name: str, value: float) -> tuple[Part, str]:
    """One figure of the plan's baseline, with what its suffix means."""
    shown = f" {figure(value, 4)}"
    for suffix, meaning in ((ERROR_OF, "standard error"), (LEAST_OF, "lowest replica")):
        if name.endswith(suffix):
            return code(name.removesuffix(suffix)), f" ({meaning}){shown}"
    return code(name), shown


def _facts(state: State, after: State | None) -> list[tuple[str, str]]:
    plan = state.plan
    title = next((cause.title for cause in causes() if cause.name == plan.cause), "")
    found = [
        (
            "Since then",
            f"taken back by incident {after.plan.id}, {_at(after.plan.made_at)}" if after else "",
        ),
        ("Target", str(plan.target)),
        (
            "Cause",
            f"{plan.cause}{f' ({plan.variant})' if plan.variant else ''}{f': {title}' if title else ''}",
        ),
        ("Change", f"{plan.change} ({plan.lever}): {plan.because}"),
        (
            "How",
            (
                f"{plan.strategy}, {many(plan.replicas, 'replica')}, {plan.kept_in_rotation} "
                "kept in rotation"
            ),
        ),
        ("At the gateway", _at_the_gateway(state)),
        ("Former version", _former_version(state)),
        ("Requests cut", cut_sentence(state.cut)),
    ]
    if state.timeline:
        found.append(("Run by", state.holder))
        found.append(("Took", instant(state.timeline[-1].at - state.timeline[0].at)))
    return [(title, text) for title, text in found if text]


def _former_version(state: State) -> str:
    """Return what keeps the former version warm, and until when; empty for nothing."""
    plan, pod, until = state.plan, state.pod(PREVIOUS), kept_until(state)
    if pod is not None and until is not None:
        return f"{pod.name}, warm and out of rotation until {_at(until)}, unless a rollback uses it"
    if plan.previous:
        return f"{plan.previous} kept it warm and served as the first spare, if it still ran"
    if plan.not_kept:
        return f"not kept warm: {plan.not_kept}"
    tried = [entry.detail for entry in state.timeline if entry.event == KeepPrevious.__name__]
    return f"not kept warm: {tried[-1].partition('not done: ')[2]}" if tried else ""


def _left(state: State) -> list[tuple[str, tuple[str, ...]]]:
    """What a person finds undone, under its title: one of these at most has anything."""
    found = (("Not yet taken back", left_to_undo(state)), ("Left to do", left_to_do(state)))
    return [(title, acts) for title, acts in found if acts]


def _at_the_gateway(state: State) -> str:
    """Which gateways held the limit, and for how long; empty for a change elsewhere."""
    edge = state.plan.edge
    if edge is None:
        return ""
    puts = [
        entry.at
        for entry in state.timeline
        if entry.event == "TightenGateway" and not entry.detail.startswith("back")
    ]
    backs = [
        entry.at
        for entry in state.timeline
        if entry.event == "TightenGateway" and entry.detail.startswith("back")
    ]
    held = (
        f", held for {duration(backs[-1] - puts[0])}"
        if puts and backs
        else ", held"
        if puts
        else ""
    )
    watched = (
        ", which only watched before and enforced its limits meanwhile" if edge.enforces else ""
    )
    return f"{', '.join(map(str, edge.gateways))}{watched}{held}"


def _timeline(state: State) -> list[tuple[str, str, str, str]]:
    began = state.timeline[0].at if state.timeline else 0.0
    return [
        (_at(entry.at), f"{entry.at - began:.0f} s", entry.event, entry.detail)
        for entry in state.timeline
    ]


def _bands(state: State) -> tuple[Band, ...]:
    """The phases, each until the next one; none where the record names none."""
    phases = [entry for entry in state.timeline if entry.event in _PHASES]
    ends = [entry.at for entry in (*phases[1:], *state.timeline[-1:])]
    return tuple(
        Band(entry.at, end, entry.event, _PHASES[entry.event])
        for entry, end in zip(phases, ends, strict=False)
    )


def _phases(state: State) -> list[Drawn]:
    """The phases as bars over time."""
    bands = _bands(state)
    if len(bands) < 2 or state.timeline[-1].at <= state.timeline[0].at:
        return []
    began = state.timeline[0].at
    scale = _WIDTH / (state.timeline[-1].at - began)
    shapes: list[Shape] = []
    shown = [band for band in bands if band.until_s - band.from_s >= SHORTEST_S]
    for index, band in enumerate(shown):
        x, took = (band.from_s - began) * scale, band.until_s - band.from_s
        width, name = max(1.0, took * scale), f"{band.name} {instant(took)}"
        y, room = 18 * index, _CHARACTER * len(name)
        if room + 8 <= width:
            label = Label(x + 4, y + 11, name, "row-name")
        elif x + width + room + 4 <= _WIDTH:
            label = Label(x + width + 4, y + 11, name, "row-name")
        else:
            label = Label(x - 4, y + 11, name, "row-name", "end")
        shapes += [Box(x, y, width, 14, band.kind, round=2), label]
    drawing = Drawing("phases over time", round(_WIDTH), 18 * len(shown), shapes)
    return [Drawn([Figure(drawing, wide=True)], "phases")]


_WIDTH, _CHARACTER = 400.0, 6.0
SHORTEST_S = 1.0
"""A phase that took less is passed through, and has no bar."""
_EVENTS = ("time", "after", "event", "detail")
_PHASES = {
    "Confirming": "is-calm", "Planned": "is-calm", "Preparing": "is-prepare", "Draining": "is-change", "Changing": "is-change",
    "Verifying": "is-verify", "Holding": "is-prepare", "Promoting": "is-promote", "RollingBack": "is-back", "Done": "is-done",
    "RolledBack": "is-bad",
    "HandedOff": "is-bad", "Refused": "is-calm",
}  # fmt: skip
_VERDICTS: Mapping[str, tuple[Severity, str]] = {
    "Done": ("none", "DONE"), "RolledBack": ("warning", "ROLLED BACK"), "HandedOff": ("critical", "HANDED OFF"),
    "Refused": ("info", "REFUSED"),
}  # fmt: skip


def _at(instant: float) -> str:
    return datetime.fromtimestamp(instant, UTC).strftime("%Y-%m-%d %H:%M:%SZ")
