"""A change of vLLM's version as a document and as data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from barostat.catalog.kernel_ratios import KernelRatio
from barostat.core.diagnosis import Severity
from barostat.core.units import figure, gib
from barostat.judge.upgrade.kernel_speed import StepChange
from barostat.judge.upgrade.reported import Reported
from barostat.judge.upgrade.upgrade import Upgrade
from barostat.shells.reports.api_version import API_VERSION
from barostat.shells.reports.sheet.blocks import (
    Block,
    Document,
    Footer,
    Heading,
    Items,
    Section,
    Table,
    Verdict,
)

_WORD = {"safe": "SAFE", "watch": "WATCH", "do-not": "DO NOT"}
_SEVERITY: Mapping[str, Severity] = {"safe": "none", "watch": "warning", "do-not": "critical"}
_SENTENCE = {
    "safe": "Nothing that is known speaks against the change.",
    "watch": "Change one replica first and compare it with the others.",
    "do-not": "Solve what is listed first.",
}


@dataclass(frozen=True, slots=True)
class _Section:
    """A heading with a table (its first row is the heading), sentences, or both."""

    title: str
    rows: Sequence[Sequence[str]] = ()
    sentences: Sequence[str] = ()


def _sections(found: Upgrade) -> list[_Section]:
    reasons = [f"{_WORD[reason.level]}: {reason.text}" for reason in found.reasons]
    shown = [
        _Section("Reasons", sentences=reasons),
        _Section("Arguments refused", sentences=[
            f"{one.option} (since {one.since})" + (f": use {one.instead}" if one.instead else "") for one in found.refused
        ]),
        _Section("Defaults", _defaults(found)),
        _Section("Scheduler rules", _rules(found, schedules=True)),
        _pool(found),
        _Section("The same traffic on the twin", _tried(found)),
        _kernels(found),
        _Section("Reported regressions", _reports(found.brings)),
        _Section("Left behind", _reports(found.leaves)),
        _Section("Other behaviours", _rules(found, schedules=False)),
        _Section("Metrics", sentences=[
            *(f"gone: {name}" for name in found.metrics.gone), *(f"new: {name}" for name in found.metrics.new),
        ]),
        _Section("Not known, not tried", sentences=found.notes),
    ]  # fmt: skip
    return [section for section in shown if section.rows or section.sentences]


def _defaults(found: Upgrade) -> list[Sequence[str]]:
    if not found.defaults:
        return []
    rows = [
        (
            one.name,
            str(one.before),
            str(one.after),
            one.effect if one.certain else f"{one.effect} (unless it is set, or the card says otherwise)",
        )
        for one in found.defaults
    ]  # fmt: skip
    return [("setting", f"{found.deployed.version}", f"{found.after}", "what it does"), *rows]


def _rules(found: Upgrade, *, schedules: bool) -> list[Sequence[str]]:
    rows = [
        (one.name, "gained" if one.gained else "lost", one.meaning, one.idle or "-")
        for one in found.rules
        if one.schedules == schedules
    ]
    if not schedules:
        return [("behaviour", "", "meaning"), *(row[:3] for row in rows)] if rows else []
    return [("rule", "", "meaning", "no effect here because"), *rows] if rows else []


def _pool(found: Upgrade) -> _Section:
    before, after = found.deployed.before, found.deployed.after
    if before is None or after is None:
        return _Section("KV cache, planned")
    rows = [
        ("", str(found.deployed.version), str(found.after)),
        ("memory of each GPU", gib(before.available.value), gib(after.available.value)),
        (
            "requests of the longest length",
            figure(before.pool.concurrency),
            figure(after.pool.concurrency),
        ),
    ]
    return _Section("KV cache, planned", rows)


def _tried(found: Upgrade) -> list[Sequence[str]]:
    tried = found.tried
    if tried is None:
        return []
    rows = [
        (name, figure(was, 4), figure(tried.after[name], 4))
        for name, was in tried.before.items()
        if name in tried.after
    ]
    if tried.outlooks is not None:
        rows.append(("service level", *tried.outlooks))
    return [("", str(found.deployed.version), str(found.after)), *rows]


def _kernels(found: Upgrade) -> _Section:
    speed = found.kernels
    rows = [
        (f"{one.part}, {one.arithmetic}", f"{one.before} to {one.after}", *_ratio(one))
        for one in speed.changes
    ]
    rows += [
        (f"a whole {step.kind} step", "", *_ratio(step))
        if not step.lacks
        else (f"a whole {step.kind} step", "", f"not known: {', '.join(step.lacks)}", "")
        for step in speed.steps
    ]
    head = ("part of a step", "tables of", "times as long", "nine tenths from, to")
    unknown = [f"Not known: {speed.unknown}."] if speed.unknown else []
    return _Section("Kernel speed", [head, *rows] if rows else [], unknown)


def _ratio(one: KernelRatio | StepChange) -> tuple[str, str]:
    return f"{one.ratio:.2f}", f"{one.low:.2f} to {one.high:.2f}"


def _reports(reports: Sequence[Reported]) -> list[Sequence[str]]:
    if not reports:
        return []
    rows = [
        (
            one.regression.name,
            one.match,
            one.regression.text,
            one.regression.instead or "-",
            "; ".join(one.unknown) or "-",
            ", ".join(one.regression.threads),
        )
        for one in reports
    ]
    return [("regression", "", "what was seen", "instead", "not known", "threads"), *rows]


def _title(found: Upgrade) -> str:
    named = f"{found.deployed.model_name or 'this deployment'}"
    card = f" on {found.deployed.card.name}" if found.deployed.card is not None else ""
    return f"{named}{card}: vLLM {found.deployed.version} to {found.after}"


def upgrade_document(found: Upgrade) -> Document:
    """Return the document: the verdict, then a section for each kind of change."""
    versions = f"vLLM {found.deployed.version} to {found.after}"
    blocks: list[Block] = [
        Heading("what-if", _title(found)),
        Verdict(_SEVERITY[found.verdict], _WORD[found.verdict], versions, _SENTENCE[found.verdict]),
    ]
    for section in _sections(found):
        rows = section.rows
        table = [Table(rows, words=tuple(range(len(rows[0]))))] if rows else []
        blocks.append(Section(section.title, [*table, Items(section.sentences)]))
    blocks.append(Footer("the same as data: barostat what-if --engine-version OLD..NEW -o json"))
    return Document(f"Barostat: {_title(found)}", blocks)


def upgrade_json(found: Upgrade) -> dict[str, Any]:
    """`kind: Upgrade` as plain data."""
    before, after, tried = found.deployed.before, found.deployed.after, found.tried
    return {
        "apiVersion": API_VERSION,
        "kind": "Upgrade",
        "model": found.deployed.model_name or None,
        "card": None if found.deployed.card is None else found.deployed.card.name,
        "before": str(found.deployed.version),
        "after": str(found.after),
        "verdict": found.verdict,
        "reasons": [{"level": one.level, "text": one.text} for one in found.reasons],
        "refusedArguments": [
            {"option": one.option, "since": one.since, "instead": one.instead or None} for one in found.refused
        ],
        "defaults": [
            {"option": one.name, "before": one.before, "after": one.after, "certain": one.certain} for one in found.defaults
        ],
        "rules": [
            {
                "name": one.name, "gained": one.gained, "schedules": one.schedules, "meaning": one.meaning,
                "noEffectBecause": one.idle or None,
            }
            for one in found.rules
        ],
        "metrics": {"gone": list(found.metrics.gone), "new": list(found.metrics.new)},
        "kvCacheBytesPerGpu": None if before is None or after is None else {
            "before": round(before.available.value), "after": round(after.available.value),
        },
        "traffic": None if tried is None else {
            "before": dict(tried.before), "after": dict(tried.after),
            "sloOutlook": None if tried.outlooks is None else list(tried.outlooks),
        },
        "kernels": {
            "parts": [
                {"part": one.part, "arithmetic": one.arithmetic, "tables": [one.before, one.after], **_ratios(one)}
                for one in found.kernels.changes
            ],
            "steps": [{"step": one.kind, **_ratios(one), "lacks": list(one.lacks)} for one in found.kernels.steps],
            "unknown": found.kernels.unknown or None,
        },
        "regressions": [_report(one) for one in found.brings],
        "leavesBehind": [_report(one) for one in found.leaves],
        "notes": list(found.notes),
    }  # fmt: skip


def _ratios(one: KernelRatio | StepChange) -> Mapping[str, float]:
    return {"ratio": round(one.ratio, 3), "low": round(one.low, 3), "high": round(one.high, 3)}


def _report(one: Reported) -> dict[str, Any]:
    known = one.regression
    return {
        "name": known.name, "harm": known.harm, "match": one.match, "unknown": list(one.unknown), "text": known.text,
        "instead": known.instead or None, "firstSeen": known.bad, "lastSeen": known.last_bad, "fixed": known.fixed or None,
        "threads": list(known.threads),
    }  # fmt: skip
