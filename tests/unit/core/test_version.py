"""Versions as people and builds write them."""

from __future__ import annotations

import pytest

from barostat.core.version import parse_version


@pytest.mark.parametrize(
    ("text", "release"),
    [
        ("0.32.0", (0, 32, 0)),
        ("v0.10.1.1", (0, 10, 1)),
        ("0.32.0+cpu", (0, 32, 0)),
        ("0.23.1rc1.dev1133", (0, 23, 1)),
        ("0.6.4.post1", (0, 6, 4)),
        ("0.19.1+rocm721", (0, 19, 1)),
        ("0.9.x", (0, 9, 0)),
        ("0.14", (0, 14, 0)),
        ("0.19+", (0, 19, 0)),
    ],
)
def test_builds_compare_as_their_release(text: str, release: tuple[int, int, int]) -> None:
    found = parse_version(text)
    assert found is not None
    assert found.release == release


@pytest.mark.parametrize(
    "text",
    [
        None,
        "",
        "main",
        "2026-08",
        "2026.08",
        "ROCm fork 2024-08",
        "nightly",
        "9" * 5000 + ".1",
        "0." + "9" * 5000,
    ],
)
def test_what_names_no_version_is_none(text: str | None) -> None:
    assert parse_version(text) is None


def test_comparison_is_by_number_not_by_text() -> None:
    found = parse_version("0.9.2")
    assert found is not None
    assert found.before("0.10.0")
    assert found.at_least("0.9.2")
    assert not found.at_least("0.11.0")
