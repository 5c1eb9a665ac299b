"""The pages of causes, symptoms, levers, alerts and of the rules of `barostat check`: each is its
module's docstring.
"""

from __future__ import annotations

import difflib
import inspect
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Literal

from barostat.alerts.healthy_hours import said_of
from barostat.alerts.named import alerts
from barostat.judge.diagnosis.causes import causes
from barostat.levers import levers
from barostat.lint.rules import rules
from barostat.symptoms import symptoms


@dataclass(frozen=True, slots=True)
class Page:
    """One page. `text` is plain prose with its sections as paragraphs."""

    name: str
    kind: Literal["cause", "symptom", "lever", "rule", "alert"]
    title: str
    text: str


@cache
def pages() -> Mapping[str, Page]:
    """Every page by name: causes by rank, then symptoms, levers, alerts and rules by name; of two
    with one name the rule gives way.
    """
    found = [Page(cause.name, "cause", cause.title, _docstring(cause.judge)) for cause in causes()]
    found += [
        Page(symptom.name, "symptom", symptom.title, _page(_symptom_module(symptom.name)))
        for symptom in symptoms()
    ]
    found += [
        Page(lever.name, "lever", str(lever.title), _docstring(lever.propose)) for lever in levers()
    ]
    found += [
        Page(
            alert.name,
            "alert",
            alert.title,
            f"{_docstring(alert.expression)}\nHealthy: {said_of(alert.name)}",
        )
        for alert in alerts()
    ]
    checked = [Page(rule.name, "rule", rule.title, _docstring(rule.judge)) for rule in rules()]
    return {page.name: page for page in [*checked, *found]}


def nearest(name: str, known: Mapping[str, Page]) -> list[str]:
    """Up to three names that look like this one."""
    return (
        difflib.get_close_matches(name, known, n=3, cutoff=0.6)
        or [other for other in known if name in other][:3]
    )


def summary(page: str) -> str:
    """The page's first paragraph, on one line: up to a blank line or the first section."""
    return " ".join(re.split(r"\n\n|\n(?=[A-Z][a-z]+(?: [a-z]+)?: )", page, maxsplit=1)[0].split())


def _symptom_module(name: str) -> str:
    return f"barostat.symptoms.{name.replace('-', '_')}"


def _docstring(rule: object) -> str:
    return _page(getattr(rule, "__module__", ""))


def _page(module: str) -> str:
    return inspect.cleandoc(sys.modules[module].__doc__ or "")
