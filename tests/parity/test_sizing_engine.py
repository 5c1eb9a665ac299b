"""The plan equals, to the token, the line that the real engine logs when it starts."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from dev.free_port import free_port

from barostat.core.version import parse_version
from barostat.engines.vllm.command_line.config import resolve
from barostat.judge.sizing.plan import PlanRequest, plan
from barostat.kv.read_architecture import read_architecture

ROOT = Path(__file__).resolve().parents[2]
VLLM = ROOT / ".vllm"
LINE = re.compile(
    r"KV cache size: ([\d,]+) tokens, Maximum concurrency for ([\d,]+) tokens per request: ([\d.]+)x"
)
pytestmark = [
    pytest.mark.real,
    pytest.mark.skipif(
        not (VLLM / "READY").exists(), reason="the real vLLM is not set up: make vllm"
    ),
]

# Half a minute each: a pool given in blocks, one from the space, one of another block size.
STARTS: list[list[str]] = [
    ["--max-model-len", "8192", "--num-gpu-blocks-override", "1001"],
    ["--max-model-len", "1000"],
    ["--max-model-len", "2048", "--block-size", "64", "--num-gpu-blocks-override", "333"],
]


@contextmanager
def engine(flags: list[str], space_gib: int) -> Iterator[str]:
    """Text of the pool's line of an engine that was started with these flags; the engine is gone
    afterwards.
    """
    port = free_port()
    environment = {
        **os.environ,
        "VLLM_CPU_KVCACHE_SPACE": str(space_gib),
        "HF_HUB_OFFLINE": "1",
        "VLLM_NO_USAGE_STATS": "1",
    }
    command = [
        str(VLLM / "bin" / "vllm"),
        "serve",
        str(VLLM / "model"),
        "--load-format",
        "dummy",
        "--enforce-eager",
        "--port",
        str(port),
    ]
    process = subprocess.Popen(
        [*command, *flags],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=environment,
        start_new_session=True,
    )
    said: list[str] = []
    try:
        assert process.stdout is not None
        deadline = time.monotonic() + 240
        for line in process.stdout:
            said.append(line)
            if LINE.search(line):
                yield line
                return
            assert time.monotonic() < deadline, "".join(said[-30:])
        raise AssertionError("the engine ended without naming its pool:\n" + "".join(said[-30:]))
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait(30)


def planned(flags: list[str], space_gib: int) -> Any:
    """Our plan for the same start."""
    config = json.loads((VLLM / "model" / "config.json").read_text())
    version = parse_version("0.32.0+cpu")
    assert version is not None
    resolved = resolve(
        args=["vllm", "serve", "model", *flags],
        env={"VLLM_CPU_KVCACHE_SPACE": str(space_gib)},
        version=version,
        gpu="cpu",
    )
    return plan(
        PlanRequest(
            read_architecture(config),
            "tiny",
            version,
            resolved,
            available_kv_bytes=space_gib * 2**30,
            is_cpu=True,
        )
    )


@pytest.mark.parametrize("flags", STARTS, ids=lambda flags: " ".join(flags))
def test_the_plan_is_the_log_line(flags: list[str]) -> None:
    with engine(flags, 1) as line:
        found = LINE.search(line)
    assert found is not None
    pool = planned(flags, 1).pool
    assert (f"{pool.tokens:,}", f"{pool.concurrency:.2f}") == (found[1], found[3]), line
