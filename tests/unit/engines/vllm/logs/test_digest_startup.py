"""Each start-up line of each version tells its setting."""

# ruff: noqa: E501 (log lines as they are printed)
from __future__ import annotations

import pytest

from barostat.engines.vllm.logs.digest import digest
from barostat.engines.vllm.logs.settings import settings_in

LINES = [
    ("GPU KV cache size: 175,856 tokens", {"kv_cache_size_tokens": 175856}),  # 0.8 to 0.27
    (
        # 0.28
        "GPU KV cache size: 63,859 tokens, Maximum concurrency for 33,792 tokens per request: 1.89x",
        {"kv_cache_size_tokens": 63859, "max_model_len": 33792, "kv_cache_max_concurrency": 1.89},
    ),
    (
        # 0.30
        "GPU + host KV cache size: 1,024 tokens, Maximum concurrency for 512 tokens per request: 2.00x",
        {"kv_cache_size_tokens": 1024, "max_model_len": 512, "kv_cache_max_concurrency": 2.0},
    ),
    (
        "CPU KV cache size: 2,048 tokens, Maximum concurrency for 512 tokens per request: 4.00x",
        {"kv_cache_size_tokens": 2048, "max_model_len": 512, "kv_cache_max_concurrency": 4.0},
    ),
    (
        "Maximum concurrency for 8192 tokens per request: 9.96x",
        {"max_model_len": 8192, "kv_cache_max_concurrency": 9.96},
    ),
    ("# GPU blocks: 5102, # CPU blocks: 4681", {"num_gpu_blocks": 5102}),
    ("# cuda blocks: 1394, # CPU blocks: 0", {"num_gpu_blocks": 1394}),
    ("# GPU blocks: 700", {"num_gpu_blocks": 700}),
    (
        "vllm cache_config_info with initialization after num_gpu_blocks is: 330018",
        {"num_gpu_blocks": 330018},
    ),
    ("Available KV cache memory: 18.78 GiB", {"available_kv_cache_memory_gib": 18.78}),
    ("Available KV cache memory: -2.3 GiB", {"available_kv_cache_memory_gib": -2.3}),
    (
        "model weights take 15.51GiB; non_torch_memory takes 0.28GiB; the rest of the memory reserved for KV Cache is 4.36GiB.",
        {"available_kv_cache_memory_gib": 4.36},
    ),
    ("Model loading took 17.6110 GB and 12.273077 seconds", {"model_memory_gib": 17.611}),
    ("Model loading took 17.6110 GiB and 12.273077 seconds", {"model_memory_gib": 17.611}),
    ("Model loading took 29.43 GiB memory and 28.446389 seconds", {"model_memory_gib": 29.43}),
    ("Loading model weights took 7.5122 GB", {"model_memory_gib": 7.5122}),
    ("Graph capturing finished in 12 secs, took 1.57 GiB", {"graph_memory_gib": 1.57}),
    (
        "CUDA graph pool memory: 0.11 GiB (actual), 0.14 GiB (estimated), difference: 0.03 GiB",
        {"graph_memory_gib": 0.11},
    ),
    (
        (
            "Free memory on device (78.2/79.2 GiB) on startup. Desired GPU memory utilization is (0.92, 72.86 GiB). Actual usage is 30 GiB for "
            "consumed memory (weights + non-torch), 1 GiB for peak activation."
        ),
        {"gpu_memory_utilization": 0.92},
    ),
    (
        "the current vLLM instance can use total_gpu_memory (14.74GiB) x gpu_memory_utilization (0.69) = 10.22GiB",
        {"gpu_memory_utilization": 0.69},
    ),
    (
        (
            "CUDA graph memory profiling is enabled (default since v0.21.0). The current --gpu-memory-utilization=0.9200 is equivalent to "
            "--gpu-memory-utilization=0.9129 without CUDA graph memory profiling."
        ),
        {"gpu_memory_utilization": 0.92},
    ),
    (
        "Encoder cache will be initialized with a budget of 16384 tokens, and profiled with 1 video items of the maximum feature size.",
        {"profiled_item": "video"},
    ),
    (
        "Auto-fit max_model_len: reduced from 262144 to 99840 to fit in available GPU memory",
        {"max_model_len": 99840},
    ),
    (
        "Auto-fit max_model_len: full model context length 8192 fits in available GPU memory",
        {"max_model_len": 8192},
    ),
    ("Using max model len 4096", {"max_model_len": 4096}),
    (
        "Overriding num_gpu_blocks=1000 with num_gpu_blocks_override=512",
        {"num_gpu_blocks_override": 512},
    ),
    ("Setting kv cache block size to 64 for FLASHMLA backend.", {"block_size": 64}),
    ("Setting kv cache block size to 64 for FLASHMLA, X backend(s).", {"block_size": 64}),
    (
        "Setting attention block size to 7808 tokens to ensure that attention page size is >= mamba page size.",
        {"block_size": 7808},
    ),
    (
        "Chunked prefill is enabled with max_num_batched_tokens=8192.",
        {"max_num_batched_tokens": 8192},
    ),
    ("vLLM API server version 0.11.0", {"version": "0.11.0"}),
    ("vLLM server version 0.32.0, serving model Qwen/Qwen3-8B", {"version": "0.32.0"}),
    (
        "Initializing an LLM engine (v0.6.3.post1) with config: model='m', max_seq_len=1600",
        {"version": "0.6.3.post1"},
    ),
]


