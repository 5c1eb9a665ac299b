"""Each wording of a failure gets its name, whatever the version, and nothing harmless does."""

# ruff: noqa: E501 (log lines as they are printed)
from __future__ import annotations

import pytest

from barostat.engines.vllm.logs.digest import digest
from barostat.engines.vllm.logs.reader import may_say_something
from barostat.engines.vllm.logs.rules import RULES

# (kind, line): wordings as PyTorch, CUDA, HIP, NCCL, huggingface_hub, argparse, ray and vLLM of
# several versions print them
FAILURES = [
    (
        "gpu_oom",
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 232.00 MiB. GPU 0 has a total capacity of 23.57 GiB",
    ),
    ("gpu_oom", "torch.cuda.OutOfMemoryError: HIP out of memory. Tried to allocate 3.25 GiB."),
    ("gpu_oom", "RuntimeError: CUDA error: out of memory"),
    ("gpu_oom", "RuntimeError: HIP error: out of memory"),
    ("gpu_oom", "torch.AcceleratorError: CUDA error: out of memory"),
    ("gpu_oom", "RuntimeError: hipErrorOutOfMemory: returned by hipMalloc"),
    (
        "gpu_oom",
        "ERROR 03-19 10:55:18 [engine.py:158] OutOfMemoryError('CUDA out of memory. Tried to allocate 128.00 MiB. GPU 0 has",
    ),
    (
        "gpu_oom",
        "RuntimeError: CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`",
    ),
    ("gpu_oom", "CUDA Error: out of memory at /src/csrc/cumem_allocator.cpp:62"),
    ("gpu_oom", "torch.OutOfMemoryError: XPU out of memory. Tried to allocate 2.00 GiB."),
    (
        "gpu_oom_graph_capture",
        "RuntimeError: CUDA out of memory occurred when warming up sampler with 1024 dummy requests.",
    ),
    (
        "gpu_oom_graph_capture",
        "RuntimeError: CUDA out of memory occurred when warming up pooler (task 'embed') with 256 dummy requests.",
    ),
    (
        "gpu_oom_startup",
        "ValueError: Free memory on device cuda:1 (60.33/79.19 GiB) on startup is less than desired GPU memory utilization (0.95, 75.23 GiB).",
    ),
    (
        "gpu_oom_startup",
        "ValueError: Free memory on device (5.1/23.6 GiB) on startup is less than desired GPU memory utilization (0.9, 21.2 GiB).",
    ),
    (
        "gpu_oom_startup",
        "AssertionError: Error in memory profiling. Initial free memory 70 GiB, current free memory 74 GiB.",
    ),
    (
        "no_cache_blocks",
        "ValueError: No available memory for the cache blocks. Try increasing `gpu_memory_utilization` when initializing the engine.",
    ),
    (
        "no_cache_blocks",
        "INFO 10-25 13:08:43 [gpu_worker.py:298] Available KV cache memory: -2.28 GiB",
    ),
    (
        "no_cache_blocks",
        "INFO 06-21 21:40:12 llm_engine.py:128] # GPU blocks: 0, # CPU blocks: 7281",
    ),
    (
        "model_too_long",
        "ValueError: The model's max seq len (131072) is larger than the maximum number of tokens that can be stored in KV cache (103632).",
    ),
    (
        "model_too_long",
        (
            "ValueError: To serve at least one request with the models's max seq len (116160), (4.43 GB KV cache is needed, which is larger than "
            "the available KV cache memory (3.48 GB)."
        ),
    ),
    (
        "model_too_long",
        (
            "ValueError: To serve at least one request with the model's max seq len (262144), 27.45 GiB KV cache is needed, but only 23.43 GiB "
            "is available."
        ),
    ),
    (
        "states_exceeded",
        "ValueError: max_num_seqs (1024) exceeds available Mamba cache blocks (524). Each decode sequence requires one",
    ),
    (
        "host_oom",
        "ray.exceptions.OutOfMemoryError: Task was killed due to the node running low on memory.",
    ),
    ("host_oom", "zsh: killed     vllm serve m"),
    ("host_oom", "[1]+  Killed                  nohup vllm serve m > log 2>&1"),
    ("host_oom", "[2]  - 4242 killed     vllm serve m"),
    ("host_oom", "the process ended: signal: killed"),
    (
        "host_oom",
        "slurmstepd: error: Detected 1 oom_kill event in StepId=7.0. Some of the step tasks have been OOM Killed.",
    ),
    (
        "host_oom",
        "numpy.core._exceptions._ArrayMemoryError: Unable to allocate 15.0 GiB for an array with shape (4, 4)",
    ),
    (
        "host_oom",
        "The Python process exited with exit code 137 (SIGKILL). This may have been caused by OOM error.",
    ),
    (
        "host_oom",
        "ERROR 11-19 12:16:36 [multiproc_executor.py:316] Worker proc VllmWorker-1 died unexpectedly (exit code: -9), shutting down",
    ),
    ("host_oom", "Killed"),
    ("host_oom", "/start.sh: line 3:    17 Killed                  vllm serve model"),
    (
        "host_oom",
        "RuntimeError: [enforce fail at alloc_cpu.cpp:117] err == 0. DefaultCPUAllocator: can't allocate memory: you tried to allocate",
    ),
    ("host_oom", "exitcode  : -9 (pid: 6774)"),
    ("host_oom", "Memory cgroup out of memory: Killed process 4242 (VLLM::EngineCor) total-vm:1kB"),
    ("unknown_argument", "vllm: error: unrecognized arguments: --swap-space 4"),
    (
        "unknown_argument",
        "api_server.py: error: argument --dtype: invalid choice: 'fp17' (choose from 'auto', 'half')",
    ),
    ("unknown_argument", "vllm serve: error: argument --max-model-len: expected one argument"),
    (
        "unknown_argument",
        "vllm serve: error: argument --tensor-parallel-size/-tp: invalid int value: 'two'",
    ),
    (
        "unknown_argument",
        "TypeError: EngineArgs.__init__() got an unexpected keyword argument 'swap_space'",
    ),
    (
        "invalid_config",
        "pydantic_core._pydantic_core.ValidationError: 1 validation error for VllmConfig",
    ),
    (
        "invalid_config",
        "pydantic_core._pydantic_core.ValidationError: 2 validation errors for ModelConfig",
    ),
    ("invalid_config", "AssertionError: 151936 is not divisible by 5"),
    (
        "invalid_config",
        "ValueError: Total number of attention heads (28) must be divisible by tensor parallel size (8).",
    ),
    (
        "invalid_config",
        "ValueError: User-specified max_model_len (65536) is greater than the derived max_model_len (max_position_embeddings=32768)",
    ),
    (
        "invalid_config",
        "ValueError: The quantization method awq is not supported for the current GPU. Minimum capability: 75.",
    ),
    (
        "invalid_config",
        "ValueError: Bfloat16 is only supported on GPUs with compute capability of at least 8.0.",
    ),
    (
        "invalid_config",
        "ValueError: max_num_batched_tokens (2048) is smaller than max_model_len (8192).",
    ),
    (
        "model_not_found",
        "requests.exceptions.HTTPError: 403 Client Error: Forbidden for url: https://huggingface.co/google/gemma/resolve/main/config.json",
    ),
    (
        "model_not_found",
        "huggingface_hub.errors.RepositoryNotFoundError: 404 Client Error. (Request ID: Root=1)",
    ),
    ("model_not_found", "huggingface_hub.errors.GatedRepoError: 401 Client Error."),
    ("model_not_found", "OSError: /models/llama does not appear to have a file named config.json."),
    (
        "model_not_found",
        "OSError: Can't load the configuration of 'meta-lama/x'. If you were trying to load it from",
    ),
    (
        "model_not_found",
        "OSError: x is not a local folder and is not a valid model identifier listed on 'https://huggingface.co/models'",
    ),
    (
        "model_not_found",
        "ValueError: Model architectures ['FooForCausalLM'] are not supported for now. Supported architectures: dict_keys([",
    ),
    (
        "model_not_found",
        "huggingface_hub.errors.LocalEntryNotFoundError: An error happened while trying to locate the file on the Hub",
    ),
    ("model_not_found", "RuntimeError: Cannot find any model weights with `/models/x`"),
    (
        "shm_too_small",
        "RuntimeError: DataLoader worker (pid 12) is killed by signal: Bus error. It is possible that shm is too small",
    ),
    (
        "shm_too_small",
        "misc/shmutils.cc:87 NCCL WARN Error: failed to extend /dev/shm/nccl-YrFC5V to 33030532 bytes, error: No space left on device (28)",
    ),
    ("shm_too_small", "OSError: [Errno 28] No space left on device: '/dev/shm/psm_1234'"),
    (
        "shm_too_small",
        "RuntimeError: unable to open shared memory object </torch_12> in read-write mode: No space left on device (28)",
    ),
    ("shm_too_small", "RuntimeError: Insufficient space in /dev/shm for the message queue"),
    (
        "broken_install",
        "RuntimeError: The NVIDIA driver on your system is too old (found version 11080). Please update your GPU driver",
    ),
    (
        "broken_install",
        "ImportError: libcudart.so.13: cannot open shared object file: No such file or directory",
    ),
    (
        "broken_install",
        "ImportError: /opt/venv/vllm/_C.abi3.so: undefined symbol: _ZN3c104cuda9SetDeviceEi",
    ),
    ("broken_install", "ModuleNotFoundError: No module named 'flashinfer'"),
    (
        "broken_install",
        "RuntimeError: CUDA error: no kernel image is available for execution on the device",
    ),
    (
        "broken_install",
        "nvidia-container-cli: initialization error: nvml error: driver/library version mismatch: unknown",
    ),
    (
        "broken_install",
        "torch.AcceleratorError: CUDA error: the provided PTX was compiled with an unsupported toolchain.",
    ),
    (
        "broken_install",
        "RuntimeError: Failed to find C compiler. Please specify via CC environment variable.",
    ),
    ("broken_install", "AssertionError: Torch not compiled with CUDA enabled"),
    ("broken_install", "RuntimeError: No CUDA GPUs are available"),
    (
        "broken_install",
        "RuntimeError: Failed to infer device type, please set the environment variable",
    ),
    ("broken_install", "pynvml.NVMLError_DriverNotLoaded: Driver Not Loaded"),
    (
        "broken_install",
        "ValueError: Current node has no GPU available. current_node_resource={'CPU': 8.0}.",
    ),
    ("broken_install", "RuntimeError: NIXL is not available"),
    ("broken_install", "RuntimeError: HIP error: invalid device function"),
    (
        "broken_install",
        "torch._inductor.exc.InductorError: FileNotFoundError: [Errno 2] No such file or directory: 'ptxas'",
    ),
    (
        "broken_install",
        "FileNotFoundError: [Errno 2] No such file or directory: '/opt/venv/bin/ninja'",
    ),
    (
        "broken_install",
        "subprocess.CalledProcessError: Command '['/usr/bin/gcc', '/tmp/a.c', '-lcuda']' returned non-zero exit status 1.",
    ),
    (
        "broken_install",
        "RuntimeError: flashinfer-cubin version (0.5.2) does not match flashinfer version (0.5.3).",
    ),
    ("invalid_config", "RuntimeError: CUDA error: invalid device ordinal"),
    (
        "invalid_config",
        "  Value error, fp8_e5m2 kv-cache is not supported with fp8 checkpoints. [type=value_error, input_value=Args((), {'mod",
    ),
    (
        "invalid_config",
        "  Assertion failed, the two settings exclude each other [type=assertion_error, input_value=Args((), {'mod",
    ),
    ("invalid_config", "KeyError: 'invalid tool call parser: llama9 (chose from { hermes })'"),
    (
        "invalid_config",
        "ValueError: Cannot provide a placement group of placement_group_specs=[{'GPU': 1.0}] within 1800 seconds.",
    ),
    ("model_not_found", "botocore.exceptions.NoCredentialsError: Unable to locate credentials"),
    (
        "model_not_found",
        "Exception: Could not receive runai_response from libstreamer due to: b'File access error'",
    ),
    ("engine_dead", "!!!!!!! Segfault encountered !!!!!!!"),
    ("port_in_use", "OSError: [Errno 98] Address already in use"),
    (
        "port_in_use",
        "ERROR:    [Errno 98] error while attempting to bind on address ('0.0.0.0', 8000): address already in use",
    ),
    (
        "collective_timeout",
        (
            "[rank3]:[E1012 22:31:22.267261276 ProcessGroupNCCL.cpp:607] [Rank 3] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=1, "
            "OpType=ALLREDUCE, Timeout(ms)=600000) ran for 600009 milliseconds before timing out."
        ),
    ),
    (
        "collective_timeout",
        "torch.distributed.DistBackendError: NCCL error in: ProcessGroupNCCL.cpp:1970, unhandled system error",
    ),
    ("collective_timeout", "ncclUnhandledCudaError: Call to CUDA function failed."),
    (
        "collective_timeout",
        "torch.distributed.DistStoreError: Timed out after 601 seconds waiting for clients. 1/2 clients joined.",
    ),
    ("collective_timeout", "RuntimeError: Gloo connectFullMesh failed with [pair.cc:144] no error"),
    ("rpc_timeout", "TimeoutError: RPC call to sample_tokens timed out."),
    (
        "rpc_timeout",
        "ERROR 11-11 10:00:00 [async_llm_engine.py:902] Engine iteration timed out. This should never happen!",
    ),
    ("gpu_fault", "RuntimeError: CUDA error: uncorrectable ECC error encountered"),
    (
        "gpu_fault",
        "RuntimeError: Unexpected error from cudaGetDeviceCount(). Error 802: system not yet initialized",
    ),
    ("gpu_fault", "pynvml.NVMLError_GpuIsLost: GPU is lost"),
    ("gpu_program_error", "RuntimeError: CUDA error: an illegal memory access was encountered"),
    ("gpu_program_error", "RuntimeError: CUDA error: device-side assert triggered"),
    ("gpu_program_error", "RuntimeError: CUDA error: unspecified launch failure"),
    (
        "gpu_program_error",
        "Memory access fault by GPU node-1 (Agent handle: 0x58) on address 0x7f. Reason: Page not present",
    ),
    ("engine_dead", "EngineCore encountered a fatal error."),
    (
        "engine_dead",
        "vllm.v1.engine.exceptions.EngineDeadError: EngineCore encountered an issue. See stack trace (above) for the root cause.",
    ),
    (
        "engine_dead",
        "RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {}",
    ),
    (
        "engine_dead",
        "vllm.engine.async_llm_engine.AsyncEngineDeadError: Background loop has errored already.",
    ),
    (
        "engine_dead",
        "ERROR 07-09 10:00:00 [multiproc_executor.py:140] Worker proc VllmWorker-2 died unexpectedly, shutting down executor.",
    ),
    (
        "requests_rejected",
        "INFO 11-20 10:00:00 [async_llm.py:352] Request queue full - rejecting request cmpl-1",
    ),
    (
        "fd_limit",
        "WARNING 11-20 10:00:00 [utils.py:256] Found ulimit of 1024 and failed to automatically increase with error x.",
    ),
    ("fd_limit", "OSError: [Errno 24] Too many open files"),
    (
        "preempted_v0",
        (
            "WARNING 10-01 10:00:00 scheduler.py:1554] Sequence group cmpl-3 is preempted by PreemptionMode.RECOMPUTE mode because there is not "
            "enough KV cache space. This can affect the end-to-end performance. total_num_cumulative_preemption=51"
        ),
    ),
    (
        "no_cache_blocks",
        "ValueError: Available memory on node 0 (3.1/15.6 GiB) on startup is less than desired CPU memory utilization (0.92, 14.4 GiB).",
    ),
    (
        "model_too_long",
        "ValueError: To serve at least one request with the model's max seq len (100000), (4.26 GiB KV cach",
    ),
    (
        "host_oom",
        "(raylet) node_manager.cc:3007: 2 Workers (tasks / actors) killed due to memory pressure (OOM), 0 Workers crashed due to other reasons",
    ),
    (
        "model_not_found",
        "OSError: PermissionError at /.cache when downloading mistralai/Mistral-7B-Instruct-v0.3",
    ),
    (
        "gpu_oom_startup",
        "ERROR 09-27 05:20:38 multiproc_worker_utils.py:233] Exception in worker VllmWorkerProcess while processing method determine_num_available_blocks: CUDA out of memory. Tried to allocate 19.63 GiB.",
    ),
    (
        "collective_timeout",
        "[E socket.cpp:957] [c10d] The client socket has timed out after 60s while trying to connect to (10.0.0.1, 29400).",
    ),
    (
        "collective_timeout",
        "[rank0]:[W902 16:27:57.294 socket.cpp:494] [c10d] waitForInput: socket SocketImpl(fd=3, addr=[a]:1, remote=[b]:2) timed out after 1800000ms",
    ),
    ("engine_dead", "ERROR 09-11 17:21:30 async_llm_engine.py:63] Engine background task failed"),
    ("collective_timeout", "RuntimeError: Barrier timed out after 600.00 seconds"),
    ("unclassified_error", "/bin/sh: 1: vllm: Permission denied"),
    ("broken_install", 'exec: "vllm": executable file not found in $PATH: unknown'),
    (
        "unclassified_error",
        "RuntimeError: The size of tensor a (4096) must match the size of tensor b (2048)",
    ),
    (
        "unclassified_error",
        "FileNotFoundError: [Errno 2] No such file or directory: '/root/.triton/cache/x/model.json'",
    ),
    ("unclassified_error", "KeyError: 'layers.0.mlp.experts.w13_weight'"),
]


