"""Names that vLLM does not show because a rule records them."""

from __future__ import annotations

import pytest

from barostat.io.manifests.read import document_of
from barostat.judge.manifest_check.check import check


def told(*rules: str) -> list[str]:
    text = "groups: [{name: g, rules: [" + ", ".join(f"{{{rule}}}" for rule in rules) + "]}]\n"
    return [
        one.message
        for one in check([document_of(text, "a.yaml")]).findings
        if one.rule == "metric-not-there"
    ]


@pytest.mark.parametrize(
    "rules",
    [
        (
            "record: 'vllm:num_requests_waiting:sum', expr: 'sum(vllm:num_requests_waiting)'",
            "alert: A, expr: 'vllm:num_requests_waiting:sum > 5'",
        ),
        ("alert: A, expr: 'vllm:num_requests_waiting:sum > 5'",),
        (
            "record: 'vllm:num_request_waiting', expr: 'sum(vllm:num_requests_waiting)'",
            "alert: A, expr: 'vllm:num_request_waiting > 5'",
        ),
        (
            "record: 'vllm:gpu_cache_usage_perc', expr: 'vllm:kv_cache_usage_perc'",
            "alert: A, expr: 'vllm:gpu_cache_usage_perc > 0.95'",
        ),
    ],
)
def test_a_recording_is_there(rules: tuple[str, ...]) -> None:
    assert told(*rules) == []


def test_what_nobody_records_is_not() -> None:
    assert told("record: 'vllm:x:sum', expr: 'sum(vllm:num_request_waiting)'") == [
        (
            "no vLLM shows vllm:num_request_waiting; vllm:num_requests_waiting is what is "
            "meant? The record is empty"
        )
    ]
