"""The log that is written is the log that our readers know, and says what vLLM of that version
says.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from barostat.core.version import EngineVersion
from barostat.engines.vllm.logs.settings import settings_in
from barostat.engines.vllm.logs.stats import stats_line
from barostat.engines.vllm.logs.text import unwrap
from barostat.engines.vllm.logs.writer import (
    API,
    CORE,
    StartFacts,
    StatisticsLine,
    line,
    pool_lines,
    start_lines,
    too_long,
    traceback,
)  # fmt: skip
from barostat.engines.vllm.served_stats import IterationStats, SchedulerStats

NOW, OLD = EngineVersion((0, 32, 0), "0.32.0"), EngineVersion((0, 20, 2), "0.20.2")
FACTS = StartFacts(
    NOW, "org/model", "m", (("model_tag", "org/model"), ("max_model_len", 4096)), "GPU", "http://127.0.0.1:8000", 4096, 8192, 2.0,
    step_tokens=256, overridden_blocks=(2048, 64),
)  # fmt: skip


def test_every_line_of_a_text_has_process_level_time_and_place() -> None:
    written = line(API, 7, "ERROR", "11-21 09:22:17", "core.py:1", "one\n  two")
    assert written == (
        "(APIServer pid=7) ERROR 11-21 09:22:17 [core.py:1] one\n(APIServer pid=7) ERROR "
        "11-21 09:22:17 [core.py:1]   two"
    )
    read = unwrap(written.splitlines()[0])[0]
    assert (read.text, read.level, read.process) == ("one", "ERROR", "APIServer")


def test_the_statistics_line_tells_rates_since_the_last_and_hits_over_the_last_thousand_requests() -> (
    None
):
    statistics = StatisticsLine(NOW, "CPU", 100.0)
    statistics.iteration(
        IterationStats(prompt_tokens=1000, cached_tokens=400, generation_tokens=50, preemptions=3)
    )
    statistics.scheduler(SchedulerStats(4, 2, 0.5, 10, 1000, 400))
    text = statistics.text(110.0)
    assert text == (
        "Engine 000: Avg prompt throughput: 60.0 tokens/s, Avg generation throughput: 5.0 "
        "tokens/s, Running: 4 reqs, Waiting: 2 reqs, "
        "CPU KV cache usage: 50.0%, Prefix cache hit rate: 40.0%"
    )
    found = stats_line(text, 0.0, "")
    assert found is not None
    assert (found.running, found.waiting, found.usage_ratio, found.generation_tokens_per_s) == (
        4,
        2,
        0.5,
        5.0,
    )
    statistics.scheduler(
        SchedulerStats(4, 2, 0.5, 1000, 1000, 0)
    )  # the earlier ten are among the last thousand no more
    later = statistics.text(120.0)
    assert later is not None
    assert later.endswith("Prefix cache hit rate: 0.0%")


def test_an_idle_engine_says_nothing_from_its_second_idle_interval_on() -> None:
    statistics = StatisticsLine(NOW, "GPU", 0.0)
    statistics.iteration(IterationStats(generation_tokens=5))
    assert statistics.text(10.0) is not None
    assert "0.0 tokens/s" in str(statistics.text(20.0))
    assert statistics.text(30.0) is None


@pytest.mark.parametrize(
    ("version", "named", "hits"), [(NOW, "CPU KV cache", False), (OLD, "GPU KV cache", True)]
)
def test_versions_name_the_device_and_the_hit_rate_differently(
    version: EngineVersion, named: str, hits: bool
) -> None:
    statistics = StatisticsLine(version, "CPU", 0.0)
    statistics.iteration(IterationStats(generation_tokens=5))
    text = str(statistics.text(10.0))
    assert named in text
    assert ("Prefix cache hit rate" in text) is hits


def test_the_start_tells_version_arguments_length_budget_and_pool_as_the_readers_look_for_them() -> (
    None
):
    found: dict[str, object] = {}
    for _, _, _, text in [*start_lines(FACTS), *pool_lines(FACTS)]:
        for part in text.split("\n"):
            found.update(settings_in(part))
    assert found["version"] == "0.32.0"
    assert found["max_model_len"] == 4096
    assert found["max_num_batched_tokens"] == 256
    assert found["kv_cache_size_tokens"] == 8192
    assert found["enable_prefix_caching"] is True


def test_older_versions_state_the_pool_in_two_lines() -> None:
    old = [text for _, _, _, text in pool_lines(replace(FACTS, version=OLD, device="CPU"))]
    assert old[:2] == [
        "GPU KV cache size: 8,192 tokens",
        "Maximum concurrency for 4,096 tokens per request: 2.00x",
    ]
    assert [process for process, *_ in pool_lines(FACTS)] == [CORE, API, API]


def test_a_pool_that_is_too_small_is_refused_in_the_words_of_the_version() -> None:
    assert "with the model's max seq len (4096), (0.02 GiB" in too_long(FACTS, 0.0156, 0.0073, 1920)
    assert "with the models's max seq len (4096)" in too_long(
        replace(FACTS, version=OLD), 0.0156, 0.0073, 1920
    )
    assert "estimated maximum model length is 1920." in too_long(FACTS, 0.0156, 0.0073, 1920)


def test_a_traceback_ends_with_its_error() -> None:
    lines = traceback((("v1/engine/core.py", "run"),), "ValueError: no").split("\n")
    assert lines[0].startswith("Traceback")
    assert "v1/engine/core.py" in lines[1]
    assert lines[-1] == "ValueError: no"