@pytest.mark.parametrize(
    ("kind", "line"), FAILURES, ids=[f"{kind}-{i}" for i, (kind, _) in enumerate(FAILURES)]
)
def test_a_wording_gets_its_name(kind: str, line: str) -> None:
    found = digest([line], source="x")
    assert kind in {event.kind for event in found.events}
    others = {event.kind for event in found.events} - {kind, "engine_dead"}
    assert not others
    made = {made.name: made.last for made in found.signals(1e9)[""]}
    assert made[f"log_{kind}"] >= 1


@pytest.mark.parametrize(
    "line",
    [
        "WARNING 03-03 10:00:00 [config.py:1] Setting a lower gpu_memory_utilization may help to avoid CUDA out of memory.",
        "NVRM: nvCheckOkFailedNoLog: Check failed: Out of memory [NV_ERR_NO_MEMORY] (0x00000051) returned from _memdescAllocInternal",
        "WARNING 03-03 10:00:00 [utils.py:1] Port 29500 is already in use, trying port 29501",
        "(raylet) There are some potential root causes. (1) The process is killed by SIGKILL by OOM killer due to high memory usage.",
        "UserWarning: resource_tracker: There appear to be 1 leaked shared_memory objects to clean up at shutdown",
        "triton.runtime.errors.OutOfResources: out of resource: shared memory, Required: 147456, Hardware limit: 101376",
        'INFO:     10.0.0.1:4242 - "GET /health HTTP/1.1" 500 Internal Server Error',
        "INFO 03-03 10:00:00 [logger.py:39] Received request cmpl-1: prompt: 'CUDA out of memory. Tried to allocate', params: SamplingParams(",
        "INFO 03-03 10:00:00 [pynccl.py:103] vLLM is using nccl==2.27.3",
        "(raylet) 0 Workers (tasks / actors) killed due to memory pressure (OOM), 1 Workers crashed due to other reasons at node",
        "INFO 03-03 10:00:00 [multiproc_worker_utils.py:124] Killing local vLLM worker processes",
        "DEBUG 03-03 10:00:00 [system_utils.py:256] Found ulimit of 1048576 and failed to automatically increase with error x. This can cause fd limit errors like `OSError: [Errno 24] Too many open files`.",
        "INFO 03-03 10:00:00 [gpu_worker.py:1] Available KV cache memory: 0.54 GiB",
    ],
)
def test_a_harmless_line_is_no_failure(line: str) -> None:
    assert not digest([line], source="x").events


