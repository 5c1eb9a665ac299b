"""Markup stands in the templates of `shells/reports/sheet/html/`: nothing else writes a tag."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
RENDERER = ROOT / "src/barostat/shells/reports/sheet/html"
_TAG = re.compile(
    r"</?(?:!doctype|html|head|body|main|header|footer|section|h[1-6]|p|div|span|b|i|small|code|br|wbr|ul|ol|li|dl|dt|dd"
    r"|table|tr|td|th|details|summary|figure|figcaption|svg|g|path|rect|circle|polyline|text|tspan|title|style|meta)"
    r"(?:\s[^<>]*)?/?>",
    re.IGNORECASE,
)


def _texts(path: Path) -> Iterator[tuple[int, str]]:
    """The string constants of the module, without its docstrings."""
    tree = ast.parse(path.read_text())
    spoken = {
        id(node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and id(node) not in spoken
        ):
            yield node.lineno, node.value


def test_no_module_but_the_renderer_writes_a_tag() -> None:
    rooms = (
        ROOT / "src/barostat/shells",
        ROOT / "dev/demo_page.py",
        ROOT / "dev/dashboards/drawn.py",
    )
    paths = [path for room in rooms for path in (room.rglob("*.py") if room.is_dir() else [room])]
    assert len(paths) > 100
    wrong = [
        f"{path.relative_to(ROOT)}:{line} {found[0]}"
        for path in paths
        if RENDERER not in path.parents
        for line, text in _texts(path)
        if (found := _TAG.search(text))
    ]
    assert not wrong, "\n".join(wrong)


def test_the_check_sees_a_tag() -> None:
    assert any(_TAG.search(text) for _, text in _texts(RENDERER / "line_breaks.py"))
