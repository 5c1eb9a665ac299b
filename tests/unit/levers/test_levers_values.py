"""What each lever of the engine's own arguments says for a concrete engine: the value, and why."""

from __future__ import annotations

import pytest
from tests.support.lever_questions import GIB, ask, proposed, refused

from barostat.core.config import ConfigScalar
from barostat.core.lever import Proposal
from barostat.core.proposed_change import UnsetFlag

LENGTHS: dict[str, float] = {
    "prompt_tokens_p50": 512,
    "prompt_tokens_p95": 742,
    "output_tokens_p50": 512,
    "output_tokens_p95": 742,
}


def test_fewer_run_than_run_now_and_as_many_as_the_pool_holds() -> None:
    # 32,752 tokens hold 25 requests of 1,277 tokens; at most half of the 40 that run is cut, at
    # least a quarter
    assert (
        proposed(
            ask(
                "max-num-active-seqs",
                "kv-preemption-thrash",
                running_requests=40,
                kv_pool_tokens=32_752,
                also=LENGTHS,
            )
        )
        == "--max-num-active-seqs 25"
    )
    assert (
        proposed(
            ask(
                "max-num-active-seqs",
                "kv-preemption-thrash",
                running_requests=60,
                kv_pool_tokens=32_752,
                also=LENGTHS,
            )
        )
        == "--max-num-active-seqs 30"
    )
    assert (
        proposed(
            ask(
                "max-num-active-seqs",
                "kv-preemption-thrash",
                running_requests=20,
                kv_pool_tokens=32_752,
                also=LENGTHS,
            )
        )
        == "--max-num-active-seqs 15"
    )
    assert (
        proposed(ask("max-num-active-seqs", "kv-preemption-thrash", running_requests=20))
        == "--max-num-active-seqs 15"
    )


def test_slots_are_cut_only_where_the_better_argument_is_missing() -> None:
    assert (
        proposed(ask("max-num-seqs", "kv-preemption-thrash", version="0.24.0", running_requests=60))
        == "--max-num-seqs 45"
    )
    assert "--max-num-active-seqs 45" in refused(
        ask("max-num-seqs", "kv-preemption-thrash", running_requests=60), classic=True
    )
    assert "lengthen the queue" in refused(
        ask("max-num-seqs", "kv-admission-queueing", running_requests=60), classic=True
    )
    assert refused(
        ask("max-num-seqs", "kv-preemption-thrash", version="0.24.0", running_requests=1),
        classic=True,
    )
    assert (
        proposed(ask("max-num-seqs", "kv-preemption-thrash", version=None, running_requests=60))
        == "--max-num-seqs 45"
    )
    assert "not known" in refused(
        ask("max-num-active-seqs", "kv-preemption-thrash", version=None, running_requests=60)
    )
    assert "needs vLLM >= 0.31.0" in refused(
        ask("max-num-active-seqs", "kv-preemption-thrash", version="0.30.0", running_requests=60)
    )


def test_slots_that_a_start_leaves_room_for() -> None:
    states = (1.0, "ValueError: max_num_seqs (1024) exceeds available Mamba cache blocks (524)")
    assert (
        proposed(ask("max-num-seqs", "kv-pool-too-small", "states", log_states_exceeded=states))
        == "--max-num-seqs 524"
    )
    rows = (1.0, "CUDA out of memory occurred when warming up sampler with 1024 dummy requests.")
    assert (
        proposed(ask("max-num-seqs", "gpu-oom", "graph-capture", log_gpu_oom_graph_capture=rows))
        == "--max-num-seqs 256"
    )
    assert (
        proposed(ask("max-num-seqs", "gpu-oom", "graph-capture", defaults={"max_num_seqs": 256}))
        == "--max-num-seqs 128"
    )
    assert refused(ask("max-num-seqs", "gpu-oom", "serving", config={"max_num_seqs": 256}))


