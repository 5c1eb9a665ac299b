"""The short look at an engine's page: a number that cannot be is left out, and the gateway goes on."""

from __future__ import annotations

import pytest

from barostat.gateway.watching.engine_page import read_page


@pytest.mark.parametrize("value", ["3e309", "Inf", "-1e300", "NaN", "-", "1e", "e5", "+-1", "."])
def test_a_value_that_cannot_be_is_left_out(value: str) -> None:
    page = f'vllm:num_requests_running{{engine="0"}} 2.0\nvllm:num_requests_running{{engine="1"}} {value}\n'.encode()
    found = read_page(page)
    assert found is not None
    assert found.running == 2
