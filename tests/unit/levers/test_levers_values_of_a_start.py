"""What is proposed for a start that failed: a rank, a port, cards, a driver, a disk."""

from __future__ import annotations

import pytest
from tests.support.lever_questions import GIB, ask, proposed


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


def evicted(message: str) -> str:
    return proposed(ask("host-memory-limit", "host-oom", "node-eviction", host_memory_limit_bytes=32 * GIB, pod_evicted=(1.0, message)))


@pytest.mark.parametrize(
    ("message", "change"),
    [
        ("Pod ephemeral local storage usage exceeds the total limit of containers 10Gi. ", "limits: {ephemeral-storage"),
        ('Container vllm exceeded its local ephemeral storage limit "10Gi". ', "limits: {ephemeral-storage"),
        ('Container memory-proxy exceeded its local ephemeral storage limit "10Gi". ', "limits: {ephemeral-storage"),
        ('Usage of EmptyDir volume "cache" exceeds the limit "1Gi". ', "sizeLimit"),
        ('Usage of EmptyDir volume "shared-memory" exceeds the limit "1Gi". ', "sizeLimit"),
        ("The node was low on resource: ephemeral-storage. Container vllm was using 80Gi, request is 0.", "requests: {ephemeral-storage"),
        ("The node was low on resource: inodes. ", "requests: {ephemeral-storage"),
        ("The node had condition: [DiskPressure]. ", "requests: {ephemeral-storage"),
        ("The node was low on resource: pids. ", "fewer processes"),
        ("The node had condition: [PIDPressure]. ", "fewer processes"),
        ("Pod was terminated in response to imminent node shutdown.", "kubectl describe node"),
        ("The node was low on resource: memory. Container disk-cache was using 80Gi, request is 0.", "memory: 32Gi"),
        ("The node had condition: [MemoryPressure]. ", "memory: 32Gi"),
        ("evicted", "memory: 32Gi"),
    ],
)
def test_an_eviction_is_answered_by_what_ran_short(message: str, change: str) -> None:
    for words in (message, f"Evicted: {message}"):
        answer = evicted(words)
        assert change in answer
        assert ("memory:" in change) == ("memory:" in answer)
