"""Laughs upon laughs, depth, and numbers of values are found out before anything is made of
them.
"""

from __future__ import annotations

import pytest

from barostat.core.bounds import YAML_DEPTH, YAML_NODES
from barostat.core.errors import InputError
from barostat.io.input_files.yaml_bounds import too_much
from barostat.io.input_files.yaml_places import composed
from barostat.io.kubernetes.client.yaml_text import NoYaml, decoded

LAUGHS = "a0: &a0 [x, x]\n" + "".join(f"a{i}: &a{i} [*a{i - 1}, *a{i - 1}]\n" for i in range(1, 60))


def test_a_billion_laughs_are_counted_and_not_laughed() -> None:
    assert "aliases are spelled out" in too_much(LAUGHS)
    with pytest.raises(NoYaml, match="aliases"):
        decoded(LAUGHS)
    assert too_much(LAUGHS, spelled_out=False) == ""


def test_a_value_within_itself_is_too_much() -> None:
    assert too_much("a: &a [*a]\n")


@pytest.mark.parametrize(
    "text", ["[" * 200, "a: " + "[" * (YAML_DEPTH.most + 1) + "]" * (YAML_DEPTH.most + 1)]
)
def test_depth_ends_in_a_sentence(text: str) -> None:
    with pytest.raises(InputError, match="deep"):
        composed(text, "f")
    with pytest.raises(NoYaml, match="deep"):
        decoded(text)


def test_what_people_write_is_read() -> None:
    assert too_much("a: &x {b: [1, 2]}\nc: *x\n") == ""
    assert YAML_NODES.most > 50_000


@pytest.mark.parametrize(
    "value", ["9" * 5000, "2020-13-45", "!!python/object:os.system x", '"\\ud800"', "!!float x"]
)
def test_values_that_cannot_be_are_said_in_a_line(value: str) -> None:
    with pytest.raises(NoYaml) as said:
        decoded(f"a: {value}\n")
    assert "\n" not in str(said.value)
