"""The short look at an engine's page: a number that cannot be is left out, and the gateway goes on."""

from __future__ import annotations

import pytest

from barostat.gateway.watching.engine_page import pool_in, read_page


@pytest.mark.parametrize("value", ["3e309", "Inf", "-1e300", "NaN", "-", "1e", "e5", "+-1", "."])
def test_a_value_that_cannot_be_is_left_out(value: str) -> None:
    page = f'vllm:num_requests_running{{engine="0"}} 2.0\nvllm:num_requests_running{{engine="1"}} {value}\n'.encode()
    found = read_page(page)
    assert found is not None
    assert found.running == 2


@pytest.mark.parametrize("labels", ['num_gpu_blocks="1"', 'num_gpu_blocks="1",kv_cache_size_tokens="0"', 'num_gpu_blocks="0"'])
def test_an_engine_without_a_pool_has_none(labels: str) -> None:
    """Of a model without attention vLLM has the null block alone."""
    page = f'vllm:num_requests_running{{engine="0"}} 0.0\nvllm:cache_config_info{{block_size="16",engine="0",{labels}}} 1.0\n'
    assert pool_in(page.encode(), 512) is None
    pool = pool_in(page.replace(labels, 'num_gpu_blocks="11"').encode(), 512)
    assert pool is not None
    assert pool.kv_tokens == 160
