"""Names of vLLM's metrics stand in the catalogue alone; what reads or advises one takes it there."""

from __future__ import annotations

import ast
import re
from pathlib import Path

from barostat.catalog.metric_names import NAME_ERAS, RENAMED
from barostat.catalog.vllm_exposed import EXPOSED

SOURCES = Path(__file__).resolve().parents[3] / "src" / "barostat"
OWNERS = {"metric_names.py", "vllm_exposed.py", "engine_metrics.py"}
"""The names; what each version shows; and where the twin counts what it shows."""
NAME = re.compile(r"vllm:[a-z]\w+")


def names_in(text: str) -> set[str]:
    """The metric names in strings of a module, docstrings left out."""
    tree = ast.parse(text)
    prose = {
        id(node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
    strings = (
        node.value.decode("latin-1") if isinstance(node.value, bytes) else node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and id(node) not in prose
    )
    return {name for value in strings if isinstance(value, str) for name in NAME.findall(value)}


def test_no_other_module_spells_a_metric_s_name() -> None:
    files = sorted(SOURCES.rglob("*.py"))
    assert len(files) > 400
    found = {path.name: names_in(path.read_text()) for path in files if path.name not in OWNERS}
    assert {name: names for name, names in found.items() if names} == {}
    assert names_in('x = "vllm:num_preemptions_total"  # "vllm:other"\n"vllm:prose"') == {
        "vllm:num_preemptions_total"
    }


def test_a_former_name_is_known_to_have_gone_and_its_successor_to_have_come() -> None:
    gone = {era.what for era in NAME_ERAS if era.before}
    shown = {one.name for one in EXPOSED}
    for old, new in RENAMED.items():
        assert old in gone, old
        assert new in shown, new
