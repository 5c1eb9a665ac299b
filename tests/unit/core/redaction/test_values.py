"""Texts in values of any shape are cleaned; what holds no secret stays the very same object."""

from __future__ import annotations

from barostat.core.diagnosis import Diagnosis
from barostat.core.redaction.credentials import clean
from barostat.core.redaction.values import every_text

KEY = "hf_" + "a1B2c3D4e5F6g7"


def test_texts_are_cleaned_however_deep() -> None:
    found = every_text(
        {"a": [("x", f"used {KEY}")], "b": Diagnosis("unknown", "info", 0.0, f"token={KEY}")}, clean
    )
    assert KEY not in str(found)
    assert found["a"] == [("x", "used [redacted]")]


def test_what_holds_none_is_the_same_object() -> None:
    value = {
        "a": (1, 2.0, None, "tokens: 3"),
        "b": Diagnosis("unknown", "info", 0.0, "Cannot tell."),
    }
    assert every_text(value, clean) is value
