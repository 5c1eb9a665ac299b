"""The room of the levers keeps its order: every lever has its page, its name, causes and signals
that exist.
"""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import pytest

import barostat
from barostat import levers as package
from barostat.catalog.signals import SIGNALS
from barostat.core.diagnosis import CAUSES
from barostat.core.lever import Lever
from barostat.core.rules import module_names
from barostat.levers import levers
from barostat.shells.reports.rule_pages import summary

SOURCE = Path(barostat.__file__).parent
SECTIONS = ("Meaning", "When", "Not when", "Undo", "Proof", "Source")
SIGNAL_READ = re.compile(
    r'(?:(?:last|mean)_of\(\s*(?:situation\.)?window,|\.fresh\()\s*"([a-z0-9_]+)"'
)
NAMES = module_names(package.__path__)


def _lever(name: str) -> Lever:
    value: Lever = importlib.import_module(f"barostat.levers.{name}").LEVER
    return value


def test_the_room_was_scanned() -> None:
    assert len(NAMES) >= 40
    assert len(levers()) == len(NAMES) == len({lever.name for lever in levers()})


@pytest.mark.parametrize("name", NAMES)
def test_name_is_the_file(name: str) -> None:
    assert _lever(name).name.replace("-", "_") == name
    assert 0 < len(str(_lever(name).title)) <= 60


@pytest.mark.parametrize("name", NAMES)
def test_page_has_its_sections_in_order(name: str) -> None:
    page = importlib.import_module(f"barostat.levers.{name}").__doc__ or ""
    found = re.findall(r"^([A-Z][a-z]+(?: [a-z]+)?): \S", page, flags=re.MULTILINE)
    assert tuple(section for section in found if section in SECTIONS) == SECTIONS
    assert summary(page).endswith(".")


@pytest.mark.parametrize("name", NAMES)
def test_causes_exist_and_are_named_once(name: str) -> None:
    causes = _lever(name).causes
    assert causes
    assert set(causes) <= set(CAUSES)
    assert len(causes) == len(set(causes))


def test_every_signal_read_by_a_lever_exists() -> None:
    read = {
        (path.name, found)
        for path in (SOURCE / "levers").glob("*.py")
        for found in SIGNAL_READ.findall(path.read_text(encoding="utf-8"))
    }
    assert len(read) > 40
    assert {found for _, found in read} <= set(SIGNALS)
