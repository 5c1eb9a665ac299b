"""`make demo`: the collapse and the recovery really happen, nothing collapses behind the gateway,
and the page tells it.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest
from dev.engine import ROOT


@pytest.mark.alone
def test_the_demo_shows_what_it_promises_in_time_and_leaves_a_whole_page(tmp_path: Path) -> None:
    page = tmp_path / "demo.html"
    done = subprocess.run(
        [sys.executable, str(ROOT / "dev" / "demo.py"), "--page", str(page)],
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "kv-preemption-thrash" in done.stdout
    assert "Busy and healthy" in done.stdout
    assert "preempted/s" in done.stdout
    root = ElementTree.fromstring(page.read_text().removeprefix("<!doctype html>\n"))
    titles = ["".join(heading.itertext()) for heading in root.iter("h2")]
    assert titles[1:] == [
        "First diagnosis",
        "What was tried",
        "Second diagnosis",
        "The same burst behind the gateway",
    ]
    marks = {text.text for text in root.iter("text") if text.attrib.get("class") == "mark-name"}
    assert "were rejected immediately" in done.stderr
    assert marks == {"burst", "diagnosed", "changed", "recovered"}
    seconds = int(done.stderr.rsplit("done in ", 1)[1].split()[0])
    assert seconds < 90
