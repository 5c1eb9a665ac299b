"""The lean page says what the whole page says."""

from __future__ import annotations

from pathlib import Path

import pytest

from barostat.engines.vllm.metrics import signals
from barostat.engines.vllm.metrics.exposition import read
from barostat.operator.pages import wanted_part

PAGES = sorted((Path(__file__).resolve().parents[2] / "data" / "expositions").glob("*.prom"))
NOISE = b"".join(
    b"# HELP python_gc_%d text\n# TYPE python_gc_%d counter\npython_gc_%d_total 3.0\n" % (n, n, n)
    for n in range(500)
)


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_every_signal_of_the_whole_page_is_in_the_part(path: Path) -> None:
    whole = path.read_bytes() + NOISE
    part = wanted_part(whole)
    assert len(part) < len(whole) - len(NOISE) // 2
    assert b"python_gc_1_total" not in part
    digests = [
        signals.digest([(at, read(text.decode()), "page") for at in (1.0, 11.0)])
        for text in (whole, part)
    ]
    assert digests[0].signals == digests[1].signals
    assert digests[0].problems == digests[1].problems


@pytest.mark.parametrize(
    "page", [b"", b"<html>", b"a 1\n", b"ray_vllm_num_requests_running 1\n", b"# TYPE x"]
)
def test_another_page_is_left_whole(page: bytes) -> None:
    assert wanted_part(page) == page