def test_the_cheap_test_lets_every_hint_through() -> None:
    assert all(may_say_something(hint) for rule in RULES for hint in rule.hints)
    assert not may_say_something("INFO 01-01 00:00:00 [x.py:1] nothing that a reader knows")


# --- the phase of a GPU OOM

OOM = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 50.00 MiB."


def _kinds(*lines: str) -> set[str]:
    return {event.kind for event in digest(lines, source="x").events}


@pytest.mark.parametrize(
    ("function", "kind"),
    [
        ("capture_model", "gpu_oom_graph_capture"),
        ("compile_or_warm_up_model", "gpu_oom_graph_capture"),
        ("_dummy_sampler_run", "gpu_oom_graph_capture"),
        ("load_model", "gpu_oom_startup"),
        ("profile_run", "gpu_oom_startup"),
        ("determine_available_memory", "gpu_oom_startup"),
        ("execute_model", "gpu_oom_serving"),
    ],
)
@pytest.mark.parametrize("message_first", [False, True])
def test_the_traceback_tells_the_phase(function: str, kind: str, message_first: bool) -> None:
    frames = [
        f'  File "/opt/vllm/v1/worker/gpu_worker.py", line 216, in {function}',
        "    self.work()",
    ]
    assert _kinds(*([OOM, *frames] if message_first else [*frames, OOM])) == {kind}


