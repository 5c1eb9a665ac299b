"""The corpus: what an ordinary team is shown, by line; on good manifests nothing at all."""

from __future__ import annotations

from pathlib import Path

import pytest

from barostat.io.manifests.read import limits_complaints, read_file
from barostat.judge.manifest_check.check import check

ROOT = Path(__file__).parents[3] / "data" / "check"
FILES = sorted(
    path for path in ROOT.rglob("*") if path.is_file() and path.suffix not in (".expected", ".md")
)


def test_the_corpus_is_there() -> None:
    assert len(FILES) >= 100
    assert len([path for path in FILES if path.parent.name == "good"]) >= 25


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_findings_are_those_beside_it(path: Path) -> None:
    document = read_file(path)
    assert document.problem is None
    found = sorted(
        f"{one.place.line} {one.rule}"
        for one in check([document], complaints=limits_complaints).findings
    )
    assert found == sorted(Path(f"{path}.expected").read_text().splitlines())


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_no_rule_fails_and_every_place_is_in_the_file(path: Path) -> None:
    document = read_file(path)
    lines = document.text.splitlines()
    for one in check([document], persona="pedant", complaints=limits_complaints).findings:
        assert one.rule != "rule-failed", one.message
        assert 1 <= one.place.line <= len(lines)
        assert 1 <= one.place.column <= len(lines[one.place.line - 1]) + 1


def test_the_corpus_meets_most_rules() -> None:
    """A rule that no manifest of ours has ever met is a rule that nobody has tried."""
    met = {
        line.split()[1]
        for path in FILES
        for line in Path(f"{path}.expected").read_text().splitlines()
    }
    assert len(met) >= 45
