"""What changed between two limits documents, in a review's words, and which way it goes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from barostat.core.limits import (
    EdgeLimits,
    EngineLimits,
    LimitsSpec,
    RequestLimits,
    ServingLimits,
    TargetRef,
    TenantLimits,
)
from barostat.judge.sizing.limits_diff import differences

OLD = LimitsSpec(
    model="a",
    request=RequestLimits(max_input_tokens=1000, on_missing_output_limit="cap"),
    engine=EngineLimits(max_model_len=8192, max_num_seqs=100, watermark=0.1, max_queued_requests=0),
    edge=EdgeLimits(kv_token_budget=1000),
)


def told(old: LimitsSpec, new: LimitsSpec) -> dict[str, tuple[str, bool | None]]:
    return {
        found.path: (found.says, found.looser)
        for found in differences(ServingLimits(old), ServingLimits(new))
    }


@pytest.mark.parametrize(
    ("field", "value", "says", "looser"),
    [
        ("max_model_len", 16384, "a request may now hold twice the KV", True),
        ("max_model_len", 2048, "a request may now hold a quarter of the KV", False),
        ("max_model_len", 9830, "a request may now hold 20% more", True),
        ("max_num_seqs", 50, "requests that run at once are now half as many", False),
        ("max_num_seqs", 80, "requests that run at once are now 20% fewer", False),
        ("max_num_seqs", 230, "requests that run at once are now 2.3 times as many", True),
        ("max_num_seqs", None, "no limit any more", True),
        (
            "watermark",
            0.2,
            "the share of blocks kept free at admission is now twice as much",
            False,
        ),
        ("max_num_batched_tokens", 512, "a limit where there was none: 512", False),
        ("max_queued_requests", 9, "0 before, 9 now", None),
        ("kv_cache_dtype", "fp8", "a limit where there was none: fp8", None),
    ],
)
def test_one_number_of_the_engine(field: str, value: Any, says: str, looser: bool | None) -> None:
    (found,) = told(OLD, replace(OLD, engine=replace(OLD.engine, **{field: value}))).values()
    assert found == (says, looser)


def test_every_field_is_named_as_the_document_has_it() -> None:
    new = replace(
        OLD,
        model="b",
        request=RequestLimits(2000, 500, on_missing_output_limit="refuse"),
        edge=EdgeLimits(750),
    )
    assert told(OLD, new) == {
        "model": ("a before, b now", None),
        "request.maxInputTokens": ("a request's input may now be twice as much", True),
        "request.maxOutputTokens": ("a limit where there was none: 500", False),
        "request.onMissingOutputLimit": ("cap before, refuse now", None),
        "edge.kvTokenBudget": ("what the gateway admits at once is now 25% less", False),
    }


@pytest.mark.parametrize(
    ("seconds", "says"),
    [
        (30.0, "0.3 times as long"),
        (50.0, "half as long"),
        (80.0, "20% shorter"),
        (120.0, "20% longer"),
        (200.0, "twice as long"),
    ],
)
def test_a_time_is_long_and_not_much(seconds: float, says: str) -> None:
    old, new = (
        replace(OLD, request=RequestLimits(max_stream_seconds=value)) for value in (100.0, seconds)
    )
    assert told(old, new)["request.maxStreamSeconds"][0] == f"a stream may now last {says}"


def test_tenants_are_told_by_name() -> None:
    old = replace(OLD, tenants=(TenantLimits("web", share=0.5), TenantLimits("batch")))
    new = replace(OLD, tenants=(TenantLimits("web", share=0.25), TenantLimits("night")))
    assert told(old, new) == {
        "tenants.web.share": ("it is now half as much", False),
        "tenants.batch": ("no limits of its own any more", None),
        "tenants.night": ("a tenant where there was none", None),
    }


def test_what_is_new_as_a_whole_is_data() -> None:
    tenant, ref = (
        TenantLimits("night", tokens_per_minute=5),
        TargetRef(kind="Deployment", name="vllm"),
    )
    new = replace(OLD, tenants=(tenant,), target_ref=ref)
    assert [found.after for found in differences(ServingLimits(OLD), ServingLimits(new))] == [
        {"kind": "Deployment", "name": "vllm"},
        {"name": "night", "tokensPerMinute": 5},
    ]


def test_what_did_not_change_is_not_told() -> None:
    assert told(OLD, OLD) == {}
