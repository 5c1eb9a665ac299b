"""Numbers in a line of statistics that no engine counts: the line says nothing."""

from __future__ import annotations

from barostat.engines.vllm.logs.stats import logged_step

LINE = "Iteration(7): {} context requests, 10 context tokens, 3 generation requests, 3 generation tokens, iteration elapsed time: 12.5 ms"


def test_a_step_with_a_number_of_thousands_of_digits_is_none() -> None:
    assert logged_step(LINE.format(2), 1.0, "0") is not None
    assert logged_step(LINE.format("9" * 5000), 1.0, "0") is None
