"""On a page the same quantity is the same number, with its window."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.support.page_text import unbroken

from barostat.shells.cli.main import main

BUNDLES = Path(__file__).parents[4] / "data" / "bundles"


def test_tiles_and_the_table_have_the_same_numbers(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["diagnose", str(BUNDLES / "kv-preemption-thrash"), "-o", "html"]) == 1
    page = unbroken(capsys.readouterr().out)
    tiles = {
        name: (value, note)
        for name, value, note in re.findall(
            r"<dt>([^<]*)</dt><dd>([^<]*)<small>([^<]*)</small></dd>", page
        )
    }
    assert all(note for _, note in tiles.values())
    assert tiles["KV usage"] == ("91%", "mean of 30 s, 98% at most")
    row = re.search(r"<tr><td[^>]*>measured</td>(.*?)</tr>", page)
    assert row is not None
    cells = re.findall(r"<td[^>]*>([^<]*)</td>", row[1])
    _, tokens, _, ttft_p99, _, itl_p99, preempted, _ = cells
    assert float(tokens.replace(",", "")) == pytest.approx(652, abs=1)
    assert ttft_p99 == tiles["TTFT p99"][0]
    assert itl_p99 == tiles["ITL p99"][0]
    assert preempted == tiles["Preemptions/s"][0]
    assert "today (twin)" in page
