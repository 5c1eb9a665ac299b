"""Places of values and edits of texts."""

from __future__ import annotations

import pytest

from barostat.io.manifests.yaml_tree import LARGEST_NODES, read_yaml
from barostat.lint.document import Edit, Node, edited


def _scalar(text: str) -> tuple[Node, str]:
    node = read_yaml(text, "f").roots[0].get("a")
    assert node is not None
    return node, text


@pytest.mark.parametrize(
    "text",
    [
        "a: one needle two\n",
        "a: 'it''s a needle'\n",
        'a: "x \\" needle \\\\ y"\n',
        "a: |\n  first\n    needle\n",
        "a: >-\n  first\n  second needle\n",
        'a: "first \\\n  needle"\n',
        "a: ü needle\n",
        "a: first\n  needle\n",
    ],
)
def test_a_word_is_found_in_every_style(text: str) -> None:
    node, text = _scalar(text)
    at = node.text.index("needle")
    place = read_yaml(text, "f").within(node, at, at + 6)
    assert text[place.start : place.end] == "needle"
    row = text.split("\n")[place.line - 1]
    assert row[place.column - 1 :].startswith("needle")


def test_what_cannot_be_told_apart_has_the_values_place() -> None:
    node, text = _scalar('a: "x\\u0041 needle"\n')
    assert read_yaml(text, "f").within(node, 3, 9).column == 4


def test_hostile_texts_are_one_sentence() -> None:
    bomb = "a: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(
        f"{chr(98 + i)}: &{chr(98 + i)} [{','.join(['*' + chr(97 + i)] * 9)}]\n" for i in range(9)
    )
    for text, said in (
        (bomb, f"{LARGEST_NODES:,}"),
        ("[" * 100_000, "deep"),
        ("a: &x [*x]", "inside"),
        ("a: *nothing", "anchor"),
        ("a: b: c", "YAML"),
        ("a:\n\t- b", "tab"),
        ("a: \x00", "YAML"),
        ("{" * 3000, "deep"),
        ("!!python/object/apply:os.system [ls]", ""),
        ("%TAG ! tag:x,2000:\n--- !x\na: 1", ""),
    ):
        problem = str(read_yaml(text, "f").problem or "")
        assert "\n" not in problem
        assert said in problem
        assert bool(problem) == bool(said)


def test_edits_are_made_from_the_end_and_those_that_touch_are_left() -> None:
    text, made = edited("abcdef", [Edit("f", 1, 3, "X"), Edit("f", 2, 4, "Y"), Edit("f", 5, 6, "")])
    assert (text, made) == ("aXde", 2)


def test_a_merge_keeps_what_is_given_and_a_repeated_key_is_noted() -> None:
    root = read_yaml("x: &x {a: 1, b: 2}\ny:\n  <<: *x\n  b: 3\n  b: 4\n", "f").roots[0]
    node = root.get("y")
    assert node is not None
    assert (node.word("a"), node.word("b")) == ("1", "4")
    assert [key.line for key in node.repeated] == [5]
