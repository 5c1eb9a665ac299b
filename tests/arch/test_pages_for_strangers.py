"""What a stranger reads first is true: the version is one, the files that the pages name are
there.
"""

from __future__ import annotations

import hashlib
import re
import tomllib
from pathlib import Path

import pytest

import barostat

ROOT = Path(__file__).resolve().parents[2]
ROOMS = ("src/barostat/", "")
PAGES = [
    "CONTRIBUTING.md",
    "SECURITY.md",
    "CHANGELOG.md",
    *sorted(f"docs/decisions/{path.name}" for path in (ROOT / "docs" / "decisions").glob("*.md")),
]
NAMED = re.compile(r"`((?:[\w.-]+/)+[\w.-]*)`|\]\(((?!http)[^)#]+)\)")


def test_the_version_stands_in_one_place() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert "version" not in project["project"]
    assert project["tool"]["hatch"]["version"]["path"] == "src/barostat/core/release.py"
    assert f"## [{barostat.__version__}]" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def test_the_licence_is_whole_and_is_the_one_that_is_stated() -> None:
    text = (ROOT / "LICENSE").read_bytes()
    # The text of Apache-2.0 as it is published, to the byte.
    assert (
        hashlib.sha256(text).hexdigest()
        == "cfc7749b96f63bd31c3c42b5c471bf756814053e847c10f3eb003417bc523d30"
    )
    assert 'license = "Apache-2.0"' in (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert (ROOT / "src" / "barostat" / "py.typed").exists()


@pytest.mark.parametrize("page", PAGES)
def test_what_a_page_names_is_there(page: str) -> None:
    path = ROOT / page
    named = [code or link for code, link in NAMED.findall(path.read_text(encoding="utf-8"))]
    missing = [
        name
        for name in named
        if not name.startswith("barostat.dev/")
        and not any(
            _there(place / name) for place in (*(ROOT / room for room in ROOMS), path.parent)
        )
    ]
    assert not missing, f"{page} names what is not there: {missing}"


def _there(path: Path) -> bool:
    """True for a file, a folder, or a pattern that something fits."""
    return path.exists() or bool(list(path.parent.glob(path.name)) if "*" in path.name else [])


def test_something_is_named() -> None:
    """The pages do name files: an expression that fits nothing would hold nothing."""
    assert sum(len(NAMED.findall((ROOT / page).read_text(encoding="utf-8"))) for page in PAGES) > 50
