"""A line of statistics that was quoted in part, and numbers in it that no engine counts."""

from __future__ import annotations

import pytest

from barostat.engines.vllm.logs.digest import digest
from barostat.engines.vllm.logs.stats import logged_step, stats_line

LINE = (
    "Iteration(7): {} context requests, 10 context tokens, 3 generation requests, 3 generation "
    "tokens, iteration elapsed time: 12.5 ms"
)
QUEUE = "Running: 12 reqs, Waiting: 188 reqs, GPU KV cache usage: 99.8%"


def test_a_step_with_a_number_of_thousands_of_digits_is_none() -> None:
    assert logged_step(LINE.format(2), 1.0, "0") is not None
    assert logged_step(LINE.format("9" * 5000), 1.0, "0") is None


@pytest.mark.parametrize("before", ["", "INFO ... ", "Avg generation throughput: 45.1 tokens/s, "])
def test_the_end_of_a_line_tells_the_queue_and_the_pool(before: str) -> None:
    found = digest([before + QUEUE], source="x").stats
    assert [(line.running, line.waiting, line.usage_ratio) for line in found] == [(12, 188, 0.998)]
    assert found[0].generation_tokens_per_s == (45.1 if "45.1" in before else None)


def test_throughput_that_was_not_quoted_is_no_stall() -> None:
    signals = {made.name: made for made in digest([QUEUE], source="x").signals(1_795_000_000.0)[""]}
    assert signals["tokens_stalled_s"].last == 0.0
    assert "generation_tokens_per_s" not in signals


def test_a_build_that_prints_its_step_times_between_is_read_whole() -> None:
    line = (
        "Avg prompt throughput: 382.6 tokens/s, Avg generation throughput: 118.5 tokens/s, Max "
        "iteration time: 386.7 ms, "
    )
    found = stats_line(
        line
        + (
            "Avg time/tok:149.4 ms, Running: 35 reqs, Swapped: 0 reqs, Pending: 115 reqs, GPU "
            "KV cache usage: 99.0%"
        ),
        1.0,
        "",
    )
    assert found is not None
    assert (found.prompt_tokens_per_s, found.generation_tokens_per_s, found.waiting) == (
        382.6,
        118.5,
        115,
    )


@pytest.mark.parametrize(
    "line",
    [
        "Running: 3 reqs",
        "Running: 3 reqs, Waiting: 2 reqs",
        "INFO 11-20 08:00:00 [x.py:1] Running: 3 tools",
    ],
)
def test_words_about_running_are_no_statistics(line: str) -> None:
    assert not digest([line], source="x").stats
