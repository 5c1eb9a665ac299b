"""The proof page says what was kept, and what was not."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

from bench.kept import Figure, Kept, by_card, kept
from dev.proof_page import SECTIONS, proof_page

FOUND = Kept(
    "python bench/x.py --keep", "a study", [Figure("error", "3 %", 12, "AMD", "MI300X")], ["Nobody knows."], "2026-11-27"
)  # fmt: skip


def test_a_result_comes_with_its_cases_source_command_and_what_is_not_known(tmp_path: Path) -> None:
    (tmp_path / "start-ups.json").write_text(json.dumps(asdict(FOUND)))
    assert kept("start-ups", tmp_path) == FOUND
    page = proof_page(tmp_path)
    section = page.split("## Start-ups")[1].split("## Step times")[0]
    assert "| error | AMD | MI300X | 12 | 3 % |" in section
    for part in (FOUND.source, FOUND.command, FOUND.made, "- Nobody knows."):
        assert part in section


def test_a_benchmark_that_kept_nothing_is_named_with_its_command(tmp_path: Path) -> None:
    page = proof_page(tmp_path)
    assert page.count("No result is on file.") == len(SECTIONS)
    for _, title, _, command in SECTIONS:
        assert f"## {title}" in page
        assert command in page


def test_every_kept_file_is_on_the_page() -> None:
    folder = Path(__file__).parents[2] / "bench" / "results"
    assert {path.stem for path in folder.glob("*.json")} <= {name for name, *_ in SECTIONS}


def test_errors_are_told_of_all_of_each_vendor_and_of_each_card() -> None:
    rows = [("NVIDIA", "H100", 0.1), ("NVIDIA", "L4", 0.3), ("AMD", "MI300X", 0.2)]
    found = {(one.vendor, one.card): (one.cases, one.value) for one in by_card(rows, "error")}
    assert found == {
        ("", ""): (3, "20.0% median, 30.0% for nine tenths"),
        ("AMD", ""): (1, "20.0% median, 20.0% for nine tenths"),
        ("AMD", "MI300X"): (1, "20.0% median, 20.0% for nine tenths"),
        ("NVIDIA", ""): (2, "20.0% median, 30.0% for nine tenths"),
        ("NVIDIA", "H100"): (1, "10.0% median, 10.0% for nine tenths"),
        ("NVIDIA", "L4"): (1, "30.0% median, 30.0% for nine tenths"),
    }
