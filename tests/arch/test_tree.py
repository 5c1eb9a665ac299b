"""The shape of the tree: sizes, names, and no room that does not belong."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SOURCES = sorted((ROOT / "src").rglob("*.py"))
LONGEST = 400
BANNED = ("utils", "util", "helper", "helpers", "manager", "misc", "common")


def test_something_is_scanned() -> None:
    assert len(SOURCES) > 50


def test_a_file_is_one_room() -> None:
    wrong = [told for path in SOURCES for told in _against(path)]
    assert not wrong, "\n".join(wrong)


def _against(path: Path) -> Iterator[str]:
    text, name = path.read_text(), path.relative_to(ROOT)
    if text.count("\n") > LONGEST:
        yield f"{name} is longer than {LONGEST} lines: is it still one room?"
    if path.stem in BANNED:
        yield f"{name}: {path.stem} says nothing"
    tree = ast.parse(text)
    if not ast.get_docstring(tree):
        yield f"{name} has no docstring"
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.name.startswith("_") and not ast.get_docstring(node):
            yield f"{name}:{node.lineno} {node.name} has no docstring"
