"""Conditions that hold whatever happens, on metrics of any exporter."""

from __future__ import annotations

import pytest

from barostat.io.manifests.read import document_of
from barostat.judge.manifest_check.check import check


def _rules(expression: str) -> set[str]:
    text = f"groups:\n- name: a\n  rules:\n  - alert: A\n    expr: {expression}\n"
    return {one.rule for one in check([document_of(text, "rules.yaml")]).findings}


@pytest.mark.parametrize(
    "expression",
    [
        "DCGM_FI_DEV_FB_USED / DCGM_FI_DEV_FB_USED > 0.9",
        "sum(vllm:num_requests_waiting) / sum(vllm:num_requests_waiting) > 0.5",
    ],
)
def test_a_series_divided_by_itself_is_always_one(expression: str) -> None:
    assert "condition-always-true" in _rules(expression)


def test_a_share_of_something_else_is_not() -> None:
    expression = "DCGM_FI_DEV_FB_USED / (DCGM_FI_DEV_FB_USED + DCGM_FI_DEV_FB_FREE) > 0.9"
    assert "condition-always-true" not in _rules(expression)
