"""Every rule's page is its test: what it calls bad is found, what it calls good is not."""

from __future__ import annotations

import importlib
import re
import textwrap

import pytest

from barostat.core.rules import module_names
from barostat.io.manifests.read import document_of, limits_complaints
from barostat.judge.manifest_check.check import check
from barostat.lint import rules as package
from barostat.lint.rule import Finding, Rule
from barostat.lint.rules import rules
from barostat.shells.reports.rule_pages import summary

NAMES = module_names(package.__path__)
SECTIONS = ("Meaning", "Impact", "Bad", "Good", "Fix", "Source")


def _page(name: str) -> str:
    return importlib.import_module(f"{package.__name__}.{name}").__doc__ or ""


def _rule(name: str) -> Rule:
    value: Rule = importlib.import_module(f"{package.__name__}.{name}").RULE
    return value


def _example(name: str, section: str) -> list[Finding]:
    match = re.search(rf"^{section}:\n\n((?:    .*\n|\n)+)", _page(name), re.MULTILINE)
    assert match, f"{name} has no {section}"
    document = document_of(textwrap.dedent(match[1]), "example")
    assert not document.problem, document.problem
    assert document.roots
    return list(check([document], persona="pedant", complaints=limits_complaints).findings)


def test_the_room_was_scanned() -> None:
    assert len(NAMES) >= 50
    assert len({rule.name for rule in rules()}) == len(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_what_is_bad_is_found(name: str) -> None:
    found = _example(name, "Bad")
    assert [one for one in found if one.rule == "rule-failed"] == []
    assert _rule(name).name in {one.rule for one in found}


@pytest.mark.parametrize("name", NAMES)
def test_what_is_good_is_not(name: str) -> None:
    assert _rule(name).name not in {one.rule for one in _example(name, "Good")}


@pytest.mark.parametrize("name", NAMES)
def test_name_is_the_file_and_the_page_is_whole(name: str) -> None:
    rule = _rule(name)
    assert rule.name.replace("-", "_") == name
    assert 0 < len(rule.title) <= 60
    page = _page(name)
    assert summary(page).endswith(".")
    assert tuple(re.findall(rf"^({'|'.join(SECTIONS)}):", page, re.MULTILINE)) == SECTIONS
