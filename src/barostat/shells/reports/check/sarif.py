"""The report as SARIF 2.1.0, as code scanning takes it.

Source: OASIS SARIF 2.1.0; GitHub, "SARIF support for code scanning" (rules with help,
security-severity left out, fingerprints).
"""

from __future__ import annotations

import hashlib
import inspect
import os
import sys
from typing import Any
from urllib.parse import quote

from barostat.core.release import __version__
from barostat.lint.document import Edit
from barostat.lint.rule import NOT_CHECKED, NOTHING_CHECKED, Finding, Rule
from barostat.lint.rules import rules
from barostat.shells.reports.check.report import CheckReport
from barostat.shells.reports.json_text import json_text
from barostat.shells.reports.rule_pages import summary

SCHEMA = (
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
)
_PRECISION = {"high": "very-high", "medium": "medium", "low": "low"}
_WITHOUT_PAGE = {
    "drift": "the running engine is not what is declared",
    "unused-suppression": "a comment that allows nothing",
    "suppression-without-reason": "a comment without a reason",
    "rule-failed": "a rule that failed",
    NOT_CHECKED: "something could not be read",
    NOTHING_CHECKED: "nothing could be read",
}


def sarif(report: CheckReport) -> str:
    """The log, one run."""
    known = [_rule(rule) for rule in rules()]
    known += [
        {"id": name, "shortDescription": {"text": text}} for name, text in _WITHOUT_PAGE.items()
    ]
    index = {rule["id"]: place for place, rule in enumerate(known)}
    seen: dict[str, int] = {}
    results = [_result(one, index, seen) for one in report.results]
    for one, reason in report.suppressed:
        results.append(
            {
                **_result(one, index, seen),
                "suppressions": [{"kind": "inSource", "justification": reason}],
            }
        )
    run: dict[str, Any] = {
        "tool": {
            "driver": {
                "name": "barostat",
                "version": __version__,
                "semanticVersion": __version__,
                "rules": known,
            }
        },
        "columnKind": "unicodeCodePoints",
        "results": results,
        "invocations": [
            {
                "executionSuccessful": not report.is_incomplete,
                "toolExecutionNotifications": [
                    {
                        "level": one.severity,
                        "message": {"text": f"{one.place.file}: {one.message}"},
                    }
                    for one in report.unchecked
                ],
            }
        ],
    }
    return json_text({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}) + "\n"


def _rule(rule: Rule) -> dict[str, Any]:
    page = inspect.cleandoc(sys.modules[rule.judge.__module__].__doc__ or "")
    return {
        "id": rule.name,
        "shortDescription": {"text": rule.title},
        "fullDescription": {"text": summary(page)},
        "help": {"text": page},
        "defaultConfiguration": {"level": rule.severity},
        "properties": {"precision": _PRECISION[rule.confidence], "tags": [rule.persona]},
    }


def _result(one: Finding, index: dict[str, int], seen: dict[str, int]) -> dict[str, Any]:
    # A file's name need not be UTF-8: its own bytes are what a URI escapes.
    uri = quote(os.fsencode(one.place.file.replace("\\", "/").removeprefix("./")), safe="/.-_~")
    # The line is not part of the fingerprint: a finding stays the same when something is added
    # above it.
    told = f"{one.rule}\0{one.place.file}\0{one.message}"
    seen[told] = seen.get(told, 0) + 1
    result: dict[str, Any] = {
        "ruleId": one.rule,
        "ruleIndex": index[one.rule],
        "level": one.severity,
        "message": {
            "text": one.message
            + (f". {'Fix' if one.edits else 'By hand'}: {one.fix}" if one.fix else "")
        },
        "locations": [
            {
                "physicalLocation": {
                    "artifactLocation": {"uri": uri},
                    "region": {"startLine": one.place.line, "startColumn": one.place.column},
                }
            }
        ],
        "partialFingerprints": {
            "barostat/v1": hashlib.sha256(os.fsencode(f"{told}\0{seen[told]}")).hexdigest()[:32]
        },
        "properties": {"confidence": one.confidence},
    }
    if one.edits:
        result["fixes"] = [
            {
                "description": {"text": one.fix or "mend it"},
                "artifactChanges": [
                    {
                        "artifactLocation": {"uri": uri},
                        "replacements": [_replacement(edit) for edit in one.edits],
                    }
                ],
            }
        ]
    return result


def _replacement(edit: Edit) -> dict[str, Any]:
    return {
        "deletedRegion": {"charOffset": edit.start, "charLength": edit.end - edit.start},
        "insertedContent": {"text": edit.text},
    }
