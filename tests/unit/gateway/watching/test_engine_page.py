"""The short look at an engine's page: a number that cannot be is left out, and the gateway goes
on.
"""

from __future__ import annotations

import pytest

from barostat.gateway.watching.engine_page import pool_in, read_page


@pytest.mark.parametrize("value", ["3e309", "Inf", "-1e300", "NaN", "-", "1e", "e5", "+-1", "."])
def test_a_value_that_cannot_be_is_left_out(value: str) -> None:
    page = (
        f'vllm:num_requests_running{{engine="0"}} 2.0\nvllm:num_requests_running{{engine="1"}} '
        f"{value}\n"
    ).encode()
    found = read_page(page)
    assert found is not None
    assert found.running == 2


@pytest.mark.parametrize(
    "labels",
    ['num_gpu_blocks="1"', 'num_gpu_blocks="1",kv_cache_size_tokens="0"', 'num_gpu_blocks="0"'],
)
def test_an_engine_without_a_pool_has_none(labels: str) -> None:
    """Of a model without attention vLLM has the null block alone."""
    page = (
        f'vllm:num_requests_running{{engine="0"}} '
        f'0.0\nvllm:cache_config_info{{block_size="16",engine="0",{labels}}} 1.0\n'
    )
    assert pool_in(page.encode(), 512) is None
    pool = pool_in(page.replace(labels, 'num_gpu_blocks="11"').encode(), 512)
    assert pool is not None
    assert pool.kv_tokens == 160


@pytest.mark.parametrize("name", ["inter_token_latency_seconds", "time_per_output_token_seconds"])
def test_the_gap_between_tokens_is_of_the_time_since_the_look_before(name: str) -> None:
    def page(count: float, total_s: float) -> bytes:
        series = (
            f'vllm:{name}_sum{{engine="0"}} {total_s}\nvllm:{name}_count{{engine="0"}} {count}\n'
        )
        return f'vllm:num_requests_running{{engine="0"}} 2.0\n{series}'.encode()

    before, after = read_page(page(1000.0, 9.0)), read_page(page(1500.0, 19.0))
    assert before is not None
    assert after is not None
    assert after.observation(before.gaps, before.gaps_s).token_s == pytest.approx(0.02)
    assert after.observation(after.gaps, after.gaps_s).token_s is None
    assert before.observation(after.gaps, after.gaps_s).token_s is None  # it began anew


def test_a_version_that_has_the_histogram_under_both_names_is_counted_once() -> None:
    names = ("inter_token_latency_seconds", "time_per_output_token_seconds")
    series = "".join(f"vllm:{name}_sum{{}} 2.0\nvllm:{name}_count{{}} 100.0\n" for name in names)
    found = read_page(f"vllm:num_requests_running{{}} 1.0\n{series}".encode())
    assert found is not None
    assert (found.gaps, found.gaps_s) == (100.0, 2.0)
