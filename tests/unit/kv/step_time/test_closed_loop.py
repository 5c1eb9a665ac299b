"""What clients in a closed loop see."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from tests.support.built_models import steps

from barostat.kv.step_time.closed_loop import Clients, closed_loop
from barostat.kv.step_time.model import StepLoad


@dataclass(frozen=True)
class Metronome:
    """A step takes 10 ms, and 1 ms for each 100 prompt tokens."""

    def step_s(self, load: StepLoad) -> float:
        return 0.01 + load.prompt_tokens * 1e-5

    def front_s(self, prompt_tokens: float) -> float:
        return 0.0 * prompt_tokens

    @property
    def delivery_steps(self) -> float:
        return 0.0


def test_a_lone_client_waits_for_its_prompt_and_then_a_step_for_each_token() -> None:
    found = closed_loop(Metronome(), Clients(1, 1000, 101))
    assert found.ttft_s == pytest.approx(0.02)
    assert found.tpot_s == pytest.approx(0.01)
    assert found.running == pytest.approx(1 / 1.02)


def test_a_prompt_longer_than_the_budget_takes_several_steps() -> None:
    assert closed_loop(
        Metronome(), Clients(1, 1000, 11), budget_tokens=250
    ).ttft_s == pytest.approx(4 * 0.0125)


def test_the_prompts_of_the_others_slow_a_token() -> None:
    few, many = (
        closed_loop(Metronome(), Clients(2, 1000, 100, 0.8)),
        closed_loop(Metronome(), Clients(16, 1000, 100, 0.8)),
    )
    assert few.tpot_s < many.tpot_s
    # All of a cycle's prompts, once for each client, over the tokens of an answer.
    assert many.tpot_s == pytest.approx(0.01 + 15 * 900 * 1e-5 / 90, rel=0.1)


def test_a_full_pool_makes_clients_wait_and_not_the_tokens() -> None:
    free, full = (
        closed_loop(Metronome(), Clients(16, 1000, 100), pool_tokens=pool) for pool in (1e9, 4500.0)
    )
    assert full.ttft_s > 3 * free.ttft_s
    assert full.running < 5
    assert full.tpot_s < free.tpot_s


def test_a_request_larger_than_the_pool_still_runs_alone() -> None:
    assert closed_loop(Metronome(), Clients(2, 1000, 100, waves=2), pool_tokens=10).running <= 1


def test_lengths_spread_between_shortest_and_longest_without_dice() -> None:
    clients = Clients(10, 1000, 500, 0.8)
    prompts = clients.prompts()
    assert len(prompts) == 100
    assert 800 <= min(prompts) < 810
    assert 990 < max(prompts) <= 1000
    assert sum(prompts) / 100 == pytest.approx(900, rel=0.01)
    assert prompts == clients.prompts()


def test_no_more_run_than_may() -> None:
    assert closed_loop(Metronome(), Clients(16, 100, 100), max_running=4).running <= 4


def test_a_real_models_loop_agrees_with_its_steps() -> None:
    model = steps("Qwen/Qwen3-8B")
    found = closed_loop(model, Clients(8, 512, 2048, 0.8))
    alone = model.step_s(StepLoad(decodes=8, cached_tokens=8 * 1400))
    assert found.tpot_s == pytest.approx(alone, rel=0.1)
    assert found.ttft_s > model.front_s(512)