def test_v0_profiles_through_execute_model_and_is_still_starting() -> None:
    frames = [
        '  File "worker.py", line 1, in determine_num_available_blocks',
        '  File "model_runner.py", line 2, in execute_model',
    ]
    assert _kinds(*frames, OOM) == {"gpu_oom_startup"}


def test_a_prefixed_traceback_counts_as_one_too() -> None:
    lines = [
        '(EngineCore_DP0 pid=9) ERROR 11-20 10:00:00 [core.py:842]   File "gpu_worker.py", line 1, in execute_model',
        "(EngineCore_DP0 pid=9) ERROR 11-20 10:00:00 [core.py:842]     return self.model(x)",
        f"(EngineCore_DP0 pid=9) ERROR 11-20 10:00:00 [core.py:842] {OOM}",
    ]
    assert _kinds(*lines) == {"gpu_oom_serving"}


def test_without_a_traceback_the_place_in_the_life_tells_the_phase() -> None:
    start = "INFO 11-20 10:00:00 [core.py:96] Initializing a V1 LLM engine (v0.14.0) with config: model='m', max_seq_len=8192"
    ready = "INFO:     Application startup complete."
    capturing = "Capturing CUDA graphs (mixed prefill-decode, PIECEWISE):  10%|#         | 5/51 [00:01<00:10,  4.4it/s]"
    assert _kinds(OOM) == {"gpu_oom"}
    assert _kinds(start, OOM) == {"gpu_oom_startup"}
    assert _kinds(start, capturing, OOM) == {"gpu_oom_graph_capture"}
    assert "gpu_oom_serving" in _kinds(start, ready, OOM)
    assert _kinds(
        "Loading safetensors checkpoint shards:   0% Completed | 0/4 [00:00<?, ?it/s]", OOM
    ) == {"gpu_oom_startup"}