def test_the_watermark_follows_how_much_is_preempted() -> None:
    assert (
        proposed(
            ask(
                "watermark", "kv-preemption-thrash", preemptions_in_window=5, finished_in_window=100
            )
        )
        == "--watermark 0.02"
    )
    assert (
        proposed(
            ask(
                "watermark",
                "kv-preemption-thrash",
                preemptions_in_window=50,
                finished_in_window=100,
            )
        )
        == "--watermark 0.05"
    )
    assert (
        proposed(ask("watermark", "kv-preemption-thrash", config={"watermark": 0.02}))
        == "--watermark 0.05"
    )
    assert refused(ask("watermark", "kv-preemption-thrash", config={"watermark": 0.05}))
    assert "0.24.0" in refused(ask("watermark", "kv-preemption-thrash", version="0.23.0"))
    assert refused(ask("watermark", "kv-admission-queueing"))


def test_edge_caps_lie_where_nearly_all_requests_are() -> None:
    assert (
        proposed(
            ask(
                "edge-input-cap",
                "kv-preemption-thrash",
                prompt_tokens_p50=500,
                prompt_tokens_p95=3000,
            )
        )
        == "request: {maxInputTokens: 3072}"
    )
    assert "alike" in refused(
        ask("edge-input-cap", "kv-preemption-thrash", prompt_tokens_p50=500, prompt_tokens_p95=520)
    )
    assert "own" in refused(
        ask(
            "edge-input-cap",
            "prefill-bound",
            prompt_tokens_p50=500,
            prompt_tokens_p95=4000,
            max_model_len_tokens=4096,
        )
    )
    assert (
        proposed(
            ask(
                "edge-output-cap",
                "kv-preemption-thrash",
                output_tokens_p95=742,
                max_tokens_p95=4096,
            )
        )
        == "request: {maxOutputTokens: 768}"
    )
    assert "already" in refused(
        ask("edge-output-cap", "kv-preemption-thrash", output_tokens_p95=742, max_tokens_p95=512)
    )
    assert (
        proposed(ask("edge-admission-budget", "kv-admission-queueing", kv_pool_tokens=32_752))
        == "edge: {kvTokenBudget: 29440}"
    )
    assert (
        proposed(
            ask(
                "edge-admission-budget",
                "kv-admission-queueing",
                kv_pool_tokens=10_000,
                data_parallel_engines=2,
            )
        )
        == "edge: {kvTokenBudget: 17920}"
    )
    assert refused(ask("edge-admission-budget", "kv-preemption-thrash"))


def test_the_budget_of_a_step_goes_up_for_prefill_and_is_no_answer_to_kv_pressure() -> None:
    assert (
        proposed(ask("max-num-batched-tokens", "prefill-bound", max_batched_tokens=2048))
        == "--max-num-batched-tokens 4096"
    )
    assert refused(ask("max-num-batched-tokens", "prefill-bound", max_batched_tokens=16_384))
    before = (
        1.0,
        (
            "ValueError: Free memory on device cuda:0 (78.66/79.18 GiB) on startup is less "
            "than desired GPU memory utilization (0.999)"
        ),
    )
    assert "before" in refused(
        ask(
            "max-num-batched-tokens",
            "gpu-oom",
            "startup",
            max_batched_tokens=8192,
            log_gpu_oom_startup=before,
        )
    )
    loading, more_cards, profiling = (
        ask("max-num-batched-tokens", "gpu-oom", "startup", max_batched_tokens=8192), ask("tensor-parallel-up", "gpu-oom", "startup"),
        ask("max-num-batched-tokens", "gpu-oom", "startup", max_batched_tokens=8192, config={"model_memory_gib": 15.3}),
    )  # fmt: skip
    assert isinstance(loading, Proposal)
    assert isinstance(more_cards, Proposal)
    assert isinstance(profiling, Proposal)
    assert "weights do not fit" in str(loading.because)
    assert profiling.rank < more_cards.rank < loading.rank
    assert "KV demand" in refused(
        ask("max-num-batched-tokens", "kv-preemption-thrash", max_batched_tokens=2048), classic=True
    )
    assert (
        proposed(
            ask(
                "max-num-batched-tokens",
                "gpu-oom",
                "serving",
                config={"max_num_batched_tokens": 8192, "max_num_seqs": 256},
            )
        )
        == "--max-num-batched-tokens 4096"
    )
    assert refused(
        ask(
            "max-num-batched-tokens",
            "gpu-oom",
            "serving",
            config={"max_num_batched_tokens": 256, "max_num_seqs": 256},
        )
    )


