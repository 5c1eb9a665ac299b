"""What SARIF 2.1.0 requires of the parts that a check writes, as a JSON Schema of our own: required
keys, types, bounds, closed lists.

No package that we could depend on carries the official schema file (sarif-om and sarif-tools do
not), and a copy of it has no place in this tree; so its demands on the objects that we use are
written down here, each object closed, so that a misspelt key is an error.
Source: OASIS SARIF 2.1.0, the sections on sarifLog, run, tool, toolComponent, invocation, result,
location, region, suppression, reportingDescriptor, reportingConfiguration, fix and notification.
"""

from __future__ import annotations

from typing import Any

LEVELS = ["none", "note", "warning", "error"]
_TEXT = {"type": "string", "minLength": 1}
_MESSAGE = {
    "type": "object",
    "required": ["text"],
    "properties": {"text": _TEXT},
    "additionalProperties": False,
}
_PROPERTIES = {
    "type": "object",
    "properties": {"tags": {"type": "array", "items": {"type": "string"}, "uniqueItems": True}},
}


def _closed(required: list[str], **properties: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "required": required,
        "properties": properties,
        "additionalProperties": False,
    }


def _list(items: dict[str, Any], least: int = 0) -> dict[str, Any]:
    return {"type": "array", "items": items, "minItems": least}


_ARTIFACT = _closed(
    ["uri"],
    uri={
        "type": "string",
        "format": "uri-reference",
        "pattern": r"^(?!/|[A-Za-z]+:)[A-Za-z0-9/._~%-]+$",
    },
)
_REGION = _closed(
    ["startLine"],
    startLine={"type": "integer", "minimum": 1},
    startColumn={"type": "integer", "minimum": 1},
)
_REPLACED = _closed(
    ["charOffset", "charLength"],
    charOffset={"type": "integer", "minimum": 0},
    charLength={"type": "integer", "minimum": 0},
)
_RULE = _closed(
    ["id"],
    id={"type": "string", "pattern": "^[a-z0-9-]+$"},
    shortDescription=_MESSAGE,
    fullDescription=_MESSAGE,
    help=_MESSAGE,
    defaultConfiguration=_closed([], level={"enum": LEVELS}),
    properties=_PROPERTIES,
)
_REPLACEMENT = _closed(
    ["deletedRegion"],
    deletedRegion=_REPLACED,
    insertedContent=_closed(["text"], text={"type": "string"}),
)
_FIX = _closed(
    ["artifactChanges"],
    description=_MESSAGE,
    artifactChanges=_list(
        _closed(
            ["artifactLocation", "replacements"],
            artifactLocation=_ARTIFACT,
            replacements=_list(_REPLACEMENT, 1),
        ),
        1,
    ),
)
_RESULT = _closed(
    ["message", "ruleId"],
    ruleId={"type": "string"},
    ruleIndex={"type": "integer", "minimum": 0},
    level={"enum": LEVELS},
    message=_MESSAGE,
    locations=_list(
        _closed(
            ["physicalLocation"],
            physicalLocation=_closed(
                ["artifactLocation"], artifactLocation=_ARTIFACT, region=_REGION
            ),
        ),
        1,
    ),
    partialFingerprints={"type": "object", "additionalProperties": {"type": "string"}},
    suppressions=_list(
        _closed(
            ["kind"], kind={"enum": ["inSource", "external"]}, justification={"type": "string"}
        ),
        1,
    ),
    fixes=_list(_FIX, 1),
    properties=_PROPERTIES,
)
_INVOCATION = _closed(
    ["executionSuccessful"],
    executionSuccessful={"type": "boolean"},
    toolExecutionNotifications=_list(
        _closed(["message"], level={"enum": LEVELS}, message=_MESSAGE)
    ),
)
_DRIVER = _closed(
    ["name"],
    name=_TEXT,
    version={"type": "string"},
    semanticVersion={"type": "string", "pattern": r"^\d+\.\d+\.\d+"},
    rules={**_list(_RULE), "uniqueItems": True},
)
_RUN = _closed(
    ["tool"],
    tool=_closed(["driver"], driver=_DRIVER),
    columnKind={"enum": ["utf16CodeUnits", "unicodeCodePoints"]},
    results=_list(_RESULT),
    invocations=_list(_INVOCATION),
)
SCHEMA: dict[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    **_closed(
        ["version", "runs"],
        **{
            "$schema": {
                "type": "string",
                "format": "uri",
                "pattern": r"sarif-schema-2\.1\.0\.json$",
            }
        },
        version={"const": "2.1.0"},
        runs=_list(_RUN),
    ),
}
