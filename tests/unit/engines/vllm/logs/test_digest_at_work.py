"""What an engine at work meets is not read as the failure of a start."""

from __future__ import annotations

import pytest

from barostat.engines.vllm.logs.digest import digest

DIED = "ERROR 01-02 03:04:06 [core.py:1] EngineCore encountered a fatal error."


def kinds(*lines: str) -> list[str]:
    """The kinds of the last life's events."""
    return sorted(event.kind for event in digest(lines, source="test").events)


AT_WORK = [
    ("RuntimeError: The size of tensor a must be divisible by 8", "run_busy_loop"),
    ("AssertionError: 40 tokens are computed, more than max_num_batched_tokens", "schedule"),
    ("NotImplementedError: cascade attention is not supported", "execute_model"),
    ("KeyError: 'speculative'", "_process_engine_step"),
]


@pytest.mark.parametrize("message_first", [True, False])
@pytest.mark.parametrize(("error", "function"), AT_WORK)
def test_an_error_of_an_engine_at_work_is_no_refused_setting(
    error: str, function: str, message_first: bool
) -> None:
    at = "ERROR 01-02 03:04:05 [core.py:1] "
    lines = [f'{at}  File "core.py", line 1, in {function}', at + error]
    assert kinds(*([*lines, DIED] if message_first else [DIED, *lines])) == [
        "engine_dead",
        "unclassified_error",
    ]


def test_the_same_error_ends_a_start() -> None:
    at = "ERROR 01-02 03:04:05 [core.py:1] "
    frame = at + '  File "gpu_worker.py", line 1, in determine_available_memory'
    loop = at + '  File "multiproc_executor.py", line 1, in worker_busy_loop'
    error = at + "RuntimeError: The size of tensor a must be divisible by 8"
    assert kinds(loop, frame, error, at + "EngineCore failed to start.") == [
        "engine_dead",
        "invalid_config",
    ]


def test_a_start_after_a_core_that_died_at_work_is_a_life_of_its_own() -> None:
    banner = "INFO 01-02 03:05:00 [utils.py:1] vLLM API server version 0.14.0"
    refused = (
        "ERROR 01-02 03:05:09 [core.py:1] ValueError: max_num_batched_tokens (2048) is smaller "
        "than max_model_len (8192)."
    )
    assert kinds(DIED, "ERROR 01-02 03:04:06 [core.py:1] AssertionError", banner, refused) == [
        "invalid_config"
    ]


def test_an_oom_before_the_core_died_at_work_is_one_of_serving() -> None:
    oom = (
        "ERROR 01-02 03:04:05 [worker.py:1] torch.OutOfMemoryError: CUDA out of memory. Tried "
        "to allocate 2.00 GiB."
    )
    assert kinds("INFO 01-02 03:04:04 [loader.py:1] Starting to load model m...", oom, DIED) == [
        "engine_dead",
        "gpu_oom_serving",
    ]
    assert kinds(oom, "INFO 01-02 03:04:05 [worker.py:1] Loading nothing", DIED) == [
        "engine_dead",
        "gpu_oom_serving",
    ]


@pytest.mark.parametrize(
    "file", ["serving_chat.py", "serving_completion.py", "openai/chat_completion/serving.py"]
)
def test_what_a_handler_of_requests_says_is_of_one_request(file: str) -> None:
    at = f"ERROR 01-02 03:04:05 [{file}:7] "
    assert kinds(at + "ValueError: The prompt is longer than max_model_len") == []
    assert (
        kinds(
            at
            + (
                "requests.exceptions.HTTPError: 403 Client Error: Forbidden for url: "
                "https://example.com/a.png"
            )
        )
        == []
    )
    assert kinds(at + "EngineDeadError: EngineCore encountered an issue.") == ["engine_dead"]


def test_statistics_say_that_the_start_is_over() -> None:
    stats = (
        "INFO 01-02 03:04:05 [loggers.py:1] Engine 000: Avg prompt throughput: 1.0 tokens/s, "
        "Avg generation throughput: 2.0 tokens/s, "
    )
    stats += (
        "Running: 1 reqs, Waiting: 0 reqs, GPU KV cache usage: 1.0%, Prefix cache hit rate: 0.0%"
    )
    assert kinds(stats, "ValueError: max_tokens must be at least 1, got -5.") == []


FAULT = "RuntimeError: CUDA error: an illegal memory access was encountered"
TIMED_OUT = (
    "[rank1]:[E1012 22:31:22.2 P.cpp:6] [Rank 1] Watchdog caught collective operation timeout: "
    "WorkNCCL(SeqNum=1) ran for 600 ms"
)


def test_ranks_that_wait_for_one_whose_program_broke_are_no_hang() -> None:
    assert kinds(FAULT, TIMED_OUT) == ["gpu_program_error"]
    assert kinds(FAULT, "TimeoutError: RPC call to execute_model timed out.") == [
        "gpu_program_error"
    ]


def test_a_program_that_broke_after_the_hang_does_not_hide_it() -> None:
    assert kinds(TIMED_OUT, FAULT) == ["collective_timeout", "gpu_program_error"]


def test_a_kill_that_ends_a_slow_stop_is_no_want_of_memory() -> None:
    assert kinds("INFO:     Shutting down", "vllm-1 exited with code 137") == ["shutdown"]
    assert kinds("vllm-1 exited with code 137") == ["host_oom"]
    assert kinds(
        "INFO:     Shutting down", "Memory cgroup out of memory: Killed process 7 (VLLM::Worker)"
    ) == ["host_oom", "shutdown"]


LOST = (
    "RuntimeError: [../third_party/gloo/gloo/transport/tcp/pair.cc:1] Connection closed by "
    "peer [10.0.0.2]:7"
)


def test_a_rank_that_lost_one_that_fell_over_an_error_does_not_hang() -> None:
    fell = "AssertionError: the scheduler lost count"
    assert kinds(LOST, fell) == kinds(fell, LOST) == ["unclassified_error"]
    assert kinds(LOST, DIED) == ["collective_timeout", "engine_dead"]


def test_a_store_whose_port_is_taken_is_no_hang() -> None:
    line = (
        "torch.distributed.DistNetworkError: The server socket has failed to listen. name: "
        "EADDRINUSE, message: address already in use"
    )
    assert kinds(line) == ["port_in_use"]


def test_a_bare_time_out_is_a_workers_where_the_core_reads_one() -> None:
    frames = [
        '  File "/opt/vllm/shm_broadcast.py", line 469, in acquire_read',
        "    raise TimeoutError",
    ]
    assert kinds(*frames, "TimeoutError") == ["rpc_timeout"]
    assert kinds('  File "/opt/vllm/loader.py", line 4, in fetch', "TimeoutError") == [
        "unclassified_error"
    ]