def test_a_length_that_fits_is_read_from_the_line_of_any_version() -> None:
    line = (
        "To serve at least one request with the models's max seq len (131072), (16.00 GiB "
        "KV cache is needed, which is larger "
        "than the available KV cache memory (7.91 GiB). Based on the available memory, the "
        "estimated maximum model length is 64785."
    )
    v1 = (1.0, line)
    assert (
        proposed(ask("max-model-len", "kv-pool-too-small", "length", log_model_too_long=v1))
        == "--max-model-len 64784"
    )
    v0 = (
        1.0,
        (
            "The model's max seq len (16384) is larger than the maximum number of tokens that "
            "can be stored in KV cache (7456)."
        ),
    )
    assert (
        proposed(
            ask(
                "max-model-len",
                "kv-pool-too-small",
                "length",
                version="0.3.3",
                log_model_too_long=v0,
            )
        )
        == "--max-model-len 7456"
    )
    early = (
        1.0,
        (
            "max seq len (8192), (2.00 GB KV cache is needed, which is larger than the "
            "available KV cache memory (1.00 GB)."
        ),
    )
    assert (
        proposed(
            ask(
                "max-model-len",
                "kv-pool-too-small",
                "length",
                version="0.8.2",
                log_model_too_long=early,
            )
        )
        == "--max-model-len 4000"
    )
    assert proposed(ask("max-model-len", "kv-pool-too-small", "length")) == "--max-model-len auto"
    assert "0.14.0" in refused(
        ask("max-model-len", "kv-pool-too-small", "length", version="0.12.0")
    )
    assert "frees no block" in refused(ask("max-model-len", "kv-preemption-thrash"), classic=True)
    assert refused(ask("max-model-len", "kv-pool-too-small", "no-blocks"))


def test_memory_utilisation_goes_up_for_kv_and_down_for_what_lies_outside() -> None:
    total = 80 * GIB
    assert (
        proposed(
            ask(
                "gpu-memory-utilization-up",
                "kv-preemption-thrash",
                config={"gpu_memory_utilization": 0.9},
                gpu_memory_total_bytes=total,
            )
        )
        == "--gpu-memory-utilization 0.93"
    )
    assert (
        proposed(
            ask(
                "gpu-memory-utilization-up",
                "kv-preemption-thrash",
                version="0.12.0",
                config={"gpu_memory_utilization": 0.9},
            )
        )
        == "--gpu-memory-utilization 0.92"
    )
    assert (
        proposed(
            ask(
                "gpu-memory-utilization-up",
                "kv-pool-too-small",
                "no-blocks",
                config={"gpu_memory_utilization": 0.25},
            )
        )
        == "--gpu-memory-utilization 0.9"
    )
    assert "out of memory" in refused(
        ask(
            "gpu-memory-utilization-up",
            "kv-preemption-thrash",
            config={"gpu_memory_utilization": 0.95},
        )
    )
    assert "override" in refused(
        ask(
            "gpu-memory-utilization-up",
            "kv-preemption-thrash",
            config={"gpu_memory_utilization": 0.9, "num_gpu_blocks_override": 64},
        )
    )
    assert "56 GiB" not in refused(
        ask(
            "gpu-memory-utilization-down",
            "kv-preemption-thrash",
            config={"gpu_memory_utilization": 0.9},
        ),
        classic=True,
    )
    assert "16 GiB" in refused(
        ask(
            "gpu-memory-utilization-down",
            "kv-preemption-thrash",
            config={"gpu_memory_utilization": 0.9},
            gpu_memory_total_bytes=total,
        ),
        classic=True,
    )
    assert (
        proposed(
            ask(
                "gpu-memory-utilization-down",
                "gpu-oom",
                "serving",
                config={"gpu_memory_utilization": 0.95},
            )
        )
        == "--gpu-memory-utilization 0.92"
    )
    assert (
        proposed(
            ask(
                "gpu-memory-utilization-down",
                "gpu-oom",
                "graph-capture",
                version="0.17.1",
                config={"gpu_memory_utilization": 0.95},
            )
        )
        == "--gpu-memory-utilization 0.9"
    )
    free = (
        1.0,
        (
            "Free memory on device cuda:0 (62.5/79.1 GiB) on startup is less than desired GPU "
            "memory utilization (0.9, 71.2 GiB)."
        ),
    )
    assert (
        proposed(ask("gpu-memory-utilization-down", "gpu-oom", "startup", log_gpu_oom_startup=free))
        == "--gpu-memory-utilization 0.78"
    )
    assert "weights" in refused(
        ask(
            "gpu-memory-utilization-down",
            "gpu-oom",
            "startup",
            config={"gpu_memory_utilization": 0.9},
        )
    )


