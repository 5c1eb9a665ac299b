"""No import circle at module level: in the package, `dev` and `bench`. Imports inside functions and
imports for types only count like any other.
"""

from __future__ import annotations

import ast
import tomllib
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
Graph = dict[str, set[str]]


def modules() -> dict[str, Path]:
    """The file of each module, by its dotted name."""
    files = {path: path.relative_to(ROOT / "src") for path in (ROOT / "src").rglob("*.py")}
    for folder in ("dev", "bench"):
        files |= {path: path.relative_to(ROOT) for path in (ROOT / folder).rglob("*.py")}
    return {
        ".".join(name.with_suffix("").parts).removesuffix(".__init__"): path
        for path, name in files.items()
    }


def statements(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Every statement, at any depth."""
    for statement in body:
        yield statement
        for inner in ("body", "orelse", "finalbody"):
            yield from statements(getattr(statement, inner, []))
        for part in (*getattr(statement, "handlers", ()), *getattr(statement, "cases", ())):
            yield from statements(part.body)


def imported(module: str, tree: ast.Module, *, is_package: bool) -> Iterator[str]:
    """The names that a module imports: of `from a import b` first `a.b`, then `a`."""
    for node in statements(tree.body):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            parts = module.split(".")
            above = parts[: len(parts) - node.level + is_package] if node.level else []
            base = ".".join([*above, node.module] if node.module else above)
            yield from (f"{base}.{alias.name}" for alias in node.names)
            yield base


def graph_of(files: dict[str, Path]) -> Graph:
    graph: Graph = {}
    for module, path in files.items():
        tree = ast.parse(path.read_text(encoding="utf-8"))
        names = imported(module, tree, is_package=path.name == "__init__.py")
        graph[module] = {name for name in names if name in files and name != module}
    return graph


def circles(graph: Graph) -> list[list[str]]:
    """Modules that import each other, directly or through others."""
    left = _turned(_turned(graph))  # the modules in a circle, and those between two circles
    found: list[list[str]] = []
    while left:
        first = min(left)
        together = (_reach(first, left) & _reach(first, _turned(left, trim=False))) | {first}
        found.append(sorted(together))
        left = {
            module: names - together for module, names in left.items() if module not in together
        }
    return [circle for circle in found if len(circle) > 1]


def _turned(graph: Graph, *, trim: bool = True) -> Graph:
    """Who imports each module. `trim`: without those that import nothing, again and again."""
    turned: Graph = {module: set() for module in graph}
    for module, names in graph.items():
        for name in names:
            turned[name].add(module)
    if trim:
        count = {module: len(names) for module, names in graph.items()}
        free = [module for module, names in count.items() if not names]
        while free:
            gone = free.pop()
            for module in turned.pop(gone):
                count[module] -= 1
                if not count[module]:
                    free.append(module)
        turned = {module: names & turned.keys() for module, names in turned.items()}
    return turned


def _reach(start: str, graph: Graph) -> set[str]:
    seen: set[str] = set()
    todo = [start]
    while todo:
        for name in graph[todo.pop()] - seen:
            seen.add(name)
            todo.append(name)
    return seen


def test_no_module_imports_itself_through_others() -> None:
    files = modules()
    assert len(files) > 1000
    graph = graph_of(files)
    assert "barostat.gateway.upstream" in graph["barostat.gateway.replica"]
    assert circles(graph) == []


def test_a_circle_is_seen() -> None:
    """Of two, of three, and not what only leads into one or out of one."""
    graph: Graph = {
        "in": {"a"},
        "a": {"b"},
        "b": {"a", "out"},
        "out": set(),
        "x": {"y"},
        "y": {"z", "a"},
        "z": {"x"},
    }
    assert circles(graph) == [["a", "b"], ["x", "y", "z"]]


def test_imports_for_types_and_inside_functions_count() -> None:
    text = (
        "from typing import TYPE_CHECKING\n"
        "if TYPE_CHECKING:\n    from a.b import C\n"
        "def f():\n    from . import d\n    import e.g\n"
    )
    names = set(imported("a.m", ast.parse(text), is_package=False))
    assert {"a.b", "a.d", "e.g"} <= names


def test_no_contract_has_an_exemption() -> None:
    """What a contract says holds for every module."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"][
        "contracts"
    ]
    assert len(contracts) >= 5
    assert not [one["name"] for one in contracts if "ignore_imports" in one]
