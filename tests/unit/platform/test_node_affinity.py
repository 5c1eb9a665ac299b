"""Which nodes a pod must have: terms are alternatives, what stands in one holds together."""

from __future__ import annotations

from typing import Any

import pytest

from barostat.platform.node_affinity import against_affinity

NODE = {"metadata": {"name": "n1", "labels": {"gpu": "h100", "cards": "8"}}}


def asks(key: str, how: str, *values: str) -> dict[str, Any]:
    return {"key": key, "operator": how, "values": list(values)}


def template(*terms: dict[str, Any]) -> dict[str, Any]:
    required = {
        "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": list(terms)}
    }
    return {"spec": {"affinity": {"nodeAffinity": required}}}


@pytest.mark.parametrize(
    ("terms", "fits"),
    [
        ([], True),
        ([{}], False),
        ([{"matchExpressions": [asks("gpu", "In", "h100", "h200")]}], True),
        ([{"matchExpressions": [asks("gpu", "In", "l4")]}], False),
        (
            [
                {"matchExpressions": [asks("gpu", "In", "l4")]},
                {"matchExpressions": [asks("gpu", "Exists")]},
            ],
            True,
        ),
        ([{"matchExpressions": [asks("gpu", "Exists"), asks("zone", "Exists")]}], False),
        ([{"matchExpressions": [asks("spot", "DoesNotExist"), asks("zone", "NotIn", "a")]}], True),
        ([{"matchExpressions": [asks("cards", "Gt", "4")]}], True),
        ([{"matchExpressions": [asks("cards", "Lt", "8")]}], False),
        ([{"matchExpressions": [asks("cards", "Gt", "many")]}], False),
        ([{"matchFields": [asks("metadata.name", "In", "n1")]}], True),
        ([{"matchFields": [asks("metadata.name", "In", "n2")]}], False),
    ],
)
def test_a_node_fits_or_it_is_said_what_is_asked_for(
    terms: list[dict[str, Any]], fits: bool
) -> None:
    assert (against_affinity(template(*terms), NODE) == "") is fits


def test_what_is_preferred_rules_nothing_out() -> None:
    preferred = {
        "preferredDuringSchedulingIgnoredDuringExecution": [
            {"preference": {"matchExpressions": [asks("gpu", "In", "l4")]}}
        ]
    }
    assert against_affinity({"spec": {"affinity": {"nodeAffinity": preferred}}}, NODE) == ""