def test_the_pool_in_bytes_needs_the_pool_and_what_is_free() -> None:
    known: dict[str, ConfigScalar] = {"available_kv_cache_memory_gib": 20.0}
    assert (
        proposed(
            ask(
                "kv-cache-memory-bytes",
                "kv-preemption-thrash",
                config=known,
                gpu_memory_free_bytes=6 * GIB,
            )
        )
        == f"--kv-cache-memory-bytes {24 * 1024**3}"
    )
    assert refused(
        ask(
            "kv-cache-memory-bytes",
            "kv-preemption-thrash",
            config=known,
            gpu_memory_free_bytes=2 * GIB,
        )
    )
    assert refused(
        ask("kv-cache-memory-bytes", "kv-preemption-thrash", gpu_memory_free_bytes=6 * GIB)
    )
    assert "0.10.2" in refused(
        ask(
            "kv-cache-memory-bytes",
            "kv-preemption-thrash",
            version="0.10.0",
            config=known,
            gpu_memory_free_bytes=6 * GIB,
        )
    )
    assert (
        proposed(ask("kv-cache-memory-bytes", "gpu-oom", "serving", config=known))
        == f"--kv-cache-memory-bytes {19 * 1024**3}"
    )


def test_fp8_where_the_cache_still_has_the_models_precision() -> None:
    assert (
        proposed(
            ask("kv-cache-dtype-fp8", "kv-preemption-thrash", defaults={"kv_cache_dtype": "auto"})
        )
        == "--kv-cache-dtype fp8"
    )
    assert "already" in refused(
        ask("kv-cache-dtype-fp8", "kv-preemption-thrash", config={"kv_cache_dtype": "fp8_e5m2"})
    )
    assert "nothing is left" in refused(
        ask(
            "kv-cache-dtype-fp8",
            "kv-pool-too-small",
            "no-blocks",
            defaults={"kv_cache_dtype": "auto"},
        )
    )
    assert "CPU" in refused(
        ask(
            "kv-cache-dtype-fp8",
            "kv-preemption-thrash",
            version="0.32.0+cpu",
            defaults={"kv_cache_dtype": "auto"},
        )
    )
    assert "not known" in refused(
        ask(
            "kv-cache-dtype-fp8",
            "kv-preemption-thrash",
            version=None,
            defaults={"kv_cache_dtype": "auto"},
        )
    )


def test_a_host_tier_takes_half_of_what_is_free() -> None:
    host = {"host_memory_bytes": 40 * GIB, "host_memory_limit_bytes": 128 * GIB}
    assert (
        proposed(ask("kv-offloading-size", "kv-preemption-thrash", also=host))
        == "--kv-offloading-size 44"
    )
    assert "0.11.1" in refused(
        ask("kv-offloading-size", "kv-preemption-thrash", version="0.11.0", also=host)
    )
    assert refused(ask("kv-offloading-size", "kv-preemption-thrash"))
    assert refused(
        ask(
            "kv-offloading-size",
            "kv-preemption-thrash",
            config={"kv_offloading_size": 8.0},
            also=host,
        )
    )


@pytest.mark.parametrize(
    ("version", "said"),
    [("0.32.0", "refuse to start"), ("0.17.1", "never swaps"), ("0.6.4", "V0"), (None, "0.18.0")],
)
def test_swap_space_is_no_answer_to_preemption(version: str | None, said: str) -> None:
    assert said in refused(ask("swap-space", "kv-preemption-thrash", version=version), classic=True)


