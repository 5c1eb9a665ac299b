"""JSON that every reader takes."""

from __future__ import annotations

import json
import math

import pytest

from barostat.shells.reports.json_text import json_text


def test_what_is_no_number_is_null() -> None:
    def refuse(word: str) -> None:
        pytest.fail(word)

    told = json_text({"a": math.nan, "b": [math.inf, (-math.inf, 1.5)], "c": {"d": 2}})
    assert json.loads(told, parse_constant=refuse) == {
        "a": None,
        "b": [None, [None, 1.5]],
        "c": {"d": 2},
    }
