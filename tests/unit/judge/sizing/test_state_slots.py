"""A hybrid whose pool has fewer blocks than sequences may decode does not start, and is told how
many it can have.
"""

from __future__ import annotations

import pytest
from tests.unit.judge.sizing.test_plan import made

from barostat.judge.sizing.fitting_changes import changes_that_fit, why_not

WORDS = (
    "Qwen/Qwen3.6-27B-FP8",
    "--gpu",
    "L40S",
    "--max-model-len",
    "32768",
    "--max-num-seqs",
    "256",
    "--gpu-memory-utilization",
    "0.9",
)


def test_fewer_blocks_than_sequences_refuse_and_fewer_sequences_start() -> None:
    """0.26.0 on an L40S: 184 blocks, 256 sequences, refused; with 16 it started."""
    found = made(*WORDS, "--engine-version", "0.26.0")
    assert not found.fits
    assert found.lacking_states == 256 - found.pool.blocks
    assert "max_num_seqs 256 is more than the pool's" in why_not(found)
    assert changes_that_fit(found)[0].arguments == "--max-num-seqs 128"


@pytest.mark.parametrize("words", [
    ("--engine-version", "0.26.0", "--enforce-eager"),
    ("--engine-version", "0.17.1"),
    ("--engine-version", "0.26.0", "--max-num-seqs", "16"),
    ("--engine-version", "0.26.0", "--speculative-config", '{"method":"mtp","num_speculative_tokens":3}'),
])  # fmt: skip
def test_engines_that_do_not_record_whole_steps_or_know_no_such_check_start(
    words: tuple[str, ...],
) -> None:
    assert made(*WORDS, *words).fits
