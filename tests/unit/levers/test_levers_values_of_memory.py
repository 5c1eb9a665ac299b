"""What the levers that give memory back say where something else than the usual setting decides how
much is taken.
"""

from __future__ import annotations

import pytest
from tests.support.lever_questions import GIB, NOW, ask, proposed, refused

from barostat.core.config import ConfigScalar, ConfigValue, EngineConfig
from barostat.core.lever import Situation
from barostat.core.version import parse_version
from barostat.core.window import Window
from barostat.levers.host_memory_less import LEVER as HOST_MEMORY_LESS


@pytest.mark.parametrize("variant", ["serving", "graph-capture"])
def test_a_pool_that_is_set_in_bytes_is_lowered_there(variant: str) -> None:
    bytes_given: dict[str, ConfigScalar] = {
        "gpu_memory_utilization": 0.9,
        "kv_cache_memory_bytes": int(60 * GIB),
    }
    answer = ask("gpu-memory-utilization-down", "gpu-oom", variant, config=bytes_given)
    assert "lower --kv-cache-memory-bytes" in refused(answer)
    answer = ask(
        "kv-cache-memory-bytes",
        "gpu-oom",
        variant,
        config={**bytes_given, "available_kv_cache_memory_gib": 58.7},
    )
    assert proposed(answer) == f"--kv-cache-memory-bytes {int(59 * GIB)}"
    assert (
        proposed(ask("kv-cache-memory-bytes", "gpu-oom", variant, config=bytes_given))
        == f"--kv-cache-memory-bytes {int(59 * GIB)}"
    )


def test_a_pool_that_is_set_in_blocks_is_lowered_there() -> None:
    blocks_given: dict[str, ConfigScalar] = {
        "gpu_memory_utilization": 0.9,
        "num_gpu_blocks_override": 4000,
    }
    answer = ask("gpu-memory-utilization-down", "gpu-oom", "serving", config=blocks_given)
    assert "lower --num-gpu-blocks-override" in refused(answer)


def test_a_pool_that_was_set_and_does_not_go_in_is_left_to_the_engine() -> None:
    sized: dict[str, ConfigScalar] = {
        "gpu_memory_utilization": 0.9,
        "model_memory_gib": 15.3,
        "available_kv_cache_memory_gib": 55.9,
    }
    in_bytes: dict[str, ConfigScalar] = {**sized, "kv_cache_memory_bytes": int(60 * GIB)}
    in_blocks: dict[str, ConfigScalar] = {**sized, "num_gpu_blocks_override": 9999}
    assert proposed(ask("kv-cache-memory-bytes", "gpu-oom", "startup", config=in_bytes)).startswith(
        "remove --kv-cache-memory-bytes"
    )
    assert proposed(ask("blocks-override-off", "gpu-oom", "startup", config=in_blocks)).startswith(
        "remove --num-gpu-blocks-override"
    )
    assert "as the pool was allocated" in refused(
        ask("blocks-override-off", "gpu-oom", "serving", config=in_blocks)
    )
    assert (
        proposed(ask("gpu-memory-utilization-down", "gpu-oom", "startup", config=sized))
        == "--gpu-memory-utilization 0.87"
    )
    assert "the weights fit" in refused(
        ask("tensor-parallel-up", "gpu-oom", "startup", config=in_bytes)
    )


def test_what_must_be_free_at_start_follows_the_utilisation_also_of_a_pool_in_bytes() -> None:
    free = (
        1.0,
        (
            "Free memory on device cuda:0 (62.5/79.1 GiB) on startup is less than desired GPU "
            "memory utilization (0.9, 71.2 GiB)."
        ),
    )
    config: dict[str, ConfigScalar] = {
        "gpu_memory_utilization": 0.9,
        "kv_cache_memory_bytes": int(60 * GIB),
    }
    answer = ask(
        "gpu-memory-utilization-down", "gpu-oom", "startup", config=config, log_gpu_oom_startup=free
    )
    assert proposed(answer) == "--gpu-memory-utilization 0.78"


def test_without_chunked_prefill_a_step_holds_a_whole_prompt() -> None:
    off: dict[str, ConfigScalar] = {
        "enable_chunked_prefill": False,
        "max_num_seqs": 256,
        "max_model_len": 6144,
    }
    answer = ask(
        "max-num-batched-tokens", "gpu-oom", "serving", config=off, max_batched_tokens=8192
    )
    assert proposed(answer) == "--max-num-batched-tokens 6144"
    answer = ask(
        "max-num-batched-tokens",
        "gpu-oom",
        "serving",
        config={**off, "max_model_len": 8192},
        max_batched_tokens=8192,
    )
    assert "8,192 tokens of one prompt" in refused(answer)
    del off["max_model_len"]
    assert "max_model_len is not known" in refused(
        ask("max-num-batched-tokens", "gpu-oom", "serving", config=off, max_batched_tokens=8192)
    )


def test_the_v0_engine_has_chunked_prefill_only_where_it_is_switched_on() -> None:
    config: dict[str, ConfigScalar] = {"max_num_seqs": 256, "max_model_len": 8192}
    answer = ask(
        "max-num-batched-tokens",
        "gpu-oom",
        "serving",
        version="0.6.4",
        config=config,
        max_batched_tokens=8192,
    )
    assert "8,192 tokens of one prompt" in refused(answer)
    on = {**config, "enable_chunked_prefill": True}
    answer = ask(
        "max-num-batched-tokens",
        "gpu-oom",
        "serving",
        version="0.6.4",
        config=on,
        max_batched_tokens=8192,
    )
    assert proposed(answer) == "--max-num-batched-tokens 4096"


def test_a_v0_engine_that_ran_out_of_swap_space_gets_more() -> None:
    aborted = (
        1.0,
        (
            "RuntimeError: Aborted due to the lack of CPU swap space. Please increase the swap "
            "space to avoid this error."
        ),
    )
    assert (
        proposed(
            ask("swap-space", "kv-preemption-thrash", version="0.6.4", log_swap_exhausted=aborted)
        )
        == "--swap-space 8"
    )
    given: dict[str, ConfigScalar] = {"swap_space": 16.0, "tensor_parallel_size": 2}
    answer = ask(
        "swap-space",
        "kv-preemption-thrash",
        version="0.8.5",
        config=given,
        log_swap_exhausted=aborted,
    )
    assert proposed(answer) == "--swap-space 32"
    crowded = ask(
        "swap-space",
        "kv-preemption-thrash",
        version="0.8.5",
        config=given,
        log_swap_exhausted=aborted,
        host_memory_limit_bytes=80 * GIB,
    )
    assert "64 GiB are more" in refused(crowded)
    assert "never swaps" in refused(
        ask("swap-space", "kv-preemption-thrash", version="0.12.0", log_swap_exhausted=aborted),
        classic=True,
    )


def test_swap_space_that_only_the_metrics_show_is_a_default_to_be_set_to_none() -> None:
    shown = {"swap_space": ConfigValue(4.0, "metric", "cache_config_info")}
    window = Window("r", NOW, {}, EngineConfig(shown), parse_version("0.6.4"))
    assert (
        proposed(HOST_MEMORY_LESS.propose(Situation("host-oom", "cgroup", window)))
        == "--swap-space 0"
    )
