"""Behaviours begin and end with their versions."""

from __future__ import annotations

import pytest

from barostat.catalog.vllm_behaviours import BEHAVIOURS, behaves
from barostat.core.version import EngineVersion, parse_version


def version(text: str) -> EngineVersion:
    """The version that the text names."""
    found = parse_version(text)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("name", "before", "since"),
    [("full-sequence-admission", "0.18.1", "0.19.0"), ("v1-default", "0.7.3", "0.8.0")],
)
def test_a_behaviour_begins_with_its_version(name: str, before: str, since: str) -> None:
    assert behaves(name, version(before)) is False
    assert behaves(name, version(since)) is True


def test_a_behaviour_can_end() -> None:
    assert behaves("swap-space-ignored", version("0.17.1")) is True
    assert behaves("swap-space-ignored", version("0.18.0")) is False


def test_without_a_version_nothing_is_claimed() -> None:
    assert {behaves(name, None) for name in BEHAVIOURS} == {None}
