"""The engine that is asked step by step decides as the run of a whole workload does; what is
aborted holds nothing.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest

from barostat.twin.pace import EverySteps
from barostat.twin.request import Row
from barostat.twin.scheduler.live import LiveEngine, LiveRequest
from barostat.twin.scheduler.run import Steps
from barostat.twin.settings import KvGroup, Settings

MS = 10**6


def settings_of(seed: int) -> Settings:
    dice = random.Random(seed)
    slots = dice.choice((2, 4, 8))
    return Settings(
        kv_blocks=dice.randint(12, 30),
        groups=(KvGroup(4),),
        max_model_len=40,
        max_num_seqs=slots,
        max_num_batched_tokens=max(slots, dice.choice((8, 32))),
        watermark_ratio=dice.choice((0.0, 0.1)),
        prefix_caching=dice.random() < 0.5,
        async_scheduling=dice.random() < 0.5,
    )


def rows_of(seed: int) -> list[Row]:
    dice = random.Random(seed + 1)
    shared = tuple(range(100, 116))
    rows = []
    for number in range(25):
        own = tuple(dice.randrange(1000, 2000) for _ in range(dice.randint(1, 12)))
        prompt = (*shared[: dice.choice((0, 8, 16))], *own)
        rows.append(
            Row(
                f"{number:03d}",
                dice.randint(0, 40) * 0.001,
                len(prompt),
                dice.randint(1, 12),
                prompt_token_ids=prompt,
            )
        )
    return sorted(rows, key=lambda row: row.arrival_s)


def answer_of(number: int) -> list[int]:
    """Tokens that no other request has."""
    return [10_000 + number * 100 + index for index in range(60)]


@pytest.mark.parametrize("seed", range(40))
def test_each_token_comes_when_the_whole_run_says(seed: int) -> None:
    settings, rows = settings_of(seed), rows_of(seed)
    outcome = Steps(settings, rows, EverySteps(MS)).run()
    expected = {
        life.request_id: (life.first_token_ns, life.finished_ns, life.output_tokens)
        for life in outcome.lives
    }
    engine, left = LiveEngine(settings, EverySteps(MS)), list(rows)
    first: dict[str, int] = {}
    tokens: dict[str, int] = {}
    finished: dict[str, int] = {}
    now_ns = 0
    preemptions = 0
    for _ in range(5000):
        while left and round(left[0].arrival_s * 1e9) <= now_ns:
            row = left.pop(0)
            assert row.prompt_token_ids is not None
            answer = answer_of(int(row.request_id))
            engine.add(
                LiveRequest(
                    row.request_id,
                    row.prompt_token_ids,
                    row.output_tokens,
                    answer.__getitem__,
                    settings,
                    now_ns=now_ns,
                    arrival_s=row.arrival_s,
                )
            )
        tick = engine.tick(now_ns)
        for output in tick.outputs:
            # Without asynchronous scheduling the step that produced it ended now; with it, too: the
            # next was scheduled before.
            first.setdefault(output.request_id, now_ns)
            tokens[output.request_id] = tokens.get(output.request_id, 0) + 1
            preemptions += output.preemptions
            if output.finished:
                finished[output.request_id] = now_ns
        if tick.until_ns is None:
            if not left:
                break
            now_ns = round(left[0].arrival_s * 1e9)
        else:
            now_ns = tick.until_ns
    assert {name: (first[name], finished[name], tokens[name]) for name in finished} == expected
    assert preemptions == outcome.preemptions
    assert engine.unfinished == 0


def request(name: str, prompt: Sequence[int], tokens: int, settings: Settings) -> LiveRequest:
    return LiveRequest(
        name, prompt, tokens, lambda index: 7 + index, settings, now_ns=0, arrival_s=0.0
    )


@pytest.mark.parametrize("asynchronous", [False, True])
def test_what_is_aborted_is_gone_with_its_blocks_and_its_step_is_not_taken_in(
    asynchronous: bool,
) -> None:
    settings = Settings(
        kv_blocks=9,
        groups=(KvGroup(4),),
        max_model_len=32,
        async_scheduling=asynchronous,
        prefix_caching=False,
    )
    engine = LiveEngine(settings, EverySteps(MS))
    engine.add(request("runs", range(20), 8, settings))
    engine.add(request("waits", range(20), 8, settings))
    tick = engine.tick(0)
    assert (tick.running, tick.waiting, tick.usage_ratio) == (1, 1, 5 / 8)
    engine.abort("runs")
    engine.abort("nobody")
    tick = engine.tick(MS)
    assert tick.outputs == []
    assert (tick.running, tick.waiting, tick.usage_ratio) == (1, 0, 5 / 8)
    engine.abort("waits")
    tick = engine.tick(2 * MS)
    assert (tick.running, tick.waiting, tick.usage_ratio) == (0, 0, 0.0)


def test_an_answer_that_is_sent_back_is_found_in_the_prefix_cache() -> None:
    settings = Settings(kv_blocks=20, groups=(KvGroup(4),), max_model_len=40)
    engine = LiveEngine(settings, EverySteps(MS))
    engine.add(request("first", range(6), 10, settings))
    now_ns: int | None = 0
    while now_ns is not None:
        now_ns = engine.tick(now_ns).until_ns
    said = [7 + index for index in range(10)]
    engine.add(request("second", [*range(6), *said, 99], 1, settings))
    # The last of ten tokens was never computed: of 15 cached tokens three full blocks are 12.
    assert engine.tick(100 * MS).hit_tokens == 12


def test_a_request_that_fits_in_no_empty_pool_waits_without_ticking() -> None:
    settings = Settings(kv_blocks=4, groups=(KvGroup(4),), max_model_len=32)
    engine = LiveEngine(settings, EverySteps(MS))
    engine.add(request("large", range(20), 2, settings))
    assert engine.tick(0).until_ns is None
    assert engine.unfinished == 1
