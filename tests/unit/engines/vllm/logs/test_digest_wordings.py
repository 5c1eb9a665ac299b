"""More wordings of failures, as the CUDA runtime, torch, gloo and vLLM print them."""

# ruff: noqa: E501 (log lines as they are printed)
from __future__ import annotations

import pytest

from barostat.engines.vllm.logs.digest import digest

WORDINGS = [
    ("gpu_oom", "Failed: Cuda error /workspace/csrc/custom_all_reduce.cuh:455 'out of memory'"),
    (
        "gpu_oom",
        "Queue 0x7f aborting with error : HSA_STATUS_ERROR_OUT_OF_RESOURCES: no resources. Code: 0x1008 Available Free mem : 0 MB",
    ),
    (
        "gpu_program_error",
        "Queue 0x7f aborting with error : HSA_STATUS_ERROR_OUT_OF_RESOURCES: no resources. Code: 0x1008 Available Free mem : 62084 MB",
    ),
    (
        "gpu_fault",
        "RuntimeError: CUDA error: uncorrectable NVLink error detected during the execution",
    ),
    ("gpu_fault", "cudaErrorNvlinkUncorrectable"),
    (
        "shm_too_small",
        "RuntimeError: unable to write to file </torch_7_7_0>: No space left on device (28)",
    ),
    (
        "collective_timeout",
        "RuntimeError: [../third_party/gloo/gloo/transport/tcp/pair.cc:1] Connection closed by peer [10.0.0.2]:7",
    ),
    (
        "collective_timeout",
        "RuntimeError: [/p/third_party/gloo/gloo/transport/tcp/pair.cc:1] Read error [10.0.0.2]:7: Connection reset by peer",
    ),
    (
        "collective_timeout",
        "[W socket.cpp:1] [c10d] The client socket has failed to connect to [node-with-a-long-name.internal]:29500 (errno: 110 - Connection timed out)",
    ),
    (
        "storage_refused",
        "OSError: [Errno 28] No space left on device: '/cache/hub/blobs/x.incomplete'",
    ),
    (
        "storage_refused",
        "RuntimeError: Data processing error: IO Error: No space left on device (os error 28)",
    ),
    (
        "storage_refused",
        "torch._inductor.exc.InductorError: PermissionError: [Errno 13] Permission denied: '/.triton'",
    ),
    ("storage_refused", "OSError: [Errno 30] Read-only file system: '/models/.cache'"),
    ("storage_refused", "OSError: [Errno 122] Disk quota exceeded"),
    (
        "collective_timeout",
        "RuntimeError: NCCL error: unhandled system error node-1:27:106 [1] NCCL INFO cudaDriverVersion 12080",
    ),
    (
        "collective_timeout",
        "torch.distributed.DistStoreError: Timed out after 601 seconds waiting for clients. 1/2 clients joined.",
    ),
    ("unclassified_error", "torch._dynamo.exc.BackendCompilerFailed: backend='x' raised:"),
    ("collective_timeout", "RuntimeError: DeepEP error: timeout (dispatch CPU)"),
    ("collective_timeout", "DeepEP timeout for dispatch receive, rank 3, src_rank 7"),
    (
        "invalid_config",
        "node-1:27:106 [0] init.cc:1 NCCL WARN Duplicate GPU detected : rank 1 and rank 0 both on CUDA device 50000",
    ),
    (
        "broken_install",
        "node-1:27:106 [0] w.cc:1 NCCL WARN Cuda failure 'CUDA driver version is insufficient for CUDA runtime version'",
    ),
    (
        "broken_install",
        "node-1:27:106 [0] e.cc:1 NCCL WARN Cuda failure 'no kernel image is available for execution on the device'",
    ),
    ("broken_install", "node-1:27:106 [0] e.cc:1 NCCL WARN Cuda failure 'named symbol not found'"),
    (
        "unclassified_error",
        "RuntimeError: expected mat1 and mat2 to have the same dtype, but got: float != c10::BFloat16",
    ),
    ("unclassified_error", "RuntimeError: scaled_mm: a.dtype() must be kFloat8_e4m3fn"),
    ("unclassified_error", "AssertionError: hidden_states.dtype differs"),
    ("unclassified_error", "KeyError: 'layers.0.quantization_scale'"),
    (
        "invalid_config",
        "ValueError: torch.float16 is not a dtype that this model supports: dtype auto",
    ),
    ("invalid_config", "RuntimeError: tensor_parallel_size does not fit"),
    ("host_oom", "Loading checkpoint shards:  75%|#######5  | 3/4 [00:08<00:02,  2.83s/it]Killed"),
    (
        "host_oom",
        "  Warning   Evicted   pod/vllm-0   The node was low on resource: memory. Container vllm was using 5053216Ki",
    ),
    (
        "host_oom",
        "4m7s   Warning   Evicted   pod/vllm-0   The node had condition: [MemoryPressure].",
    ),
    (
        "host_oom",
        "May 15 23:09:30 node-1 systemd[1]: vllm.service: Main process exited, code=killed, status=9/KILL",
    ),
    ("gpu_oom", "(CUDA OOM, 594 MiB)"),
    (
        "gpu_oom",
        "RuntimeError: NPU out of memory. Tried to allocate 2.34 GiB (NPU 1; 60.97 GiB total capacity)",
    ),
    (
        "states_exceeded",
        "the default exceeds available Mamba cache blocks (95)... CUDA graph capture cannot proceed",
    ),
    ("gpu_fault", "    HW Thermal Slowdown                  : Active"),
    ("gpu_fault", "Clocks Event Reasons: HW Slowdown: Active (GPU 3)"),
    (
        "collective_timeout",
        "transport/net_ib.cc:295 NET/IB : Got completion from peer 10.0.0.7<5570> with status=12 opcode=0 len=0",
    ),
    (
        "broken_install",
        'Error response from daemon: OCI runtime create failed: unable to start container process: exec: "vllm": executable file not found in $PATH',
    ),
    ("invalid_config", "AssertionError: DP adjusted local rank 1 is out of bounds."),
]


