"""The report as a table, JSON, annotations of GitHub, JUnit or Markdown; SARIF has a file of its
own.
"""

from __future__ import annotations

from typing import Any

from barostat.core.visible import visible
from barostat.lint.rule import NOT_CHECKED, NOTHING_CHECKED, Finding
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
            return "".join(map(_annotation, report.results))
        case "junit":
            return _junit(report)
        case "md":
            return _markdown(report)
        case _:
            return _table(report)


def _table(report: CheckReport) -> str:
    lines = []
    for one in report.results:
        sure = "" if one.confidence == "high" else f" ({one.confidence} confidence)"
        lines.append(f"{_place(one)}: {one.severity} {one.rule}{sure}")
        lines.append(f"    {one.message}")
        if one.fix:
            lines.append(f"    {fix_line(one)}")
    return "\n".join([*lines, report.summary()]) + "\n"


def fix_line(one: Finding) -> str:
    """The fix, and whether `--fix` can apply it."""
    return f"{'fix' if one.edits else 'by hand'}: {one.fix}"


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
        "unchecked": [finding_document(one) for one in report.unchecked],
        "unreadable": [
            f"{_place(one)}: {one.message}" for one in report.unchecked if one.severity == "error"
        ],
        "notes": list(report.notes),
        "assumedVersion": {"version": report.assumed[0], "engines": report.assumed[1]}
        if report.assumed is not None
        else None,
    }
    return json_text(document) + "\n"


_COMMANDS = {"error": "error", "warning": "warning", "note": "notice"}


def _annotation(one: Finding) -> str:
    """A workflow command. Source: GitHub, "Workflow commands for GitHub Actions" (escaping of data
    and properties).
    """
    message = _data(one.message + (f" ({fix_line(one)})" if one.fix else ""))
    file = _property(one.place.file)
    return (
        f"::{_COMMANDS[one.severity]} "
        f"file={file},line={one.place.line},col={one.place.column},title={one.rule}::{message}\n"
    )


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _junit(report: CheckReport) -> str:
    """Return a test case for each result: what was not checked is an error, findings are failures,
    notes are skipped tests. A clean report is one passed case.
    """
    cases = [_case(one) for one in report.results]
    if not cases:
        cases.append('    <testcase classname="barostat check" name="nothing found"/>')
    skipped = sum(one.severity == "note" for one in report.results)
    errors = sum(one.severity != "note" for one in report.unchecked)
    failures = sum(one.severity != "note" for one in report.findings)
    head = f'tests="{len(cases)}" failures="{failures}" errors="{errors}" skipped="{skipped}"'
    rows = "\n".join(cases)
    suite = f'  <testsuite name="barostat check" {head}>\n{rows}\n  </testsuite>'
    return f'<?xml version="1.0" encoding="UTF-8"?>\n<testsuites {head}>\n{suite}\n</testsuites>\n'


def _case(one: Finding) -> str:
    message = _attribute(visible(one.message))
    text = f"{_place(one)}: {one.message}" + (f"\n{fix_line(one)}" if one.fix else "")
    if one.severity == "note":
        inner = f"<skipped message={message}/>"
    else:
        tag = "error" if one.rule in (NOT_CHECKED, NOTHING_CHECKED) else "failure"
        body = _escaped(visible(text))
        inner = f"<{tag} type={_attribute(one.severity)} message={message}>{body}</{tag}>"
    return (
        f"    <testcase classname={_attribute(visible(one.place.file))} "
        f"name={_attribute(f'{one.rule} {_place(one)}')}>{inner}</testcase>"
    )


def _place(one: Finding) -> str:
    return f"{one.place.file}:{one.place.line}:{one.place.column}"


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


def _markdown(report: CheckReport) -> str:
    if not report.results:
        return f"{report.summary()}\n"
    rows = ["| place | severity | rule | what | fix |", "|---|---|---|---|---|"]
    for one in report.results:
        place = code(f"{one.place.file}:{one.place.line}")
        rows.append(
            "| "
            + " | ".join(
                (
                    place,
                    one.severity,
                    code(one.rule),
                    in_markdown(one.message),
                    in_markdown(fix_line(one)) if one.fix else "",
                )
            )
            + " |"
        )
    return "\n".join([*rows, "", report.summary()]) + "\n"
