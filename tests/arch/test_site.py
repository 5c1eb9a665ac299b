"""The docs as a site: every page has its place in the navigation, and every place a page (`make
site` holds the links too).
"""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"


def test_every_page_is_in_the_navigation_and_every_place_is_a_page() -> None:
    placed = re.findall(
        r": ([\w./-]+\.md)$", (ROOT / "mkdocs.yml").read_text(encoding="utf-8"), flags=re.MULTILINE
    )
    there = {str(path.relative_to(DOCS)) for path in DOCS.rglob("*.md")}
    assert len(there) > 30
    assert set(placed) == there
    assert len(placed) == len(set(placed))
