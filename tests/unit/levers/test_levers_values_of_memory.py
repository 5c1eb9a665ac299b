"""What the levers that give memory back say where something else than the usual setting decides how much is taken."""

from __future__ import annotations

import pytest
from tests.support.lever_questions import GIB, ask, proposed, refused

from barostat.core.config import ConfigScalar


@pytest.mark.parametrize("variant", ["serving", "graph-capture"])
def test_a_pool_that_is_set_in_bytes_is_lowered_there(variant: str) -> None:
    bytes_given: dict[str, ConfigScalar] = {"gpu_memory_utilization": 0.9, "kv_cache_memory_bytes": int(60 * GIB)}
    answer = ask("gpu-memory-utilization-down", "gpu-oom", variant, config=bytes_given)
    assert "lower --kv-cache-memory-bytes" in refused(answer)
    answer = ask("kv-cache-memory-bytes", "gpu-oom", variant, config={**bytes_given, "available_kv_cache_memory_gib": 58.7})
    assert proposed(answer) == f"--kv-cache-memory-bytes {int(59 * GIB)}"
    assert proposed(ask("kv-cache-memory-bytes", "gpu-oom", variant, config=bytes_given)) == f"--kv-cache-memory-bytes {int(59 * GIB)}"


def test_a_pool_that_is_set_in_blocks_is_lowered_there() -> None:
    blocks_given: dict[str, ConfigScalar] = {"gpu_memory_utilization": 0.9, "num_gpu_blocks_override": 4000}
    answer = ask("gpu-memory-utilization-down", "gpu-oom", "serving", config=blocks_given)
    assert "lower --num-gpu-blocks-override" in refused(answer)


def test_what_must_be_free_at_start_follows_the_utilisation_also_of_a_pool_in_bytes() -> None:
    free = (1.0, "Free memory on device cuda:0 (62.5/79.1 GiB) on startup is less than desired GPU memory utilization (0.9, 71.2 GiB).")
    config: dict[str, ConfigScalar] = {"gpu_memory_utilization": 0.9, "kv_cache_memory_bytes": int(60 * GIB)}
    answer = ask("gpu-memory-utilization-down", "gpu-oom", "startup", config=config, log_gpu_oom_startup=free)
    assert proposed(answer) == "--gpu-memory-utilization 0.78"


def test_without_chunked_prefill_a_step_holds_a_whole_prompt() -> None:
    off: dict[str, ConfigScalar] = {"enable_chunked_prefill": False, "max_num_seqs": 256, "max_model_len": 6144}
    answer = ask("max-num-batched-tokens", "gpu-oom", "serving", config=off, max_batched_tokens=8192)
    assert proposed(answer) == "--max-num-batched-tokens 6144"
    answer = ask("max-num-batched-tokens", "gpu-oom", "serving", config={**off, "max_model_len": 8192}, max_batched_tokens=8192)
    assert "8,192 tokens of one prompt" in refused(answer)
    del off["max_model_len"]
    assert "max_model_len is not known" in refused(ask("max-num-batched-tokens", "gpu-oom", "serving", config=off, max_batched_tokens=8192))


def test_the_v0_engine_has_chunked_prefill_only_where_it_is_switched_on() -> None:
    config: dict[str, ConfigScalar] = {"max_num_seqs": 256, "max_model_len": 8192}
    answer = ask("max-num-batched-tokens", "gpu-oom", "serving", version="0.6.4", config=config, max_batched_tokens=8192)
    assert "8,192 tokens of one prompt" in refused(answer)
    on = {**config, "enable_chunked_prefill": True}
    answer = ask("max-num-batched-tokens", "gpu-oom", "serving", version="0.6.4", config=on, max_batched_tokens=8192)
    assert proposed(answer) == "--max-num-batched-tokens 4096"
