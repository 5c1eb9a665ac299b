"""Every page in a real browser, at the width of a phone and of a desk, light and dark: nothing
overflows, fails, is asked for, or runs.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.browser import Browser, browser, found
from tests.support.pages import pages

WIDTHS_PX = (390, 1280)


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    if found() is None and os.environ.get("CI") != "true":
        pytest.skip("no browser here: make browser")
    with browser(tmp_path_factory.mktemp("profile")) as one:
        yield one


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("pages")
    made = {}
    for name, make in pages().items():
        made[name] = folder / f"{name}.html"
        made[name].write_text(make(), encoding="utf-8")
    return made


def test_every_page_fits_says_no_error_asks_for_nothing_and_runs_nothing(
    opened: Browser, written: dict[str, Path]
) -> None:
    wrong = []
    for name, file in written.items():
        for width_px in WIDTHS_PX:
            for dark in (False, True):
                seen = opened.look(file, width_px, dark=dark)
                where = f"{name} at {width_px} px, {'dark' if dark else 'light'}"
                wrong += [f"{where}: {seen.overflow_px} px too wide"] if seen.overflow_px else []
                wrong += [
                    f"{where}: {told}"
                    for told in (*seen.errors, *(f"asked for {url}" for url in seen.requests))
                ]
                wrong += [f"{where}: a script"] if seen.scripts or seen.title == "ran" else []
    assert not wrong, "\n".join(wrong)


def test_colours_follow_the_reader(opened: Browser, written: dict[str, Path]) -> None:
    light, dark = (
        opened.look(written["plan"], 390, dark=dark).background for dark in (False, True)
    )
    assert light == "rgb(255, 255, 255)"
    assert dark == "rgb(16, 20, 24)"


def test_the_watcher_sees_what_it_is_there_to_see(opened: Browser, tmp_path: Path) -> None:
    bad = tmp_path / "bad.html"
    bad.write_text(
        "<!doctype html><title>bad</title><img src='http://127.0.0.1:9/x.png'><p "
        "style='width:3000px'>wide</p>"
        "<script>document.title = 'ran'; console.error('told')</script>"
    )
    seen = opened.look(bad, 390, dark=False)
    assert seen.overflow_px > 0
    assert seen.title == "ran"
    assert seen.scripts == 1
    assert any("told" in error for error in seen.errors)
    assert seen.requests == ("http://127.0.0.1:9/x.png",)
