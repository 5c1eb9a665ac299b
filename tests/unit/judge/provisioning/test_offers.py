"""The fewest replicas that hold: found from any guess, and more of them for more load and for
slower steps.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from barostat.catalog.cards import find_card
from barostat.core.config import EngineConfig
from barostat.core.version import parse_version
from barostat.io.input_files.model_files import open_model
from barostat.judge.provisioning.need import parse_need
from barostat.judge.provisioning.offers import MOST_REPLICAS, fewest, offer
from barostat.judge.sizing.plan import CapacityPlan, PlanRequest, plan
from barostat.kv.read_architecture import read_architecture


@pytest.mark.parametrize("guess", [1, 6, 7, 8, 100])
@pytest.mark.parametrize("needed", [1, 2, 7, 63, 64])
def test_the_fewest_is_found_from_any_guess(needed: int, guess: int) -> None:
    asked: list[int] = []

    def holds(number: int) -> bool:
        asked.append(number)
        return number >= needed

    assert fewest(holds, guess, 128) == needed
    assert len(asked) < 105


def test_none_where_not_even_the_most_do() -> None:
    assert fewest(lambda number: number > 128, 3, 128) is None


def planned(card: str) -> CapacityPlan:
    found, version = open_model("Qwen/Qwen3-8B"), parse_version("0.32.0")
    assert version is not None
    return plan(
        PlanRequest(
            read_architecture(found.config, found.source),
            found.name,
            version,
            EngineConfig({}, ()),
            find_card(card),
        )
    )


def test_more_load_needs_more_and_slow_steps_more_still() -> None:
    shape = "input=1500 output=15 spread=0"
    little, much = (
        offer("L40S", planned("L40S"), parse_need(f"{rate}/s {shape}", "ttft=2s"))
        for rate in (1, 16)
    )
    assert little.replicas == 1
    assert much.replicas is not None
    assert much.fewest is not None
    assert much.most is not None
    assert much.replicas > 1
    assert much.fewest <= much.replicas <= much.most
    assert much.expected is not None
    assert much.slow is not None
    assert much.expected.ttft_p99_s is not None
    assert much.slow.ttft_p99_s is not None
    assert much.expected.ttft_p99_s <= 2.2
    assert much.slow.ttft_p99_s > much.expected.ttft_p99_s


def test_cards_come_in_whole_machines() -> None:
    found = replace(
        offer("L40S", planned("L40S"), parse_need("1/s input=100 output=5", "ttft=2s"), 0.5),
        machine=4,
    )
    assert (found.replicas, found.cards, found.cost(found.cards)) == (1, 4, 2.0)


def test_what_no_number_of_replicas_helps_is_told_with_its_reason() -> None:
    found = offer("L40S", planned("L40S"), parse_need("1/s input=4000 output=5", "ttft=10ms"))
    assert found.replicas is None
    assert "a request alone has its first token after" in found.refused
    assert MOST_REPLICAS > 100
