"""The shape of the tree: names, and no room that does not belong."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SOURCES = sorted((ROOT / "src").rglob("*.py"))
BANNED = ("utils", "util", "helper", "helpers", "manager", "misc", "common")


def test_something_is_scanned() -> None:
    assert len(SOURCES) > 50


def test_a_file_is_one_room() -> None:
    wrong = [told for path in SOURCES for told in _against(path)]
    assert not wrong, "\n".join(wrong)


def _against(path: Path) -> Iterator[str]:
    text, name = path.read_text(), path.relative_to(ROOT)
    if path.stem in BANNED:
        yield f"{name}: {path.stem} says nothing"
    tree = ast.parse(text)
    if not ast.get_docstring(tree):
        yield f"{name} has no docstring"
    for node in tree.body:
        if (
            isinstance(node, ast.FunctionDef | ast.ClassDef)
            and not node.name.startswith("_")
            and not ast.get_docstring(node)
        ):
            yield f"{name}:{node.lineno} {node.name} has no docstring"


def test_unit_tests_mirror_the_source() -> None:
    """`tests/unit/ROOM/test_MODULE[_ASPECT].py` is about `src/barostat/ROOM/MODULE.py`, or about
    the package `ROOM` itself.
    """
    unit = ROOT / "tests" / "unit"
    found = sorted(unit.rglob("test_*.py"))
    assert len(found) > 100
    wrong = [
        str(path.relative_to(ROOT)) for path in found if not _has_its_module(path.relative_to(unit))
    ]
    assert not wrong, f"about which module of src are these: {wrong}"


def _has_its_module(test: Path) -> bool:
    room = ROOT / "src" / "barostat" / test.parent
    about = test.stem.removeprefix("test_")
    names = [path.stem for path in room.glob("*.py")] + [room.name]
    return room.is_dir() and any(about == name or about.startswith(f"{name}_") for name in names)


def test_everything_beside_the_tests_stands_in_support() -> None:
    strays = [
        str(path.relative_to(ROOT))
        for path in (ROOT / "tests" / "unit").rglob("*.py")
        if not path.name.startswith("test_")
    ]
    assert not strays, strays


def test_every_room_says_what_is_in_it() -> None:
    for folder in {path.parent for path in SOURCES}:
        page = (
            ast.get_docstring(ast.parse((folder / "__init__.py").read_text(encoding="utf-8"))) or ""
        )
        assert page.strip().endswith("."), (
            f"{folder.relative_to(ROOT)}/__init__.py has no sentence that says what is in it"
        )


def test_the_map_is_true() -> None:
    """Every path that ARCHITECTURE.md names is there, every room of the source is in its table, and
    its glossary stays short.
    """
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    named = {
        name
        for name in re.findall(r"`([\w./-]+/[\w.-]*)`", text)
        if "*" not in name and "<" not in name
    }
    assert len(named) > 40
    places = [ROOT, ROOT / "src" / "barostat"]
    gone = sorted(
        name
        for name in named
        if not any((place / name).exists() for place in places) and not name.startswith("deploy/")
    )
    assert not [name for name in gone if not _is_below_a_room(name)], gone
    rooms = {
        path.name
        for path in (ROOT / "src" / "barostat").iterdir()
        if path.is_dir() and path.name != "__pycache__"
    }
    assert not [room for room in sorted(rooms) if f"`{room}/" not in text]
    glossary = text.split("## Glossary")[1].split("\n## ")[0]
    words = re.findall(r"^\| ([\w -]+) \| ", glossary, flags=re.MULTILINE)[1:]
    assert 20 <= len(words) == len(set(words)) <= 40


def _is_below_a_room(name: str) -> bool:
    """A folder named as its room's table names it: `metrics/` of engines/vllm."""
    return name.endswith("/") and any(
        path.is_dir() for path in (ROOT / "src" / "barostat").rglob(name.rstrip("/"))
    )
