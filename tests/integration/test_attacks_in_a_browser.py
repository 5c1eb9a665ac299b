"""Pages from inputs in which every string is an attack, in a real browser: no script runs, nothing
is asked for, nothing breaks out.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

import pytest
from tests.support.attack import Attacker, payloads
from tests.support.attacked_pages import attacked
from tests.support.browser import Browser, browser, found
from tests.support.small_servers import always, answer, serving

from barostat.shells.reports.sheet.blocks import Document
from barostat.shells.reports.sheet.html.page import POLICY, page

_POLICY = re.compile(r'<meta http-equiv="Content-Security-Policy" content="[^"]*"/>')
_SHIELDED = "http-equiv=refresh"
"""No policy of a page holds a page that moves on by itself: it is held by its text being
escaped.
"""
_REFERENCES = ("href", "src", "action", "data", "poster", "srcdoc", "style")


def _let_through(title: str, markup: str) -> str:
    """A page as it would be if its text were not escaped."""
    return page(Document(title)).replace("<main>", f"<main>{markup}")


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    if found() is None and os.environ.get("CI") != "true":
        pytest.skip("no browser here: make browser")
    with browser(tmp_path_factory.mktemp("profile")) as one:
        yield one


@pytest.fixture(scope="module")
def beacon() -> Iterator[tuple[str, list[str]]]:
    with serving(always(answer("", kind="image/svg+xml"))) as (port, requests):
        yield f"http://127.0.0.1:{port}", requests


@pytest.fixture(scope="module")
def written(
    beacon: tuple[str, list[str]], tmp_path_factory: pytest.TempPathFactory
) -> dict[str, str]:
    return attacked(Attacker(beacon[0]), tmp_path_factory.mktemp("attacked"))


def test_every_verb_writes_its_attacked_page_under_a_policy_and_with_nothing_that_acts(
    written: dict[str, str],
) -> None:
    for name, text in written.items():
        assert f'content="{POLICY}"' in text, name
        assert "&lt;" in text or "javascript:" in text, (
            f"{name} shows no attack: it was tried on nothing"
        )
        root = ElementTree.fromstring(text.removeprefix("<!doctype html>\n"))
        for one in root.iter():
            tag = one.tag.rpartition("}")[2]
            assert tag not in (
                "script",
                "iframe",
                "object",
                "embed",
                "link",
                "base",
                "form",
                "img",
                "use",
                "image",
                "foreignObject",
            ), (
                name,
                tag,
            )
            assert not [
                key
                for key in one.attrib
                if key.rpartition("}")[2] in _REFERENCES or key.startswith("on")
            ], (name, tag, one.attrib)


def test_no_attacked_page_runs_or_asks_for_anything_with_its_policy_or_without(
    opened: Browser, beacon: tuple[str, list[str]], written: dict[str, str], tmp_path: Path
) -> None:
    """Without its policy the escaping alone must hold."""
    wrong = []
    for name, text in written.items():
        for kind, content in (("", text), ("-bare", _POLICY.sub("", text))):
            file = tmp_path / f"{name}{kind}.html"
            file.write_text(content, encoding="utf-8")
            seen = opened.look(file, 1280, dark=False)
            ran = [f"{name}{kind}: a script"] if seen.scripts or seen.title == "ran" else []
            wrong += [*ran, *(f"{name}{kind}: {told}" for told in (*seen.errors, *seen.requests))]
    assert not wrong, "\n".join(wrong)
    assert beacon[1] == []


def test_the_policy_alone_holds_markup_that_was_let_through_and_without_it_the_same_markup_runs(
    opened: Browser, beacon: tuple[str, list[str]], tmp_path: Path
) -> None:
    """The control: these attacks do run and ask where nothing holds them."""
    before = len(beacon[1])
    held = tmp_path / "held.html"
    for attack in payloads(beacon[0]):
        if _SHIELDED not in attack:
            held.write_text(_let_through("held", attack), encoding="utf-8", errors="replace")
            assert opened.look(held, 1280, dark=False).title != "ran", attack
    assert len(beacon[1]) == before
    ran = asked = 0
    for attack in payloads(beacon[0]):
        if _SHIELDED not in attack:
            held.write_text(
                _POLICY.sub("", _let_through("loose", attack)), encoding="utf-8", errors="replace"
            )
            seen = opened.look(held, 1280, dark=False)
            ran, asked = ran + (seen.title == "ran"), asked + bool(seen.requests)
    assert ran >= 8, ran
    assert asked >= 5, asked
    assert len(beacon[1]) - before >= 3
