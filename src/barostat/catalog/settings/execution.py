"""Settings of how steps are computed: captured graphs, parallel ranks, speculation, processes.

Source: vLLM 0.32.0, vllm/config (compilation, parallel, speculative) and EngineArgs; history: the
argument parsers of the published wheels 0.6.6.post1 to 0.33.0, every minor read.
"""

from __future__ import annotations

from barostat.catalog.settings.setting import (
    FROM_ZERO,
    POOL,
    PROCESS,
    SCHEDULER,
    Setting,
    ValueBounds,
)

RANKS = ValueBounds(1, 65_536)
"""More than any engine has."""

# fmt: off
SETTINGS = (
    # --- graphs and start-up
    Setting("enforce_eager", "bool", POOL | PROCESS,
        "capture no graphs: their memory goes to the KV pool, decoding is slower",
        defaults={"": False}, log_names=("enforce_eager",), sized=True),
    Setting("max_cudagraph_capture_size", "int", POOL | PROCESS,
        "largest batch for which a graph is captured", "requests", since="0.11.1", bounds=FROM_ZERO,
        optional=True, sized=True),
    Setting("cudagraph_capture_sizes", "list", POOL | PROCESS,
        "batch sizes for which graphs are captured", "requests", since="0.11.1", sized=True),
    Setting("cuda_graph_sizes", "list", POOL | PROCESS,
        since="0.9.0", gone="0.12.1", instead="--cudagraph-capture-sizes"),
    Setting("max_seq_len_to_capture", "int", POOL | PROCESS, gone="0.11.0", bounds=FROM_ZERO),
    Setting("compilation_config", "json", POOL | PROCESS, aliases=("-cc",)),
    Setting("load_format", "text", PROCESS, defaults={"": "auto"}, log_names=("load_format",)),
    # --- parallelism
    Setting("tensor_parallel_size", "int", POOL | PROCESS,
        "cards that share each layer; divides KV heads", "cards", since="0.1.0", aliases=("-tp",),
        bounds=RANKS, defaults={"": 1}, log_names=("tensor_parallel_size",), sized=True,
        short=("--tp",),
        chart="tensorParallelSize"),
    Setting("pipeline_parallel_size", "int", POOL | SCHEDULER | PROCESS,
        "stages that share the layers", "stages", since="0.1.0", aliases=("-pp",), defaults={"": 1},
        bounds=RANKS, log_names=("pipeline_parallel_size",), sized=True, short=("--pp",)),
    Setting("data_parallel_size", "int", POOL | SCHEDULER | PROCESS,
        "engines behind one endpoint, each with its own pool", "engines", since="0.8.0",
        since_sure=False, aliases=("-dp",), defaults={"0.8.0": 1},
        bounds=RANKS, log_names=("data_parallel_size",), sized=True, short=("--dp",)),
    Setting("data_parallel_size_local", "int", PROCESS,
        since="0.9.0", aliases=("-dpl",), since_sure=False, bounds=FROM_ZERO),
    Setting("decode_context_parallel_size", "int", POOL | PROCESS,
        "tensor-parallel ranks that share a sequence's KV", "cards", since="0.10.2",
        aliases=("-dcp",), defaults={"": 1}, bounds=RANKS, log_names=("decode_context_parallel_size",),
        sized=True, short=("--dcp",)),
    Setting("prefill_context_parallel_size", "int", POOL | PROCESS,
        since="0.12.0", aliases=("-pcp",), since_sure=False),
    Setting("enable_expert_parallel", "bool", POOL | PROCESS,
        "give each rank whole experts", since="0.8.0", aliases=("-ep",), since_sure=False,
        sized=True),
    Setting("nnodes", "int", PROCESS, since="0.11.1", aliases=("-n",), since_sure=False),
    Setting("distributed_executor_backend", "text", PROCESS),
    Setting("disable_custom_all_reduce", "bool", PROCESS),
    Setting("api_server_count", "int", PROCESS,
        "processes that parse HTTP and tokenize", "processes", since="0.9.2", aliases=("-asc",),
        since_sure=False),
    # --- speculation
    Setting("speculative_config", "json", POOL | SCHEDULER,
        "drafter and number of draft tokens, which take KV slots too", aliases=("-sc",),
        sized=True),
)
# fmt: on
