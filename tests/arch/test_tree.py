"""The shape of the tree: sizes, names, and no room that does not belong."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCES = sorted((ROOT / "src").rglob("*.py"))
LONGEST = 400
BANNED = ("utils", "util", "helper", "helpers", "manager", "misc", "common")


def test_something_is_scanned() -> None:
    assert len(SOURCES) > 50


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_file_is_one_room(path: Path) -> None:
    text = path.read_text()
    assert text.count("\n") <= LONGEST, f"{path} is longer than {LONGEST} lines: is it still one room?"
    assert path.stem not in BANNED
    tree = ast.parse(text)
    assert ast.get_docstring(tree), f"{path} has no docstring"
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.name.startswith("_"):
            assert ast.get_docstring(node), f"{path}:{node.lineno} {node.name} has no docstring"
