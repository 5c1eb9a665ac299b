"""How long a step has to be for an item that goes through in one, by version."""

from __future__ import annotations

import pytest

from barostat.catalog.models import find_model
from barostat.core.version import parse_version
from barostat.engines.vllm.command_line.config import resolve
from barostat.judge.sizing.whole_items import step_with_items
from barostat.kv.read_architecture import read_architecture

BOTH_WAYS = "google/gemma-4-26B-A4B-it"


@pytest.mark.parametrize(("name", "version", "args", "tokens", "ends"), [
    (BOTH_WAYS, "0.19.0", (), 2048, False),
    (BOTH_WAYS, "0.20.0", (), 2048, True),
    (BOTH_WAYS, "0.25.1", (), 2496, False),
    (BOTH_WAYS, "0.25.1", ("--max-num-batched-tokens", "2048"), 2048, True),
    (BOTH_WAYS, "0.25.1", ("--max-num-batched-tokens", "2048", "--limit-mm-per-prompt", '{"video": 0}'), 2048, False),
    (BOTH_WAYS, "0.25.1", ("--max-num-batched-tokens", "2048", "--language-model-only"), 2048, False),
    ("google/gemma-4-E4B-it", "0.25.1", (), 2048, False),
    ("Qwen/Qwen3-8B", "0.25.1", (), 2048, False),
])  # fmt: skip
def test_a_step_is_as_long_as_a_video_or_ends_the_engine(
    name: str, version: str, args: tuple[str, ...], tokens: int, ends: bool
) -> None:
    """0.20.0 ended on 2,048; a log of 0.25.1 with no such flag has the pool of 2,496."""
    found, parsed = find_model(name), parse_version(version)
    assert found is not None
    assert parsed is not None
    config = resolve(
        args=list(args), env={}, version=parsed, gpu="NVIDIA L40S", gpu_memory_gib=44.4
    )
    step, why = step_with_items(read_architecture(found.config, name), config, parsed, 2048)
    assert (step, bool(why)) == (tokens, ends)
    assert not why or "2,496 tokens of a video" in why[0]