def test_graphs_in_the_allocators_own_words_mean_that_capture_is_over() -> None:
    assert _kinds(
        OOM
        + " with 340.00 MiB allocated in private pools (e.g., CUDA Graphs), and 22.16 MiB is reserved"
    ) == {"gpu_oom_serving"}


def test_the_front_end_repeating_an_oom_does_not_make_it_two_kinds() -> None:
    frames = ['  File "gpu_worker.py", line 1, in load_model', OOM]
    assert _kinds(*frames, "INFO 11-20 10:00:00 [x.py:1] cleaning", OOM) == {"gpu_oom_startup"}


# --- what explains what


def test_a_broken_collective_is_a_consequence_of_the_memory_that_ran_out() -> None:
    assert _kinds(
        OOM, "torch.distributed.DistBackendError: NCCL error in: x.cpp:1, unhandled cuda error"
    ) == {"gpu_oom"}
    assert _kinds(
        "torch.distributed.DistBackendError: NCCL error in: x.cpp:1, unhandled cuda error"
    ) == {"collective_timeout"}


def test_an_exception_that_a_known_line_explains_is_not_unclassified() -> None:
    assert _kinds("ValueError: No available memory for the cache blocks.", "KeyError: 'x'") == {
        "no_cache_blocks"
    }
    assert _kinds("KeyError: 'x'") == {"unclassified_error"}