def test_caching_and_chunking_are_switched_on_only_where_they_are_off() -> None:
    off: dict[str, ConfigScalar] = {"enable_prefix_caching": False, "enable_chunked_prefill": False}
    assert (
        proposed(ask("prefix-caching-on", "kv-preemption-thrash", config=off))
        == "--enable-prefix-caching"
    )
    assert (
        proposed(ask("chunked-prefill-on", "kv-preemption-thrash", config=off))
        == "--enable-chunked-prefill"
    )
    assert "on already" in refused(ask("prefix-caching-on", "kv-preemption-thrash"), classic=True)
    assert "on already" in refused(ask("chunked-prefill-on", "prefill-bound"), classic=True)
    assert "whatever" in refused(
        ask("chunked-prefill-on", "prefill-bound", version="0.10.0", config=off), classic=True
    )
    assert (
        proposed(ask("prefix-caching-on", "kv-preemption-thrash", version="0.6.4"))
        == "--enable-prefix-caching"
    )
    assert "not known" in refused(ask("prefix-caching-on", "kv-preemption-thrash", version="0.2.7"))
    assert "nothing shows" in refused(
        ask("prefix-caching-on", "kv-preemption-thrash", version=None), classic=True
    )


def test_blocks_set_by_hand_are_given_back_to_the_memory() -> None:
    assert "--num-gpu-blocks-override" in proposed(
        ask("blocks-override-off", "kv-preemption-thrash", config={"num_gpu_blocks_override": 64})
    )
    assert refused(ask("blocks-override-off", "kv-preemption-thrash"))


def test_more_slots_only_where_the_pool_has_room() -> None:
    assert (
        proposed(
            ask("raise-max-num-seqs", "slot-bound", max_running_requests=16, kv_usage_ratio=0.2)
        )
        == "--max-num-seqs 32"
    )
    assert (
        proposed(
            ask("raise-max-num-seqs", "slot-bound", max_running_requests=100, kv_usage_ratio=0.5)
        )
        == "--max-num-seqs 170"
    )
    both: dict[str, ConfigScalar] = {"max_num_seqs": 64, "max_num_active_seqs": 16}
    assert (
        proposed(
            ask(
                "raise-max-num-seqs",
                "slot-bound",
                config=both,
                max_running_requests=16,
                kv_usage_ratio=0.2,
            )
        )
        == "--max-num-active-seqs 32"
    )
    assert "replicas" in refused(
        ask("raise-max-num-seqs", "slot-bound", max_running_requests=16, kv_usage_ratio=0.9)
    )
    assert refused(ask("raise-max-num-seqs", "slot-bound", kv_usage_ratio=0.2))
    assert "not known" in refused(
        ask("raise-max-num-seqs", "slot-bound", running_requests=256, kv_usage_ratio=0.6)
    )


def test_the_queue_is_bounded_where_the_version_can() -> None:
    assert (
        proposed(ask("queue-bounds", "slot-bound", running_requests=64, waiting_requests=300))
        == "--max-num-queued-reqs 128"
    )
    assert "0.29.0" in refused(
        ask("queue-bounds", "slot-bound", version="0.28.0", running_requests=64)
    )
    assert "already" in refused(
        ask("queue-bounds", "slot-bound", config={"max_num_queued_reqs": 10}, running_requests=64)
    )


def test_start_up_memory_has_its_own_levers() -> None:
    assert (
        proposed(
            ask("tensor-parallel-up", "gpu-oom", "startup", config={"tensor_parallel_size": 2})
        )
        == "--tensor-parallel-size 4"
    )
    assert refused(ask("tensor-parallel-up", "gpu-oom", "serving"))
    assert (
        proposed(ask("graph-capture-less", "gpu-oom", "graph-capture"))
        == "--max-cudagraph-capture-size 128"
    )
    assert (
        proposed(ask("graph-capture-less", "gpu-oom", "graph-capture", version="0.11.0"))
        == "--cuda-graph-sizes 128"
    )
    assert (
        proposed(ask("graph-capture-less", "gpu-oom", "graph-capture", version="0.8.0"))
        == "--enforce-eager"
    )
    assert "--max-num-seqs" in refused(ask("graph-capture-less", "gpu-oom", "sampler"))
    sampler = "CUDA out of memory occurred when warming up sampler with 1024 dummy requests."
    assert (
        proposed(
            ask("max-num-seqs", "gpu-oom", "sampler", log_gpu_oom_graph_capture=(1.0, sampler))
        )
        == "--max-num-seqs 256"
    )
    assert refused(
        ask("graph-capture-less", "gpu-oom", "graph-capture", config={"enforce_eager": True})
    )


