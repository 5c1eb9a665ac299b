"""What is proposed for a start that failed: a rank, a port, cards, a driver, a disk."""

from __future__ import annotations

import pytest
from tests.support.lever_questions import ask, proposed


def lora(line: str, version: str | None = "0.32.0") -> str:
    return proposed(ask("fix-argument", "bad-config", "argument", version=version, log_invalid_config=(1.0, line)))


@pytest.mark.parametrize(
    ("rank", "version", "change"),
    [
        (64, None, "--max-lora-rank 64"),
        (24, "0.5.0", "--max-lora-rank 32"),
        (48, "0.32.0", "--max-lora-rank 64"),
        (257, "0.32.0", "--max-lora-rank 320"),
        (512, "0.11.0", "--max-lora-rank 512"),
        (128, "0.6.3", "if this version takes it (older ones end at 64 or 256): --max-lora-rank 128"),
        (128, None, "if this version takes it (older ones end at 64 or 256): --max-lora-rank 128"),
        (513, "0.32.0", "an adapter of rank 512 or less: no --max-lora-rank is as high as this one"),
    ],
)
def test_a_rank_is_one_that_the_engine_takes(rank: int, version: str | None, change: str) -> None:
    assert lora(f"ValueError: LoRA rank {rank} is greater than max_lora_rank 16.", version) == change


def test_a_rank_that_was_refused_becomes_the_next_of_those_that_the_line_names() -> None:
    assert lora("ValueError: max_lora_rank (48) must be one of (8, 16, 32, 64).", None) == "--max-lora-rank 64"
    assert "of rank 64 or less" in lora("ValueError: max_lora_rank (128) must be one of (8, 16, 32, 64).", None)