@pytest.mark.parametrize(("line", "settings"), LINES, ids=[line[:40] for line, _ in LINES])
def test_a_start_up_line_tells_its_setting(line: str, settings: dict[str, object]) -> None:
    found = settings_in(line)
    assert {name: found.get(name) for name in settings} == settings


@pytest.mark.parametrize(
    "prefix",
    [
        "",
        "INFO 01-28 16:08:46 [gpu_worker.py:358] ",
        "(Worker_TP0 pid=7) INFO 01-28 16:08:46 [x.py:1] ",
    ],
)
def test_the_prefix_of_no_era_hides_it(prefix: str) -> None:
    found = digest(
        [prefix + line for line, _ in LINES if "version" not in line and "engine" not in line],
        source="x",
    )
    assert found.settings["block_size"].value == 7808
    assert found.settings["block_size"].provenance == "log"
    assert found.settings["max_num_batched_tokens"].value == 8192


def test_arguments_and_resolved_configuration_are_read() -> None:
    lines = [
        (
            "(APIServer pid=1) INFO 11-20 08:00:00 [utils.py:233] non-default args: {'model_tag': 'Qwen/Qwen3-8B', 'api_key': ['secret'], 'port': 8001, "
            "'max_num_seqs': 64, 'gpu_memory_utilization': 0.85, 'enable_lora': True, 'compilation_config': {'level': 3}}"
        ),
        (
            "(EngineCore_DP0 pid=9) INFO 11-20 08:00:09 [core.py:96] Initializing a V1 LLM engine (v0.14.0) with config: model='Qwen/Qwen3-8B', "
            "tokenizer='t', dtype=torch.bfloat16, max_seq_len=40960, tensor_parallel_size=2, quantization=None, enforce_eager=False, "
            "kv_cache_dtype=fp8, enable_prefix_caching=True, compilation_config={'cudagraph_capture_sizes': [1, 2], 'dtype': 'other'}"
        ),
    ]
    settings = {name: value.value for name, value in digest(lines, source="x").settings.items()}
    assert settings["max_num_seqs"] == 64
    assert settings["gpu_memory_utilization"] == 0.85
    assert settings["max_model_len"] == 40960
    assert settings["tensor_parallel_size"] == 2
    assert settings["kv_cache_dtype"] == "fp8"
    assert settings["enable_prefix_caching"] is True
    assert settings["dtype"] == "torch.bfloat16"
    assert settings["version"] == "0.14.0"
    assert settings["model"] == "Qwen/Qwen3-8B"
    assert "api_key" not in settings
    assert "quantization" not in settings


def test_the_old_namespace_form_is_read() -> None:
    line = "INFO 12-01 06:25:45 api_server.py:648] args: Namespace(host=None, port=8000, api_key='k', model='m', max_model_len=1600, max_num_seqs=256)"
    settings = digest([line], source="x").settings
    assert settings["max_num_seqs"].value == 256
    assert settings["max_model_len"].value == 1600
    assert "api_key" not in settings


def test_of_several_ranks_the_scarcest_pool_and_the_heaviest_weights_stay() -> None:
    lines = [
        f"(Worker_TP{i} pid={i}) INFO 11-20 08:00:09 [w.py:1] Available KV cache memory: {gib} GiB"
        for i, gib in enumerate((9.5, 9.1, 9.4))
    ]
    lines += [
        f"(Worker_TP{i} pid={i}) INFO 11-20 08:00:09 [w.py:1] Model loading took {gib} GiB memory and 1.0 seconds"
        for i, gib in enumerate((7.5, 7.7))
    ]
    settings = digest(lines, source="x").settings
    assert settings["available_kv_cache_memory_gib"].value == 9.1
    assert settings["model_memory_gib"].value == 7.7


def test_pools_of_data_parallel_engines_are_kept_apart() -> None:
    lines = [
        "(EngineCore_DP0 pid=1) INFO 11-20 08:00:09 [k.py:1] GPU KV cache size: 1,000 tokens",
        "(EngineCore_DP1 pid=2) INFO 11-20 08:00:09 [k.py:1] GPU KV cache size: 900 tokens",
    ]
    assert digest(lines, source="x").pools == {"0": 1000, "1": 900}