def test_an_exception_of_one_request_is_no_end_of_the_engine() -> None:
    stats = "INFO 11-20 10:00:10 [loggers.py:1] Engine 000: Avg prompt throughput: 1.0 tokens/s, Avg generation throughput: 5.0 tokens/s, "
    stats += (
        "Running: 1 reqs, Waiting: 0 reqs, GPU KV cache usage: 1.0%, Prefix cache hit rate: 0.0%"
    )
    assert _kinds("INFO:     Application startup complete.", stats, "KeyError: 'x'") == {"ready"}


def test_waiting_for_a_broadcast_block_is_no_failure_of_an_idle_engine() -> None:
    wait = "INFO 11-20 10:01:00 [shm_broadcast.py:466] No available shared memory broadcast block found in 60 seconds."
    line = "INFO 11-20 10:00:10 metrics.py:1] Avg prompt throughput: 0.0 tokens/s, Avg generation throughput: 0.0 tokens/s, "
    idle = (
        line
        + "Running: 0 reqs, Swapped: 0 reqs, Pending: 0 reqs, GPU KV cache usage: 0.0%, CPU KV cache usage: 0.0%."
    )
    assert "rpc_timeout" not in _kinds(idle, wait)
    assert "rpc_timeout" in _kinds(idle.replace("Running: 0", "Running: 3"), wait)


