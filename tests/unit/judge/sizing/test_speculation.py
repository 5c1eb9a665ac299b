"""--speculative-config as the engine reads it, and what it changes in a plan."""

from __future__ import annotations

import json
from typing import Any

import pytest

from barostat.core.config import ConfigValue, EngineConfig
from barostat.core.units import GIB
from barostat.core.version import parse_version
from barostat.engines.vllm.command_line.config import resolve
from barostat.judge.sizing.plan import CapacityPlan, PlanRequest, plan
from barostat.judge.sizing.speculation import speculation_of
from barostat.kv.read_architecture import read_architecture

CONFIG: dict[str, Any] = {
    "architectures": ["LlamaForCausalLM"], "num_hidden_layers": 8, "hidden_size": 1024, "num_attention_heads": 8, "num_key_value_heads": 2,
    "head_dim": 128, "intermediate_size": 2048, "vocab_size": 32000, "max_position_embeddings": 32768, "torch_dtype": "bfloat16",
}  # fmt: skip
MODEL = read_architecture(CONFIG)


def configured(text: str) -> EngineConfig:
    return EngineConfig({"speculative_config": ConfigValue(text, "flag", "--speculative-config")})


@pytest.mark.parametrize(
    ("given", "method"),
    [
        ({"method": "EAGLE3", "num_speculative_tokens": 2}, "eagle3"),
        ({"model": "some/Llama-EAGLE3-head", "num_speculative_tokens": 2}, "eagle3"),
        ({"model": "ngram", "num_speculative_tokens": 2}, "ngram"),
        ({"model": "some/small-model", "num_speculative_tokens": 2}, "draft_model"),
        ({"method": "deepseek_mtp", "num_speculative_tokens": 2}, "deepseek_mtp"),
    ],
)
def test_the_method_is_told_as_the_engine_tells_it(given: dict[str, Any], method: str) -> None:
    found = speculation_of(MODEL, configured(json.dumps(given)), None)
    assert (found.draft.method, found.draft.tokens) == (method, 2)


@pytest.mark.parametrize(
    "text", ["{", "[1]", "7", '{"num_speculative_tokens": "many"}', "[" * 100_000]
)
def test_broken_json_is_a_note_and_no_error(text: str) -> None:
    assert speculation_of(MODEL, configured(text), None).draft.tokens in (0, 1)


def planned(*arguments: str, drafter: dict[str, Any] | None = None, **config: Any) -> CapacityPlan:
    version = parse_version("0.32.0")
    assert version is not None
    own = resolve(
        args=["vllm", "serve", *arguments], env={}, version=version, gpu=None, gpu_memory_gib=80.0
    )
    model = read_architecture(CONFIG | config)
    known = read_architecture(drafter) if drafter is not None else None
    return plan(PlanRequest(model, "", version, own, memory_bytes=80 * GIB, drafter=known))


def test_a_drafter_of_its_own_takes_layers_and_weights() -> None:
    asked = ("--speculative-config", '{"model": "some/draft", "num_speculative_tokens": 4}')
    without, having = planned(), planned(*asked, drafter=CONFIG | {"num_hidden_layers": 2})
    assert having.layout.block_bytes == without.layout.block_bytes * 10 // 8
    assert having.weights_bytes > without.weights_bytes
    assert having.spent is not None
    assert "drafter" in having.spent.weights.source


def test_ngram_drafts_turn_async_scheduling_off_unless_it_is_asked_for() -> None:
    asked = ("--speculative-config", '{"method": "ngram", "num_speculative_tokens": 4}')
    assert planned().flags.async_scheduling
    assert not planned(*asked).flags.async_scheduling
    assert planned(*asked, "--async-scheduling").flags.async_scheduling


def test_a_siblings_kv_cache_scheme_is_not_this_checkpoints() -> None:
    quantised = {"quant_method": "compressed-tensors", "kv_cache_scheme": {"num_bits": 8, "type": "float"}, "config_groups": {
        "group_0": {"weights": {"num_bits": 8, "type": "float"}, "targets": ["Linear"]}}}  # fmt: skip
    assert planned(quantization_config=quantised).flags.kv_cache_dtype == "fp8"
    assert (
        planned(
            "--quantization", "auto-round-int4", quantization_config=quantised
        ).flags.kv_cache_dtype
        == "auto"
    )
