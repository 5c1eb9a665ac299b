"""The line of a step that only decodes is the line of every step."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from barostat.twin.linear_pace import LinearPace

_PARTS = st.floats(0.0, 0.1)


@given(_PARTS, _PARTS, _PARTS, _PARTS, st.integers(1, 1024), st.integers(0, 10**7))
def test_a_step_that_only_decodes_takes_as_long_by_its_line(
    base: float, prefill: float, decode: float, kv: float, decodes: int, tokens: int
) -> None:
    pace = LinearPace(base, prefill, decode, kv, pair_s=prefill)
    step_s, kv_token_s = pace.decoding(decodes)
    assert max(1, round((step_s + kv_token_s * tokens) * 10**9)) == pace.step_ns(0, decodes, tokens)