@pytest.mark.parametrize(("kind", "line"), WORDINGS)
def test_a_wording_gets_its_name(kind: str, line: str) -> None:
    assert [event.kind for event in digest([line], source="test").events] == [kind]


HARMLESS = [
    "node-1:27:106 [0] NCCL INFO NCCL_IB_TIMEOUT set by environment to 22.",
    "node-1:27:106 [0] socket.cc:1 NCCL INFO the socket timed out, and is tried again: NCCL error handling is on",
    "ERROR 01-02 03:04:05 [x.py:1] a file timed out that was fetched from the object store",
    "INFO:     Application startup complete.\nOSError: [Errno 28] No space left on device: '/tmp/x'",
    "WARNING 01-02 03:04:05 [x.py:1] the cache is not used: [Errno 30] Read-only file system: '/root/.cache'",
    "INFO 01-02 03:04:05 [x.py:1] [gloo/transport] connected to 2 peers",
    "Loading checkpoint shards: 100%|##########| 4/4 [00:08<00:00,  2.83s/it]",
    "  Warning   Evicted   pod/vllm-0   The node was low on resource: ephemeral-storage. Threshold quantity: 638834513199",
    "    HW Thermal Slowdown                  : Not Active",
    "    SW Power Cap                         : Active",
    "node-1:27:106 [0] NCCL INFO NET/IB : Using [0]mlx5_0:1/RoCE [RO]; OOB eth0:10.0.0.1<0>",
    "Capping cudagraph capture sizes from max 512 to 352 to fit Mamba cache blocks (361 blocks available).",
]


@pytest.mark.parametrize("line", HARMLESS)
def test_a_line_of_another_meaning_does_not(line: str) -> None:
    assert [
        event.kind
        for event in digest(line.split("\n"), source="test").events
        if event.kind != "ready"
    ] == []


def test_what_nccl_was_told_explains_that_it_failed() -> None:
    told = "node-1:27:106 [0] w.cc:1 NCCL WARN Cuda failure 'no kernel image is available for execution on the device'"
    failed = "RuntimeError: NCCL error: unhandled cuda error (run with NCCL_DEBUG=INFO for details)"
    assert [event.kind for event in digest([told, failed], source="test").events] == [
        "broken_install"
    ]


def test_the_port_is_bound_after_the_startup_is_said_to_be_complete() -> None:
    ready = "INFO:     Application startup complete."
    taken = "ERROR:    [Errno 98] error while attempting to bind on address ('0.0.0.0', 8000): address already in use"
    ended = [
        "INFO:     Waiting for application shutdown.",
        "INFO:     Application shutdown complete.",
    ]
    assert {event.kind for event in digest([ready, taken, *ended], source="x").events} == {
        "ready",
        "port_in_use",
    }
    other = "WARNING 01-02 03:04:05 [x.py:1] [Errno 98] Address already in use: the exporter takes another port"
    assert {event.kind for event in digest([ready, other], source="x").events} == {"ready"}


def test_a_service_that_would_not_stop_was_not_killed_for_memory() -> None:
    killed = "vllm.service: Main process exited, code=killed, status=9/KILL"
    late = "vllm.service: State 'stop-sigterm' timed out. Killing."
    by_whom = "vllm.service: Killing process 4242 (vllm) with signal SIGKILL."
    assert {event.kind for event in digest([late, by_whom, killed], source="x").events} == {
        "shutdown"
    }
