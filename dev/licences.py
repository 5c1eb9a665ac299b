"""Under which licences the libraries stand that a user of Barostat gets: those that
`pyproject.toml` asks for, and what these need.

Read from what each package says of itself where it is installed (importlib.metadata). What binds
whoever builds on it is refused.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parents[1]
EXTRAS = ("gateway", "load", "twin", "envoy", "budget")
BINDING = re.compile(
    r"\b(?:A?GPL|GNU (?:Affero )?General Public|SSPL|Server Side Public|BUSL|Business Source|EUPL|CC-BY-(?:NC|SA))",
    re.IGNORECASE,
)
"""Binds the work that is built on it, or its use. The Lesser GPL and the Mozilla Public License
bind their own files only.
"""
_SHORT = 80


@dataclass(frozen=True, slots=True)
class Licensed:
    """One library. `by`: what asked for it, `base` or an extra; `licence` as the package says it,
    empty where it says nothing.
    """

    name: str
    by: str
    licence: str


def libraries() -> tuple[Licensed, ...]:
    """All of them, by name. Errors: PackageNotFoundError where one is not installed."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    found: dict[str, Licensed] = {}
    for by, asked in (
        ("base", project["dependencies"]),
        *((name, project["optional-dependencies"][name]) for name in EXTRAS),
    ):
        for name in _needed(asked):
            found.setdefault(name, Licensed(name, by, licence_of(metadata.metadata(name))))
    return tuple(found[name] for name in sorted(found))


def _needed(asked: Iterable[str]) -> list[str]:
    """Their names and those that they need, without the extras of theirs that nobody asked for."""
    seen: list[str] = []
    left = [one for one in asked if not one.startswith("barostat[")]
    while left:
        one = Requirement(left.pop())
        name = re.sub(r"[-_.]+", "-", one.name).lower()
        if name in seen or (one.marker is not None and not one.marker.evaluate({"extra": ""})):
            continue
        seen.append(name)
        left += metadata.requires(name) or ()
    return seen


def licence_of(told: metadata.PackageMetadata) -> str:
    """What the package's metadata say: the expression, else the classifiers, else a short licence
    field.
    """
    said = told.get_all("Classifier") or []
    named = [
        one.rpartition(" :: ")[2] for one in said if one.startswith("License :: OSI Approved :: ")
    ]
    field = "".join(told.get_all("License") or []).strip()
    short = field if len(field) < _SHORT and "\n" not in field else ""
    return str("".join(told.get_all("License-Expression") or []) or "; ".join(named) or short)


def binds(licence: str) -> bool:
    """True where it binds what is built on it, in each of its choices; also where nothing is
    said.
    """
    return not licence or all(
        BINDING.search(one) for one in re.split(r"\s+OR\s+", licence.replace("LGPL", "lesser"))
    )


def licences_page() -> str:
    """The page."""
    rows = [f"| {one.name} | {one.by} | {one.licence} |" for one in libraries()]
    said = (
        "What comes with `pip install barostat`, and with its extras `gateway`, `load`, `twin`, `envoy` and `budget`. "
        "Barostat itself stands under Apache-2.0 and has "
        "none of their code in it. A test refuses a library whose licence binds what is "
        "built on it (GPL, AGPL and the like), or "
        "that says none."
    )
    return (
        (
            f"# Licences of the libraries\n\n{said}\n\n| library | for | licence, as it says "
            "itself |\n|---|---|---|\n"
        )
        + "\n".join(rows)
        + "\n"
    )
