"""The table of settings is whole: no name twice, each column valid, and its users named rightly."""

from __future__ import annotations

import re
from dataclasses import fields

import pytest

from barostat.catalog.settings import execution, model, pool, scheduling, server
from barostat.catalog.settings.other_arguments import LISTS, REMOVED, SWITCHES, VALUED
from barostat.catalog.settings.setting import Setting
from barostat.catalog.settings.table import ALIASES, OF_LIMITS, SETTINGS, bounds_of
from barostat.core.limits import EngineLimits
from barostat.core.version import parse_version
from barostat.engines.vllm.command_line.config import read_value
from barostat.engines.vllm.logs.reader import may_say_something

ROWS = [row for subject in (pool, scheduling, execution, model, server) for row in subject.SETTINGS]


def test_each_setting_stands_once() -> None:
    assert len(ROWS) == len(SETTINGS) > 80
    assert not set(SETTINGS) & (SWITCHES | LISTS | VALUED | set(REMOVED))
    spellings = [
        alias for row in ROWS for alias in (row.name, *row.aliases, *(s[2:] for s in row.short))
    ]
    assert len(spellings) == len(set(spellings))
    assert set(ALIASES.values()) <= set(SETTINGS) | SWITCHES | VALUED


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_each_column_is_valid(row: Setting) -> None:
    for version in (row.since, row.gone, *row.defaults, *row.by_card):
        assert not version or parse_version(version) is not None
    for default in row.defaults.values():
        assert read_value(row.name, str(default)) == default
        bounds = bounds_of(row.name)
        assert bounds is None or not isinstance(default, int | float) or default in bounds
    assert not row.choices or set(row.defaults.values()) <= set(row.choices)
    assert bool(row.instead) <= bool(row.gone)
    assert row.effect or not (row.sized or row.twin or row.limit) or row.name == "model"
    for pattern in row.log:
        assert re.compile(pattern).groups == 1


@pytest.mark.parametrize(
    "pattern", [pattern for row in ROWS for pattern in row.log], ids=lambda pattern: pattern[:40]
)
def test_the_log_reader_lets_each_start_up_line_through(pattern: str) -> None:
    literal = re.sub(
        r"\\(.)", r"\1", re.sub(r"\(\[?[^()]*\]?[+*]?\)|\\d\+|\(\?:|\[\w\w\]", "", pattern)
    )
    assert may_say_something(f"INFO {literal}")


def test_limits_bound_settings_of_the_table() -> None:
    assert set(OF_LIMITS) == {field.name for field in fields(EngineLimits)}
