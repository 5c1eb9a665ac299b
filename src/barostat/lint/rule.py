"""The definition of a rule and its findings, and the harness that isolates rules from each other."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Literal

from barostat.lint.document import Edit, Place
from barostat.lint.facts import Scene

Severity = Literal["error", "warning", "note"]
Confidence = Literal["high", "medium", "low"]
Persona = Literal["ordinary", "pedant"]
Safety = Literal["certain", "likely"]
Topic = Literal["", "limits", "rollout"]
"""What a rule is about, where a summary groups findings: missing limits, or a rollout that harms."""

NOT_CHECKED, NOTHING_CHECKED = "not-checked", "nothing-checked"
"""Entries that a report shows, in every format, for parts that could not be checked."""

SEVERITIES: tuple[Severity, ...] = ("error", "warning", "note")


@dataclass(frozen=True, slots=True)
class Found:
    """One finding: the problem in a sentence, the fix, and the certainty.

    `edits` implement the fix; `safety` says whether it is certainly what the author meant. None:
    the rule's default.
    """

    place: Place
    message: str
    fix: str = ""
    edits: tuple[Edit, ...] = ()
    safety: Safety = "likely"
    severity: Severity | None = None
    confidence: Confidence | None = None
    persona: Persona | None = None


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule, named after the bad thing. `persona`: ordinary for what breaks or hurts, pedant for
    what a careful team asks for too.
    """

    name: str
    title: str
    judge: Callable[[Scene], Iterable[Found]]
    severity: Severity
    confidence: Confidence = "high"
    persona: Persona = "ordinary"
    topic: Topic = ""


@dataclass(frozen=True, slots=True)
class Finding:
    """One finding as a report shows it."""

    rule: str
    place: Place
    severity: Severity
    confidence: Confidence
    persona: Persona
    message: str
    fix: str = ""
    edits: tuple[Edit, ...] = ()
    safety: Safety = "likely"
    topic: Topic = ""


def unchecked(place: Place, reason: str, severity: Severity, fix: str = "") -> Finding:
    """Return the result for what was not checked. An error means: the exit code has to tell."""
    at = replace(place, line=max(1, place.line), column=max(1, place.column))
    return Finding(NOT_CHECKED, at, severity, "high", "ordinary", reason, fix)


def findings(rules: Iterable[Rule], scene: Scene) -> list[Finding]:
    """Everything that the rules find, in the order of file, line and rule, each once.

    Law: a rule that raises becomes a finding of its own and stops no other.
    """
    found: list[Finding] = []
    for rule in rules:
        try:
            found += [_finding(rule, one) for one in rule.judge(scene)]
        except Exception as error:
            said = (
                f"the rule {rule.name} itself failed ({type(error).__name__}: {error}); please "
                "report it"
            )
            found.append(Finding("rule-failed", Place("", 1, 1), "note", "high", "ordinary", said))
    unique = {
        (one.rule, one.place.file, one.place.line, one.place.column, one.message): one
        for one in found
    }
    return sorted(
        unique.values(),
        key=lambda one: (one.place.file, one.place.line, one.place.column, one.rule),
    )


def _finding(rule: Rule, one: Found) -> Finding:
    return Finding(
        rule.name,
        replace(one.place, line=max(1, one.place.line), column=max(1, one.place.column)),
        one.severity or rule.severity,
        one.confidence or rule.confidence,
        one.persona or rule.persona,
        one.message,
        one.fix,
        one.edits,
        one.safety,
        rule.topic,
    )
