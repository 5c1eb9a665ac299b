"""How states are cached, by version, family and flag; and the pools of public start-ups that show
it.
"""

from __future__ import annotations

from typing import Any

import pytest

from barostat.catalog.models import find_model, without_format
from barostat.core.units import GIB
from barostat.core.version import parse_version
from barostat.engines.vllm.command_line.config import resolve
from barostat.judge.sizing.plan import CapacityPlan, PlanRequest, plan
from barostat.judge.sizing.state_caching import prefix_caching_default, state_chunk_tokens
from barostat.kv.read_architecture import read_architecture


def planned(
    name: str, version: str, available_gib: float, *words: str, model_name: str = ""
) -> CapacityPlan:
    found, parsed = find_model(name), parse_version(version)
    assert found is not None
    assert parsed is not None
    config = resolve(args=list(words), env={}, version=parsed)
    model = read_architecture(without_format(found.config), found.name)
    return plan(
        PlanRequest(model, model_name, parsed, config, available_kv_bytes=int(available_gib * GIB))
    )


@pytest.mark.parametrize(
    ("name", "version", "words", "mode"),
    [
        ("Qwen/Qwen3.5-27B", "0.27.1", (), "none"),
        ("Qwen/Qwen3.5-27B", "0.28.0", (), "align"),
        ("Qwen/Qwen3.5-27B", "0.28.0", ("--no-enable-prefix-caching",), "none"),
        ("Qwen/Qwen3.5-27B", "0.20.0", ("--enable-prefix-caching",), "align"),
        ("Qwen/Qwen3.5-27B", "0.14.0", ("--enable-prefix-caching",), "none"),
        ("Qwen/Qwen3.5-27B", "0.27.0", ("--mamba-cache-mode", "align"), "none"),
        ("nvidia/Nemotron-H-56B-Base-8K", "0.11.0", ("--enable-prefix-caching",), "none"),
        ("nvidia/Nemotron-H-56B-Base-8K", "0.12.0", ("--enable-prefix-caching",), "all"),
        ("nvidia/Nemotron-H-56B-Base-8K", "0.27.0", ("--enable-prefix-caching",), "all"),
        (
            "nvidia/Nemotron-H-56B-Base-8K",
            "0.27.0",
            ("--enable-prefix-caching", "--mamba-cache-mode", "align"),
            "align",
        ),
        ("nvidia/Nemotron-H-56B-Base-8K", "0.32.0", ("--enable-prefix-caching",), "align"),
        ("Qwen/Qwen3-8B", "0.32.0", (), "none"),
    ],
)
def test_the_mode_follows_flag_family_and_version(
    name: str, version: str, words: tuple[str, ...], mode: str
) -> None:
    assert planned(name, version, 20, "--max-model-len", "8192", *words).flags.state_mode == mode


def test_off_by_default_is_said_and_costs_nothing() -> None:
    off, on = (
        planned("Qwen/Qwen3.5-27B", "0.26.0", 20, *words)
        for words in ((), ("--enable-prefix-caching",))
    )
    assert any("--enable-prefix-caching costs memory" in note for note in off.assumptions)
    assert off.pool.concurrency > on.pool.concurrency
    assert not prefix_caching_default(off.request.model, off.request.version)


def test_one_state_for_every_block_in_mode_all() -> None:
    found = planned(
        "nvidia/Nemotron-H-56B-Base-8K",
        "0.20.0",
        20,
        "--enable-prefix-caching",
        "--max-model-len",
        "8192",
        "--tp",
        "8",
    )
    model = found.request.model
    assert found.layout.block_tokens % state_chunk_tokens(model) == 0
    states = [group for group in found.layout.groups if group.layers[0][1].kind == "state"]
    assert {group.blocks_per_request(8192, 1, 8192) for group in states} == {
        -(-8192 // found.layout.block_tokens)
    }


# Numbers as public logs state them: bench/sizing_public.yaml.
@pytest.mark.parametrize(
    ("name", "version", "gib", "words", "said"),
    [
        ("Qwen/Qwen3.8-27B-FP8", "0.26.0", 8.82, ("--max-model-len", "131072"), {"blocks": 184, "tokens": 141_036}),
        ("Qwen/Qwen3.8-27B-FP8", "0.26.0", 7.04, ("--max-model-len", "131072"), {"longest_tokens": 112_896, "fits": False}),
        ("Qwen/Qwen3.6-27B", "0.23.1", 48.6, (
            "--max-model-len", "262144", "--kv-cache-dtype", "fp8", "--enable-prefix-caching", "--speculative-config",
            '{"method": "mtp", "num_speculative_tokens": 2}'), {"tokens": 1_394_129}),
        ("deepseek-ai/DeepSeek-V4-Flash", "0.22.0", 5.44, (
            "--max-model-len", "30000", "--max-num-batched-tokens", "16384", "--kv-cache-dtype", "fp8", "--block-size", "256", "-tp", "2",
            "--gpu-memory-utilization", "0.95"), {"longest_tokens": 13_524, "fits": False}),
    ],
)  # fmt: skip
def test_pools_are_those_of_public_logs(
    name: str, version: str, gib: float, words: tuple[str, ...], said: dict[str, Any]
) -> None:
    pool = planned(name, version, gib, *words).pool
    assert {field: getattr(pool, field) for field in said} == said


def test_a_published_drafter_takes_its_part() -> None:
    words = (
        "--max-model-len",
        "180000",
        "-tp",
        "2",
        "--enable-prefix-caching",
        "--max-num-batched-tokens",
        "8192",
    )
    drafts = '{"method": "dflash", "num_speculative_tokens": 5}'
    found = planned(
        "Qwen/Qwen3.6-27B",
        "0.20.1rc1.dev16",
        9.74,
        *words,
        "--speculative-config",
        drafts,
        model_name="Qwen/Qwen3.6-27B-INT4",
    )
    assert (found.pool.tokens, round(found.pool.concurrency, 2)) == (67_728, 1.06)
    assert any("published" in note for note in found.assumptions)
    unsaid = planned(
        "Qwen/Qwen3.6-27B",
        "0.26.0",
        9.74,
        *words,
        "--speculative-config",
        '{"method": "dflash"}',
        model_name="Qwen3.6-27B",
    )
    assert unsaid.flags.num_speculative_tokens == 7
    assert any("as most launch lines say" in note for note in unsaid.assumptions)
    assert any(spec.kind == "window" for group in unsaid.layout.groups for spec in group.kinds)