def test_disaggregation_is_advice_for_long_prompts() -> None:
    assert proposed(ask("disaggregate", "prefill-bound", prompt_tokens_p95=30_000))
    assert refused(ask("disaggregate", "prefill-bound", prompt_tokens_p95=300))


def test_health_is_left_alone_and_says_why_it_looks_hot() -> None:
    answer = ask("quiet", "healthy-busy", gpu_memory_used_ratio=0.92, kv_usage_ratio=0.96)
    assert proposed(answer) == "leave it as it is"
    assert "92%" in str(answer.because)
    assert "96%" in str(answer.because)


@pytest.mark.parametrize(
    ("lever", "flag", "value"),
    [
        ("blocks-override-off", "num_gpu_blocks_override", 64),
        ("kv-cache-memory-bytes", "kv_cache_memory_bytes", 1 << 30),
    ],
)
def test_a_pool_set_by_hand_is_unset_before_the_model_is_shortened(
    lever: str, flag: str, value: int
) -> None:
    line = (
        "ValueError: To serve at least one request with the models's max seq len (40960), "
        "(5.62 GiB KV cache is needed, which is larger than the available KV cache memory "
        "(1.0 GiB). Based on the available memory, the estimated maximum model length is 7280."
    )
    unset = ask(
        lever, "kv-pool-too-small", "length", config={flag: value}, log_model_too_long=(1.0, line)
    )
    shorter = ask(
        "max-model-len",
        "kv-pool-too-small",
        "length",
        config={flag: value},
        log_model_too_long=(1.0, line),
    )
    assert isinstance(unset, Proposal)
    assert isinstance(unset.change, UnsetFlag)
    assert isinstance(shorter, Proposal)
    assert unset.rank < shorter.rank


def test_adapters_that_wait_get_slots() -> None:
    measured = {"running_adapters": 1.0, "waiting_adapters": 3.0}
    assert (
        proposed(ask("max-loras", "slot-bound", "adapters", config={"max_loras": 1}, also=measured))
        == "--max-loras 4"
    )
    unlisted = {"running_adapters": 1.0, "waiting_adapters": 0.0}
    started: dict[str, ConfigScalar] = {"max_loras": 1, "lora_modules": "red=/a green=/b"}
    assert (
        proposed(ask("max-loras", "slot-bound", "adapters", config=started, also=unlisted))
        == "--max-loras 2"
    )
    assert refused(ask("max-loras", "slot-bound", config={"max_loras": 1}, also=measured))
    assert refused(ask("raise-max-num-seqs", "slot-bound", "adapters"))


def test_a_hybrid_keeps_fewer_states() -> None:
    config: dict[str, ConfigScalar] = {"mamba_block_size": 528, "enable_prefix_caching": True}
    found = ask("mamba-block-size", "kv-admission-queueing", config=config)
    assert proposed(found) == "--mamba-block-size 8448"
    assert refused(
        ask("mamba-block-size", "kv-admission-queueing", config={"mamba_block_size": 528})
    )
    assert refused(ask("mamba-block-size", "kv-admission-queueing"))


def test_compiled_kernels_are_worth_keeping_while_a_replica_loads() -> None:
    assert "/root/.cache" in proposed(ask("keep-compile-cache", "scaling-lag", "cold-start"))
    assert refused(ask("keep-compile-cache", "scaling-lag", "pending"))
    assert refused(
        ask("keep-compile-cache", "scaling-lag", "cold-start", config={"enforce_eager": True})
    )