def test_ranks_that_miss_each_other_after_sigterm_did_not_fail() -> None:
    told = (
        "INFO 11-20 10:00:00 [core.py:1455] [shutdown] EngineCore: trigger received signal=SIGTERM"
    )
    after = "ERROR 11-20 10:00:02 [multiproc_executor.py:1] Worker proc VllmWorker-1 died unexpectedly (exit code: -15), shutting down"
    assert _kinds(told, after) == {"shutdown"}
    assert _kinds(after) == {"engine_dead"}


def test_the_server_going_down_after_its_engine_was_not_told_to() -> None:
    assert _kinds("EngineCore encountered a fatal error.", "INFO:     Shutting down") == {
        "engine_dead"
    }
    assert _kinds("INFO:     Shutting down", "INFO:     Application shutdown complete.") == {
        "shutdown"
    }


def test_an_error_before_the_first_dated_line_is_as_old_as_the_log() -> None:
    """A pasted excerpt often begins in the middle of a line: what it says is not half a year
    old.
    """
    cut = "[multiproc_executor.py:492] ValueError: Free memory on device (3.1/47.4 GiB) on startup is less than desired GPU memory utilization"
    found = digest(
        [cut, "ERROR 06-30 13:53:19 [core.py:515] EngineCore failed to start."], source="x"
    )
    now = 1_795_004_800.0
    assert {made.name: made for made in found.signals(now)[""]}["log_gpu_oom_startup"].at == now


def test_a_kernel_that_is_not_compiled_is_no_refused_setting() -> None:
    line = 'RuntimeError: Assertion error (/workspace/deepgemm/csrc/jit/compiler.hpp:234): false and "NVCC compilation failed"'
    assert "invalid_config" not in {event.kind for event in digest([line], source="x").events}
    refused = "ValueError: the compilation_config level 9 is unknown"
    assert "invalid_config" in {event.kind for event in digest([refused], source="x").events}
