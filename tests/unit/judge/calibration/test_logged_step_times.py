"""A pace from step lines: what the lines were made with is found again, through a clock of whole
seconds too.
"""

from __future__ import annotations

import datetime
import itertools
from functools import cache

import pytest

from barostat.core.errors import InputError
from barostat.engines.vllm.logs.lines import LoggedStep
from barostat.engines.vllm.logs.steps import logged_steps
from barostat.judge.calibration.logged_step_times import pace_of_steps, step_samples
from barostat.twin.linear_pace import LinearPace
from barostat.twin.request import Row
from barostat.twin.scheduler.run import StepLine, Steps
from barostat.twin.scheduler.scheduler import Scheduler
from barostat.twin.settings import KvGroup, Settings

SETTINGS = Settings(kv_blocks=65, groups=(KvGroup(128),), max_model_len=4096, max_num_seqs=32)
POOL_TOKENS = SETTINGS.usable_blocks * 128
PACE = LinearPace(0.006, 2e-4, 5e-4, 8e-7)
STAMP = datetime.datetime(2026, 11, 21, 9, 0, 0)


def _rows() -> list[Row]:
    decodes = [Row(f"d{index}", 0.0, 40, 300) for index in range(20)]
    long = [Row(f"l{index}", 20.0, 1500, 200) for index in range(3)]
    mixed = [
        Row(f"m{index}", 35.0 + 0.4 * index, 100 + 137 * index % 900, 60) for index in range(60)
    ]
    return decodes + long + mixed


@cache
def logged(fraction: bool) -> list[str]:
    """The lines that vLLM 0.32 would print for the rows at that pace. The seconds that they tell
    are none of the pace's.
    """
    seen: list[tuple[StepLine, int, int, int]] = []

    def watch(line: StepLine, scheduler: Scheduler) -> None:
        fresh = [
            request
            for request in scheduler.running
            if request.tokens == request.prompt_tokens and request.request_id in line.scheduled
        ]
        context = sum(line.scheduled[request.request_id] for request in fresh)
        cached = sum(
            request.computed_tokens
            for request in scheduler.running
            if request.request_id in line.scheduled
        )
        seen.append((line, len(fresh), context, cached))

    Steps(SETTINGS, _rows(), PACE, watch).run()
    lines = ["(EngineCore pid=7) INFO 11-21 09:00:00 [core.py:1] Iteration of something else"]
    for index, (line, fresh, context, cached) in enumerate(seen):
        decodes, generated = len(line.scheduled) - fresh, sum(line.scheduled.values()) - context
        end_s = (line.start_ns + PACE.step_ns(context, decodes, cached)) / 1e9
        idle = index + 1 == len(seen) or seen[index + 1][0].start_ns / 1e9 > end_s + 0.005
        used = 0.0 if idle else 100 * (1 - line.free_blocks / SETTINGS.usable_blocks)
        at = STAMP + datetime.timedelta(seconds=end_s)
        stamp = f"{at:%m-%d %H:%M:%S}" + (f".{at.microsecond // 1000:03d}" if fraction else "")
        lines.append(
            f"(APIServer pid=6) INFO {stamp} [loggers.py:204] Engine 000: "
            f"Iteration({index}): {fresh} context requests, "
            f"{context} context tokens, {decodes} generation requests, {generated} "
            "generation tokens, iteration elapsed time: 0.25 ms, "
            f"CPU KV cache usage: {used:.1f}%"
        )
    return lines


def test_lines_become_steps() -> None:
    steps = next(iter(logged_steps(logged(fraction=False)).values()))
    assert len(steps) > 500
    first = steps[0]
    assert (first.context_requests, first.context_tokens, first.generation_requests) == (20, 800, 0)
    assert first.duration_s == 0.00025
    assert first.usage_ratio == pytest.approx(20 / 64, abs=1e-3)


def test_a_line_cut_short_or_without_work_is_no_step() -> None:
    whole = logged(fraction=False)[1]
    dummy = (
        "INFO 11-21 09:00:00 [loggers.py:204] Iteration(3): 0 context requests, 0 context "
        "tokens, 0 generation requests, "
        "0 generation tokens, iteration elapsed time: 4.00 ms (dummy), GPU KV cache usage: 0.0%"
    )
    assert logged_steps([whole[: len(whole) // 2], dummy, "Iteration(", "\0Iteration(1): x"]) == {}


@pytest.mark.parametrize(("fraction", "off"), [(False, 0.08), (True, 0.02)])
def test_the_pace_is_found_again(fraction: bool, off: float) -> None:
    steps = next(iter(logged_steps(logged(fraction=fraction)).values()))
    found = pace_of_steps(steps, POOL_TOKENS, 128, "test")
    for load in ((0, 4, 800), (0, 20, 6000), (600, 3, 2000), (1500, 0, 1500)):
        assert found.step_ns(*load) == pytest.approx(PACE.step_ns(*load), rel=off), load
    assert found.error_ratio < off


def test_idle_time_is_no_part_of_a_step() -> None:
    steps = next(iter(logged_steps(logged(fraction=True)).values()))
    slowest_s = PACE.step_ns(2048, 32, POOL_TOKENS) / 1e9
    assert max(late.at - early.at for early, late in itertools.pairwise(steps)) > 2 * slowest_s
    assert max(sample.duration_s for sample in step_samples(steps, POOL_TOKENS, 128)) < slowest_s


def test_loads_are_those_of_the_requests() -> None:
    steps = next(iter(logged_steps(logged(fraction=True)).values()))
    # 20 requests of 40 tokens and one more each step.
    for sample in step_samples(steps, POOL_TOKENS, 128)[3:20]:
        assert (sample.prefill_tokens, sample.decodes) == (0, 20)
    held = [sample.kv_tokens for sample in step_samples(steps, POOL_TOKENS, 128)[3:20]]
    assert held[-1] > held[0] > 20 * 40


def test_a_resumed_request_computes_its_tokens_again() -> None:
    steps = [
        LoggedStep(10 + index * 0.3, 0, 0, 5, 404 if index == 2 else 5, 0.0, 0.5)
        for index in range(4)
    ]
    assert [sample.prefill_tokens for sample in step_samples(steps, POOL_TOKENS, 128)] == [
        0,
        399,
        0,
    ]


def test_lines_that_are_missing_are_no_long_step() -> None:
    """Of a long log a cluster gives the first part and the last."""
    steps = next(iter(logged_steps(logged(fraction=True)).values()))
    busy = [step for step in steps if step.at < steps[0].at + 6.0]
    cut = [*busy[:60], *busy[200:]]
    longest_s = max(sample.duration_s for sample in step_samples(busy, POOL_TOKENS, 128))
    assert (
        max(sample.duration_s for sample in step_samples(cut, POOL_TOKENS, 128)) <= 1.01 * longest_s
    )


def test_too_few_steps_are_said_to_be_so() -> None:
    steps = list(itertools.islice(next(iter(logged_steps(logged(fraction=False)).values())), 10))
    with pytest.raises(InputError, match="enable-logging-iteration-details"):
        pace_of_steps(steps, POOL_TOKENS, 128, "test")
