"""A validation in the form that was asked for."""

from __future__ import annotations

import json

from barostat.shells.reports.load.validation import (
    Validated,
    certificate_text,
    junit,
    validation_json,
    validation_table,
)


def rendered(found: Validated, form: str) -> str:
    """The validation in that form, with its last line ended."""
    match form:
        case "json":
            return json.dumps(validation_json(found), indent=2) + "\n"
        case "certificate":
            return certificate_text(found)
        case "junit":
            return junit(found)
        case "html":
            from barostat.shells.reports.load.validation_page import validation_html

            return validation_html(found)
        case _:
            return validation_table(found)
