"""One selector, read for a query and held against labels."""

from __future__ import annotations

from barostat.platform.label_selector import as_query, selects

SELECTOR = {
    "matchLabels": {"app": "vllm"},
    "matchExpressions": [
        {"key": "tier", "operator": "In", "values": ["a", "b"]},
        {"key": "old", "operator": "DoesNotExist"},
        {"key": "zone", "operator": "NotIn", "values": ["z"]},
        {"key": "pool", "operator": "Exists"},
    ],
}
LABELS = {"app": "vllm", "tier": "b", "pool": ""}


def test_a_query_has_every_part() -> None:
    assert as_query(SELECTOR) == "app=vllm,tier in (a,b),!old,zone notin (z),pool"
    assert as_query({}) == ""


def test_each_part_decides() -> None:
    assert selects(SELECTOR, LABELS)
    assert selects({}, {})
    for changed in ({"app": "x"}, {"tier": "c"}, {"old": "1"}, {"zone": "z"}):
        assert not selects(SELECTOR, {**LABELS, **changed})
    assert not selects(SELECTOR, {"app": "vllm", "tier": "b"})


def test_what_is_no_selector_does_not_raise() -> None:
    assert selects({"matchLabels": 3, "matchExpressions": [{"key": 1, "values": 2}, 7]}, {}) is True
