"""Models with states and local chunks: what a request holds, where its prompt is cut, where a
repeat of it resumes.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from barostat.core.errors import InputError
from barostat.twin.block_pool.moving_state import chunk_end
from barostat.twin.forms import simulate
from barostat.twin.pace import EverySteps
from barostat.twin.request import Request, Row
from barostat.twin.scheduler.run import StepLine, Steps
from barostat.twin.scheduler.scheduler import Scheduler
from barostat.twin.settings import KvGroup, Settings, check

STATES = Settings(
    kv_blocks=101, groups=(KvGroup(16), KvGroup(16, state="align"), KvGroup(16, state="align")), max_model_len=400, max_num_seqs=8,
    max_num_batched_tokens=100,
)  # fmt: skip


def _steps(settings: Settings, rows: list[Row]) -> list[tuple[StepLine, int]]:
    """Every step, and how many blocks are held after it."""
    seen: list[tuple[StepLine, int]] = []

    def watch(line: StepLine, scheduler: Scheduler) -> None:
        seen.append((line, settings.usable_blocks - scheduler.kv.pool.free_blocks))

    outcome = Steps(settings, rows, EverySteps(10**9), watch).run()
    assert not outcome.stuck
    return seen


def test_a_prompt_is_cut_where_its_state_can_be_kept() -> None:
    lines = _steps(STATES, [Row("a", 0.0, 150, 4)])
    assert [line.scheduled["a"] for line, _ in lines][:3] == [96, 48, 6]  # to 96, to 144, the rest


def test_states_move_on_while_attention_grows() -> None:
    settings = replace(
        STATES, prefix_caching=False, groups=(KvGroup(16), KvGroup(16, state="align"))
    )
    held = [blocks for _, blocks in _steps(settings, [Row("a", 0.0, 150, 200)])]
    assert max(held) <= -(-350 // 16) + 2
    assert held[-1] >= 350 // 16


def test_a_repeat_of_a_prompt_resumes_at_its_last_whole_block() -> None:
    tokens = tuple(range(150))
    rows = [
        Row("a", 0.0, 150, 30, prompt_token_ids=tokens),
        Row("b", 40.0, 150, 30, prompt_token_ids=tokens),
    ]
    outcome = simulate(STATES, rows, EverySteps(10**9))
    assert [life.cached_tokens for life in outcome.lives] == [0, 144]
    longer = Row("b", 40.0, 160, 30, prompt_token_ids=(*range(100), *range(500, 560)))
    assert (
        simulate(STATES, [rows[0], longer], EverySteps(10**9)).lives[1].cached_tokens == 0
    )  # no state was left behind at 96


def test_a_state_of_this_step_is_read_in_the_next() -> None:
    tokens = tuple(range(33))
    rows = [Row(name, 0.0, 33, 3, prompt_token_ids=tokens) for name in "ab"]
    lines = [line for line, _ in _steps(STATES, rows)]
    assert lines[0].scheduled == {"a": 32}
    admitted = next(line for line in lines if "b" in line.scheduled)
    assert admitted.step > 1
    assert admitted.scheduled["b"] == 1


@pytest.mark.parametrize(
    ("start", "count", "most", "wanted"),
    [
        (0, 100, 100, 96),  # to the last block boundary within the chunk
        (96, 54, 100, 48),  # the last whole block of the prompt
        (144, 6, 100, 6),  # and the rest of it
        (
            0,
            10,
            100,
            0,
        ),  # the budget that is left does not reach a boundary: wait for a step that does
        (0, 10, 10, 10),  # no step ever does: go on without
        (10, 10, 10, 6),  # and stop at the boundary
        (150, 1, 100, 1),  # generating
    ],
)
def test_where_chunks_end(start: int, count: int, most: int, wanted: int) -> None:
    request = Request("a", 0.0, 150, 10, 0, 0, (), 1)
    request.tokens = max(150, start + 1)
    assert chunk_end(request, start, count, 16, most) == wanted


def test_a_shared_beginning_is_a_place_to_stop_at() -> None:
    request = Request("a", 0.0, 150, 10, 0, 0, (), 1, shared_boundary_tokens=64)
    assert chunk_end(request, 0, 100, 16, 100) == 64


def test_a_chunk_that_is_over_is_free() -> None:
    settings = Settings(
        kv_blocks=101,
        groups=(KvGroup(8), KvGroup(8, chunk_tokens=32)),
        max_model_len=400,
        prefix_caching=False,
    )
    held = [blocks for _, blocks in _steps(settings, [Row("a", 0.0, 30, 200)])]
    assert max(held) <= -(-230 // 8) + 5
    assert settings.admission_cap_blocks(settings.groups[1]) == 50


def test_states_ask_for_one_block_size() -> None:
    with pytest.raises(InputError, match="block size"):
        check(replace(STATES, groups=(KvGroup(16), KvGroup(32, state="align"))))
