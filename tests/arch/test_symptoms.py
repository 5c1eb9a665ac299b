"""The room of the symptoms keeps its order: every rule has its page, its scenario, its name and
signals that exist.
"""

from __future__ import annotations

import importlib
import re
import warnings
from pathlib import Path

import pytest

import barostat
from barostat import symptoms as package
from barostat.catalog.signals import SIGNALS
from barostat.core.rules import module_names
from barostat.core.symptom import Symptom
from barostat.shells.reports.rule_pages import pages, summary
from barostat.symptoms import symptoms

SOURCE = Path(barostat.__file__).parent
SCENARIOS = Path(__file__).parents[1] / "scenario"
SECTIONS = ("Meaning", "Impact", "Evidence", "Not evidence", "Mitigation", "Source")
SIGNAL_READ = re.compile(r'window(?:\.fresh\(|\.read\(|\[)\s*"([a-z0-9_]+)"')
NAMES = module_names(package.__path__)


def _symptom(name: str) -> Symptom:
    value: Symptom = importlib.import_module(f"barostat.symptoms.{name}").SYMPTOM
    return value


def test_the_room_was_scanned() -> None:
    assert len(NAMES) >= 60
    assert len(symptoms()) == len(NAMES) == len({symptom.name for symptom in symptoms()})


@pytest.mark.parametrize("name", NAMES)
def test_name_is_the_file(name: str) -> None:
    assert _symptom(name).name.replace("-", "_") == name
    assert _symptom(name).title
    assert len(_symptom(name).title) <= 60


@pytest.mark.parametrize("name", NAMES)
def test_page_has_its_sections_in_order(name: str) -> None:
    page = importlib.import_module(f"barostat.symptoms.{name}").__doc__ or ""
    found = re.findall(r"^([A-Z][a-z]+(?: [a-z]+)?): \S", page, flags=re.MULTILINE)
    assert tuple(section for section in found if section in SECTIONS) == SECTIONS
    assert summary(page).endswith(".")


@pytest.mark.parametrize("name", NAMES)
def test_needs_are_signals_that_exist(name: str) -> None:
    symptom = _symptom(name)
    assert symptom.needs or symptom.needs_any
    assert set(symptom.needs) | set(symptom.needs_any) <= set(SIGNALS)


def test_every_signal_read_by_a_rule_exists() -> None:
    read = {
        (path.name, found)
        for path in (SOURCE / "symptoms").glob("*.py")
        for found in SIGNAL_READ.findall(path.read_text(encoding="utf-8"))
    }
    assert len(read) > 50
    assert {pair for pair in read if pair[1] not in SIGNALS} == set()


@pytest.mark.parametrize("name", NAMES)
def test_scenario_has_present_and_absent(name: str) -> None:
    path = SCENARIOS / f"{_symptom(name).name}.txt"
    verdicts = re.findall(r"^expect (\w+)", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert {"Present", "Absent"} <= set(verdicts)


def test_every_scenario_is_somebodys() -> None:
    assert {path.stem for path in SCENARIOS.glob("*.txt")} == {
        symptom.name for symptom in symptoms()
    }


def test_most_signals_are_read_and_the_others_are_listed() -> None:
    text = "\n".join(
        path.read_text(encoding="utf-8")
        for room in ("symptoms", "levers", "judge")
        for path in (SOURCE / room).rglob("*.py")
    )
    unread = sorted(name for name in SIGNALS if f'"{name}"' not in text)
    if unread:
        warnings.warn(f"signals that no rule reads yet: {', '.join(unread)}", stacklevel=1)
    assert len(unread) < len(SIGNALS) / 2, unread


def test_no_two_rules_have_the_same_page() -> None:
    texts = [page.text for page in pages().values()]
    assert len(texts) == len(set(texts))
