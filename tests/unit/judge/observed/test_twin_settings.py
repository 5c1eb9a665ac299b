"""A running engine's twin has its settings and its groups of layers; what is not known of them is
said on the result.
"""

from __future__ import annotations

import pytest
from tests.unit.judge.observed.test_settings import window

from barostat.core.config import ConfigScalar, ConfigValue
from barostat.judge.observed.settings import ARCHITECTURE
from barostat.judge.observed.twin_settings import SeenTwin, twin_settings

SMALL: dict[str, ConfigScalar | ConfigValue] = {
    "num_gpu_blocks": 2000, "block_size": 16, "max_model_len": 8192, "max_num_seqs": 64, "max_num_batched_tokens": 2048,
}  # fmt: skip


def made(config: dict[str, ConfigScalar | ConfigValue], version: str | None = "0.32.0") -> SeenTwin:
    found = twin_settings(window({**SMALL, **config}, version))
    assert found is not None
    return found


def about_architecture(found: SeenTwin) -> list[str]:
    return [str(one.text) for one in found.assumptions if one.about == ARCHITECTURE]


def test_everything_that_the_engine_shows_of_its_scheduler_arrives() -> None:
    found = made(
        {
            "scheduling_policy": "priority", "long_prefill_token_threshold": 512, "max_num_queued_reqs": 9, "max_num_queued_tokens": 900,
            "scheduler_reserve_full_isl": False, "watermark": 0.05, "max_num_active_seqs": 32, "enable_prefix_caching": False,
            "async_scheduling": False,
        }
    ).settings  # fmt: skip
    assert (found.policy, found.long_prefill_token_threshold) == ("priority", 512)
    assert (found.max_queued_requests, found.max_queued_tokens) == (9, 900)
    assert (found.reserve_full_isl, found.prefix_caching, found.async_scheduling) == (False,) * 3
    assert (found.watermark_ratio, found.max_num_active_seqs) == (0.05, 32)


@pytest.mark.parametrize(
    ("model", "version", "groups"),
    [
        ("Qwen/Qwen3-8B", "0.32.0", {(None, None, "")}),
        ("openai/gpt-oss-20b", "0.32.0", {(None, None, ""), (128, None, "")}),
        ("google/gemma-3-27b-it", "0.32.0", {(None, None, ""), (1024, None, "")}),
        ("meta-llama/Llama-4-Scout-17B-16E-Instruct", "0.32.0", {(None, None, ""), (None, 8192, "")}),
        ("Qwen/Qwen3-Next-80B-A3B-Instruct", "0.32.0", {(None, None, ""), (None, None, "align")}),
    ],
)  # fmt: skip
def test_the_groups_of_layers_are_those_of_the_model(
    model: str, version: str, groups: set[tuple[int | None, int | None, str]]
) -> None:
    found = made({"model": model, "max_model_len": 32_768, "num_gpu_blocks": 9000}, version)
    have = {(g.window_tokens, g.chunk_tokens, g.state) for g in found.settings.groups}
    assert have == groups
    assert found.settings.kv_blocks == 9000
    assert found.model == model
    assert about_architecture(found) == []


def test_a_model_known_only_by_its_served_name_is_an_assumption() -> None:
    found = made({"model": "/models/x", "served_model_name": "gpt-oss-20b"})
    assert len(found.settings.groups) > 1
    assert about_architecture(found) == [
        "the model is taken to be openai/gpt-oss-20b, the name under which it is served"
    ]


def test_an_unknown_architecture_is_an_assumption_on_the_result() -> None:
    found = made({"model": "/models/x"})
    assert [g.is_full for g in found.settings.groups] == [True]
    assert about_architecture(found) == [
        "the model's architecture is not known: the pool is taken as one group of full attention"
    ]


def test_the_engine_s_own_count_of_tokens_shows_one_kind_of_attention() -> None:
    assert about_architecture(made({"kv_cache_size_tokens": 2000 * 16})) == []


def test_an_unknown_hybrid_counts_by_its_tokens() -> None:
    found = made({"kv_cache_size_tokens": 8000})
    assert found.settings.kv_blocks == 501
    assert "of 8,000 tokens is taken as one group" in about_architecture(found)[0]


def test_a_pool_that_contradicts_the_named_model_is_not_its() -> None:
    """Somebody serves another model under this name."""
    found = made({"served_model_name": "gpt-oss-20b", "kv_cache_size_tokens": 2000 * 16})
    assert len(found.settings.groups) == 1
    assert "of openai/gpt-oss-20b, not what the engine says" in about_architecture(found)[0]


def test_layers_that_the_twin_does_not_model_are_said() -> None:
    found = made(
        {"model": "Qwen/Qwen3-Next-80B-A3B-Instruct", "enable_prefix_caching": True}, "0.30.0"
    )
    assert len(found.settings.groups) == 1
    assert "are not simulated (how vLLM 0.30.0 caches states" in about_architecture(found)[0]


def test_without_a_pool_or_a_version_that_is_simulated_there_is_no_twin() -> None:
    assert twin_settings(window({"max_num_seqs": 64})) is None
    assert twin_settings(window(SMALL, "0.9.0")) is None
