"""Which names a version has, and the shapes around them."""

from __future__ import annotations

import re

import pytest

from barostat.alerts.expressions import bucket_label, names, next_bucket
from barostat.alerts.terms import Terms
from barostat.catalog import metric_names as vllm
from barostat.catalog.vllm_exposed import buckets
from barostat.core.version import parse_version

NEW, OLD = "vllm:inter_token_latency_seconds", "vllm:time_per_output_token_seconds"


@pytest.mark.parametrize(
    ("version", "usage", "gap"),
    [
        (None, ["vllm:kv_cache_usage_perc", "vllm:gpu_cache_usage_perc"], [NEW, OLD]),
        ("0.6.6", ["vllm:gpu_cache_usage_perc"], [OLD]),
        ("0.10.2", ["vllm:kv_cache_usage_perc", "vllm:gpu_cache_usage_perc"], [NEW, OLD]),
        ("0.33.0", ["vllm:kv_cache_usage_perc"], [NEW]),
    ],
)  # fmt: skip
def test_a_version_has_its_names(version: str | None, usage: list[str], gap: list[str]) -> None:
    terms = Terms(version=parse_version(version))
    assert names(vllm.KV_USAGE, terms) == usage
    assert names(vllm.ITL, terms) == gap


@pytest.mark.parametrize(
    ("wanted", "bound"), [(2.0, 2.5), (2.5, 2.5), (0.0001, 0.001), (5000.0, None)]
)
def test_a_promise_is_counted_by_the_bucket_next_above(wanted: float, bound: float | None) -> None:
    assert next_bucket(buckets("ttft", 0), wanted) == bound


@pytest.mark.parametrize(
    ("bound", "written", "others"),
    [(1, ("1", "1.0"), ("10", "11.0", "1x0")), (2.5, ("2.5",), ("2x5", "2.50"))],
)
def test_a_bound_is_found_however_the_client_writes_it(
    bound: float, written: tuple[str, ...], others: tuple[str, ...]
) -> None:
    expression = bucket_label(bound)[1:]
    assert all(re.fullmatch(expression, one) for one in written)
    assert not any(re.fullmatch(expression, one) for one in others)
