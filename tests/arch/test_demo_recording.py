"""The moving picture of the README: whole, small, with nothing to run or fetch, and still for those
who want no motion.
"""

from __future__ import annotations

import re
from xml.etree import ElementTree

from dev.demo_recording import COLUMNS, PICTURE, ROWS, picture, shortened

MOST_BYTES = 300_000


def test_waits_are_cut_short_and_nothing_is_lost() -> None:
    told = shortened([(3.0, "a"), (3.0, "b"), (60.0, "word " * 50), (60.1, "c")])
    instants = [at for at, _ in told]
    assert instants == sorted(instants)
    assert instants[0] == 0
    assert instants[-1] < 3
    assert all(len(line) <= COLUMNS for _, line in told)
    assert sum(line.count("word") for _, line in told) == 50
    assert shortened([]) == []


def test_each_line_is_uncovered_once_and_the_last_ones_stay() -> None:
    lines = [(float(place), f"line {place} <&>") for place in range(ROWS + 5)]
    drawn = picture(lines, "a & b")
    root = ElementTree.fromstring(drawn)
    texts = [element.text for element in root.iter() if (element.text or "").startswith("line ")]
    assert texts == [line for _, line in lines]
    cover, roll = re.findall(r"@keyframes \w+\{(.*?\})\}", drawn)
    assert cover.count("%{") == roll.count("%{") == len(lines) + 1
    assert re.search(r"\.roll\{transform:translateY\(-85px\)\}", drawn)


def test_what_stands_in_the_readme_may_do_nothing_and_can_stand_still() -> None:
    drawn = PICTURE.read_text(encoding="utf-8")
    root = ElementTree.fromstring(drawn)
    kinds = {element.tag.rpartition("}")[2] for element in root.iter()}
    assert kinds == {"svg", "title", "style", "rect", "circle", "text", "tspan", "g"}
    assert "url(" not in drawn
    assert "@import" not in drawn
    moving = drawn.partition("@media (prefers-reduced-motion:no-preference)")
    assert "animation:" in moving[2]
    assert "animation:" not in moving[0]
    assert len(drawn.encode()) < MOST_BYTES
    said = "".join(root.itertext())
    for word in (
        "kv-preemption-thrash",
        "Ruled out",
        "Next steps",
        "Don't",
        "barostat what-if",
        "healthy-busy",
        "behind the gateway",
        "done in",
    ):
        assert word in said
