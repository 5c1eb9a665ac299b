"""The contract of `-o json`: what is written keeps its published schema, which describes every
field; what was written once still does.

`tests/data/documents/` holds one document of each kind as it was first published. They are never
made anew: where one no longer keeps its schema, a reader of old documents would break, and the
schema is what must change back.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from tests.support.documents import documents, limits_file, printed

from barostat.io.input_files.limits_schema import json_schema
from barostat.remedy.record import from_json

ROOT = Path(__file__).parents[2]
SCHEMAS = ROOT / "docs" / "reference" / "schemas"
OLD = ROOT / "tests" / "data" / "documents"
NAMES = tuple(documents())


def schema(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(
        (SCHEMAS / f"{name}.schema.json").read_text(encoding="utf-8")
    )
    return found


def strict(part: Any) -> Any:
    """The same schema where a field that is not described is an error; readers may meet fields that
    came later, we may not write them.
    """
    if isinstance(part, list):
        return [strict(one) for one in part]
    if not isinstance(part, dict):
        return part
    found = {
        key: {name: strict(one) for name, one in value.items()}
        if key == "properties"
        else strict(value)
        for key, value in part.items()
    }
    return {"additionalProperties": False, **found} if "properties" in part else found


def wrong(rules: dict[str, Any], document: Any) -> list[str]:
    return [
        f"{'.'.join(map(str, error.path))}: {error.message[:300]}"
        for error in Draft202012Validator(rules).iter_errors(document)
    ]


FEW, EACH = 8, 7
"""Of which there are more than so many documents, `make check` makes each seventh."""
MADE = [
    (name, slice(None, None, EACH if len(makes) > FEW else None))
    for name, makes in documents().items()
]
REST = [
    (name, slice(start, None, EACH))
    for name, makes in documents().items()
    if len(makes) > FEW
    for start in range(1, EACH)
]


@pytest.mark.parametrize(
    ("name", "which"), [*MADE, *(pytest.param(*one, marks=pytest.mark.sweep) for one in REST)]
)
def test_what_is_written_keeps_its_schema_which_describes_every_field(
    name: str, which: slice, tmp_path: Path
) -> None:
    rules = schema(name)
    Draft202012Validator.check_schema(rules)
    all_of_it = strict(rules)
    for make in documents()[name][which]:
        assert not wrong(all_of_it, make(tmp_path))


@pytest.mark.parametrize("name", NAMES)
def test_what_was_written_once_still_keeps_it(name: str) -> None:
    document = json.loads((OLD / f"{name}.json").read_text(encoding="utf-8"))
    assert not wrong(schema(name), document)


@pytest.mark.parametrize("name", NAMES)
def test_a_document_that_lacks_a_field_is_told(name: str) -> None:
    rules = schema(name)
    document = json.loads((OLD / f"{name}.json").read_text(encoding="utf-8"))
    for field in rules["required"]:
        assert wrong(rules, {key: value for key, value in document.items() if key != field})
    assert wrong(strict(rules), {**document, "undescribed": 1})


def test_every_schema_has_its_documents() -> None:
    assert sorted(
        path.name.removesuffix(".schema.json") for path in SCHEMAS.glob("*.json")
    ) == sorted(NAMES)
    assert sorted(path.stem for path in OLD.glob("*.json")) == sorted(NAMES)


def test_limits_as_they_are_shown_keep_the_schema_of_the_limits_file(tmp_path: Path) -> None:
    assert not wrong(json_schema(), printed("limits", "show", str(limits_file(tmp_path, "H100"))))


def test_an_old_record_is_read() -> None:
    document = json.loads((OLD / "incident.json").read_text(encoding="utf-8"))
    assert document.pop("seen")
    assert from_json(json.dumps(document)).phase == "Done"
