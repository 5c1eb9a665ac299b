"""What an engine takes after its pool stands, and whether the card has it; against starts of a tuner
on an A10G (vLLM 0.22.0, Qwen2.5-7B-Instruct, a vocabulary of 152,064).
"""

from __future__ import annotations

import pytest

from barostat.catalog.cards import find_card
from barostat.catalog.models import find_model
from barostat.core.units import GIB
from barostat.core.version import parse_version
from barostat.engines.vllm.command_line.config import resolve
from barostat.judge.sizing.fitting_changes import may_not_start
from barostat.judge.sizing.plan import CapacityPlan, PlanRequest, plan
from barostat.kv.read_architecture import read_architecture


def planned(
    *words: str,
    model: str = "Qwen/Qwen2.5-7B-Instruct",
    card: str = "A10G",
    version: str = "0.22.0",
) -> CapacityPlan:
    found, known, gpu = find_model(model), parse_version(version), find_card(card)
    assert found is not None
    assert known is not None
    assert gpu is not None
    config = resolve(args=["vllm", "serve", model, *words], version=known, gpu=card, gpu_memory_gib=gpu.memory_bytes[0] / GIB)  # fmt: skip
    return plan(PlanRequest(read_architecture(found.config, "test"), model, known, config, gpu))


def tuned(seqs: int, budget: int, share: float, *more: str) -> CapacityPlan:
    return planned(
        "--max-num-seqs", str(seqs), "--max-num-batched-tokens", str(budget), "--gpu-memory-utilization", str(share), *more
    )  # fmt: skip


def test_a_start_that_ran_out_of_memory_in_the_sampler_is_foreseen() -> None:
    made = tuned(1016, 1023, 0.94883, "--enforce-eager")
    assert made.fits
    said = may_not_start(made)
    assert "the sampler's warm-up (1,016 rows of 152,064 logits" in said
    assert "--max-num-seqs lower, or --gpu-memory-utilization up to 0.94 leaves room" in said


@pytest.mark.parametrize(
    ("seqs", "budget", "share"),
    [(128, 2048, 0.92), (709, 2736, 0.86875), (391, 391, 0.94997), (1024, 6598, 0.93454)],
)
def test_starts_that_came_up_are_not_doubted(seqs: int, budget: int, share: float) -> None:
    assert "warm-up" not in may_not_start(tuned(seqs, budget, share))


def test_fewer_rows_or_a_lower_share_leave_room() -> None:
    assert "warm-up" not in may_not_start(tuned(512, 1023, 0.94883, "--enforce-eager"))
    assert "warm-up" not in may_not_start(tuned(1016, 1023, 0.92, "--enforce-eager"))


def test_a_pool_set_by_hand_leaves_what_it_leaves() -> None:
    words = ("--max-num-seqs", "256", "--enforce-eager")
    roomy = planned(*words, "--kv-cache-memory-bytes", "3G")
    full = planned(*words, "--kv-cache-memory-bytes", f"{int(6.1 * GIB)}")
    assert roomy.room is not None
    assert full.room is not None
    assert roomy.room.value - full.room.value == pytest.approx(3.1 * GIB, rel=0.01)
    assert may_not_start(roomy) == ""


def test_graphs_beside_the_budget_are_part_of_it_before_0_20() -> None:
    words = ("--gpu-memory-utilization", "0.97", "--max-model-len", "4096")
    made = planned(*words, model="meta-llama/Llama-3.1-8B-Instruct", card="L4", version="0.19.0")
    assert [step.name for step in made.warm_up][:1] == ["graphs"]
    assert "CUDA graphs" in may_not_start(made)


def test_an_image_that_is_not_profiled_needs_room_later() -> None:
    words = ("--gpu-memory-utilization", "0.97", "--max-num-seqs", "8", "--max-model-len", "8192")
    model = "Qwen/Qwen2.5-VL-7B-Instruct"
    skipped = planned(*words, "--skip-mm-profiling", model=model, card="L40S", version="0.32.0")
    profiled = planned(*words, model=model, card="L40S", version="0.32.0")
    assert "tower" in {step.name for step in skipped.warm_up}
    assert "tower" not in {step.name for step in profiled.warm_up}
    assert "the first image" in may_not_start(skipped)


def test_smaller_graphs_leave_more_for_the_pool() -> None:
    usual, small = (
        planned(*words, card="L4", version="0.32.0")
        for words in ((), ("--max-cudagraph-capture-size", "8"))
    )
    listed = planned("--cudagraph-capture-sizes", "1", "2", "4", "8", card="L4", version="0.32.0")
    assert small.pool.blocks > usual.pool.blocks
    assert small.pool.blocks == listed.pool.blocks
