"""Every page that Barostat makes keeps to the one sheet: whole, verdict first, and with nothing to
fetch or to run.
"""

from __future__ import annotations

from xml.etree import ElementTree

import pytest
from tests.support.pages import BUNDLES, pages

from barostat.shells.reports.sheet.html.style import STYLE

QUICK = ("prefill-bound", "bad-config-model", "hung-engine")
LENGTHY = [f"diagnose-{path.name}" for path in BUNDLES.iterdir() if path.name not in QUICK]
NAMES = [
    pytest.param(name, marks=pytest.mark.sweep if name in LENGTHY else ())
    for name in sorted(pages())
]


@pytest.mark.parametrize("name", NAMES)
def test_a_page_is_whole_has_the_one_style_and_says_its_verdict_first(name: str) -> None:
    text = pages()[name]()
    root = ElementTree.fromstring(text.removeprefix("<!doctype html>\n"))
    assert not [
        element.tag
        for element in root.iter()
        if element.tag in ("script", "link", "img", "iframe", "form", "object")
    ]
    assert not [
        name
        for element in root.iter()
        for name in element.attrib
        if name in ("src", "href", "style") or name.startswith("on")
    ]
    assert not [word for word in ("@import", "url(") if word in STYLE]
    assert [style.text for style in root.iter("style")] == [STYLE]
    kinds = [element.get("class", "").split()[:1] for element in root.iter()]
    verdict = kinds.index(["verdict"])
    assert all(
        ["charts"] not in kinds[:verdict] and [part] not in kinds[:verdict]
        for part in ("figures", "scroll")
    )
    assert len(list(root.iter("h1"))) == 1
