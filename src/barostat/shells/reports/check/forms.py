"""The report as a table, JSON, annotations of GitHub, JUnit or Markdown; SARIF has a file of its
own.
"""

from __future__ import annotations

import re
from typing import Any

from barostat.core.visible import visible
from barostat.lint.rule import Finding
from barostat.shells.reports.api_version import API_VERSION
from barostat.shells.reports.check.report import CheckReport
from barostat.shells.reports.json_text import json_text
from barostat.shells.reports.sheet.safe_text import code, in_markdown


def render(report: CheckReport, form: str) -> str:
    """The report in that form, with its last line ended."""
    match form:
        case "json":
            return _json(report)
        case "sarif":
            from barostat.shells.reports.check.sarif import sarif

            return sarif(report)
        case "github":
            return "".join(
                [
                    *map(_annotation, report.findings),
                    *map(_annotation_of_unreadable, report.unreadable),
                ]
            )
        case "junit":
            return _junit(report)
        case "md":
            return _markdown(report)
        case _:
            return _table(report)


def _table(report: CheckReport) -> str:
    lines = []
    for one in report.findings:
        sure = "" if one.confidence == "high" else f" ({one.confidence} confidence)"
        lines.append(
            f"{one.place.file}:{one.place.line}:{one.place.column}: {one.severity} {one.rule}{sure}"
        )
        lines.append(f"    {one.message}")
        if one.fix:
            lines.append(f"    fix: {one.fix}")
    return "\n".join([*lines, report.summary()]) + "\n"


def finding_document(one: Finding) -> dict[str, Any]:
    """One finding as JSON has it."""
    return {
        "file": one.place.file,
        "line": one.place.line,
        "column": one.place.column,
        "rule": one.rule,
        "severity": one.severity,
        "confidence": one.confidence,
        "persona": one.persona,
        "message": one.message,
        "fix": one.fix,
        "fixable": one.safety if one.edits else "no",
    }


def _json(report: CheckReport) -> str:
    document = {
        "apiVersion": API_VERSION,
        "kind": "CheckReport",
        "files": report.files,
        "engines": report.engines,
        "persona": report.persona,
        "findings": [finding_document(one) for one in report.findings],
        "suppressed": [
            {**finding_document(one), "reason": reason} for one, reason in report.suppressed
        ],
        "hiddenFindings": report.hidden,
        "unreadable": list(report.unreadable),
        "notes": list(report.notes),
    }
    return json_text(document) + "\n"


_COMMANDS = {"error": "error", "warning": "warning", "note": "notice"}


def _annotation(one: Finding) -> str:
    """A workflow command. Source: GitHub, "Workflow commands for GitHub Actions" (escaping of data
    and properties).
    """
    message = _data(one.message + (f" (fix: {one.fix})" if one.fix else ""))
    file = _property(one.place.file)
    return (
        f"::{_COMMANDS[one.severity]} "
        f"file={file},line={one.place.line},col={one.place.column},title={one.rule}::{message}\n"
    )


def _annotation_of_unreadable(sentence: str) -> str:
    """The same for a file that could not be read, at its place where the sentence begins with
    one.
    """
    match = re.match(
        r"(?P<file>[^\n]+?):(?:(?P<line>\d+):(?P<col>\d+):)? (?P<said>.*)", sentence, re.DOTALL
    )
    if match is None:
        return f"::error title=not readable::{_data(sentence)}\n"
    place = f",line={match['line']},col={match['col']}" if match["line"] else ""
    return (
        f"::error file={_property(match['file'])}{place},title=not "
        f"readable::{_data(match['said'])}\n"
    )


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _junit(report: CheckReport) -> str:
    """A test case for each finding; errors and warnings fail, notes are skipped tests; a clean
    report is one passed case.
    """
    cases = []
    for one in report.findings:
        place = f"{one.place.file}:{one.place.line}:{one.place.column}"
        body = _escaped(
            _printable(f"{place}: {one.message}" + (f"\nfix: {one.fix}" if one.fix else ""))
        )
        inner = (
            f"<skipped message={_attribute(_printable(one.message))}/>"
            if one.severity == "note"
            else (
                f"<failure type={_attribute(one.severity)} "
                f"message={_attribute(_printable(one.message))}>{body}</failure>"
            )
        )
        cases.append(
            f"    <testcase classname={_attribute(_printable(one.place.file))} "
            f"name={_attribute(f'{one.rule} {place}')}>{inner}</testcase>"
        )
    for sentence in report.unreadable:
        said = _attribute(_printable(sentence))
        cases.append(
            f'    <testcase classname="barostat check" name={said}><error '
            f"message={said}/></testcase>"
        )
    if not cases:
        cases.append('    <testcase classname="barostat check" name="nothing found"/>')
    failed = sum(one.severity != "note" for one in report.findings)
    skipped = len(report.findings) - failed
    head = (
        f'tests="{len(cases)}" failures="{failed}" errors="{len(report.unreadable)}" '
        f'skipped="{skipped}"'
    )
    rows = "\n".join(cases)
    suite = f'  <testsuite name="barostat check" {head}>\n{rows}\n  </testsuite>'
    return f'<?xml version="1.0" encoding="UTF-8"?>\n<testsuites {head}>\n{suite}\n</testsuites>\n'


def _escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _attribute(text: str) -> str:
    """The text as an attribute's value, quoted. (The standard library's own loads a web client for
    this.)
    """
    return (
        '"'
        + _escaped(text).replace('"', "&quot;").replace("\n", "&#10;").replace("\t", "&#9;")
        + '"'
    )


def _printable(text: str) -> str:
    """The text without what XML 1.0 cannot hold."""
    return visible(text)


def _markdown(report: CheckReport) -> str:
    if not report.findings:
        return f"{report.summary()}\n"
    rows = ["| place | severity | rule | what | fix |", "|---|---|---|---|---|"]
    for one in report.findings:
        place = code(f"{one.place.file}:{one.place.line}")
        rows.append(
            "| "
            + " | ".join(
                (
                    place,
                    one.severity,
                    code(one.rule),
                    in_markdown(one.message),
                    in_markdown(one.fix),
                )
            )
            + " |"
        )
    return "\n".join([*rows, "", report.summary()]) + "\n"
