"""YAML as it is written, with its places."""

from __future__ import annotations

import pytest
import yaml

from barostat.core.errors import InputError
from barostat.io.input_files.yaml_places import Written, composed, located, plain


def _said(text: str) -> tuple[object, list[str]]:
    said: list[str] = []
    root = composed(text, "f")
    assert root is not None
    return plain(
        root,
        lambda mark, path, sentence: said.append(
            f"{mark.line + 1}:{mark.column + 1} {path} {sentence}"
        ),
    ), said


def test_a_scalar_is_kept_as_it_is_written_beside_what_yaml_takes_it_for() -> None:
    made, said = _said(
        '{version: 0.10, seqs: 0x40, quoted: "64", on: true, none: ~, list: [1, ~, b]}'
    )
    assert isinstance(made, dict)
    assert made == {
        "version": "0.10",
        "seqs": "0x40",
        "quoted": "64",
        "on": "true",
        "list": ["1", "b"],
    }
    assert [made[key].value for key in ("version", "seqs", "quoted", "on")] == [0.1, 64, "64", True]
    assert not said


def test_keys_that_cannot_be_meant_are_told_with_their_place() -> None:
    assert _said("a: {b: 1, b: 2}\n? [c]\n: 3\n") == (
        {"a": {"b": "1"}},
        ["1:11 a.b stands here twice", "2:3  a key must be a word"],
    )


def test_aliases_upon_aliases_stay_as_small_as_they_are_written() -> None:
    levels = 60
    text = "a0: &a0 [x, x]\n" + "".join(
        f"a{i}: &a{i} [*a{i - 1}, *a{i - 1}]\n" for i in range(1, levels)
    )
    made, _ = _said(text)
    assert isinstance(made, dict)
    assert made[f"a{levels - 1}"][0] is made[f"a{levels - 1}"][1] is made[f"a{levels - 2}"]


def test_a_route_leads_to_its_place_or_to_the_last_before_it() -> None:
    root = composed("a:\n  b: [1, ~, {c: 2}]\n", "f")
    assert root is not None
    mark, node = located(root, ("a", "b", 1, "c"))
    assert (mark.line, mark.column) == (1, 13)
    assert isinstance(node, yaml.ScalarNode)
    assert Written.of(node).value == 2
    assert located(root, ("a", "gone", "x"))[0].line == 0


@pytest.mark.parametrize("text", ["{", "\x00", "[" * 3000, "a: b: c"])
def test_what_is_no_yaml_is_said(text: str) -> None:
    with pytest.raises(InputError, match="no YAML"):
        composed(text, "f")


def test_a_number_of_nothing_is_its_text() -> None:
    root = composed("a: !!float\n", "x")
    assert root is not None
    assert plain(root, lambda *_: None) == {"a": ""}
