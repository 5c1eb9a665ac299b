"""A line that another failure explains names no cause of its own: a server that kills itself,
workers that are waited for, NCCL's warnings.
"""

# ruff: noqa: E501 (log lines as they are printed)
from __future__ import annotations

import pytest

from barostat.engines.vllm.logs.digest import digest

OWN = (
    "ERROR 03-18 14:46:40 [core.py:341] IndexError: index 1 is out of bounds for axis 0 with size 1"
)
FATAL = "CRITICAL 03-18 14:46:40 [core_client.py:269] Got fatal signal from worker processes, shutting down. See stack trace above for root cause issue."
DEAD = "(EngineCore pid=9) ERROR 03-18 14:46:40 [core.py:1330] EngineCore failed to start."
WAIT = "(EngineCore pid=9) INFO 03-18 14:{:02}:40 [shm_broadcast.py:705] No available shared memory broadcast block found in 60 seconds. This typically happens when"
START = [
    "(EngineCore pid=9) INFO 03-18 14:00:09 [core.py:96] Initializing a V1 LLM engine (v0.14.0) with config: model='m', max_seq_len=8192",
    "Loading safetensors checkpoint shards:  45% Completed | 21/46 [00:10<00:12,  2.00it/s]",
]


def _kinds(*lines: str) -> set[str]:
    return {event.kind for event in digest(lines, source="x").events}


@pytest.mark.parametrize(
    "killed",
    [
        "Killed",
        "[1]    2095823 killed     vllm serve m",
        "/run.sh: line 46:  7164 Killed    vllm serve m",
    ],
)
def test_a_server_that_kills_itself_after_a_failure_was_not_short_of_memory(killed: str) -> None:
    """vLLM 0.7 and 0.8 end with SIGKILL to their own process tree when a core or a worker
    failed.
    """
    assert _kinds(OWN, FATAL, killed) == {"engine_dead", "unclassified_error"}
    assert _kinds(FATAL, killed) == {"engine_dead"}
    assert _kinds(OWN, DEAD, killed) == {"engine_dead", "unclassified_error"}


def test_a_process_that_was_killed_without_a_word_before_may_have_been_short_of_memory() -> None:
    died = "ERROR 03-18 14:46:40 [multiproc_executor.py:123] Worker proc VllmWorker-1 died unexpectedly, shutting down executor."
    assert "host_oom" in _kinds("Killed")
    assert "host_oom" in _kinds(died, "vllm-1 exited with code 137")
    assert "host_oom" in _kinds(
        OWN,
        FATAL,
        "Memory cgroup out of memory: Killed process 4242 (VLLM::EngineCor) total-vm:1kB",
    )


def test_the_rest_of_rays_list_of_possible_causes_is_no_cause() -> None:
    assert "host_oom" not in _kinds(
        "ses. (1) The process is killed by SIGKILL by OOM killer due to high memory usage. (2) ray stop --force is called."
    )


def test_workers_that_answered_with_an_error_did_not_hang() -> None:
    assert _kinds(*START, WAIT.format(1), OWN, DEAD) == {"engine_dead", "unclassified_error"}
    broken = "(Worker_TP3 pid=7) ERROR 03-18 14:05:19 [multiproc_executor.py:1007] torch.AcceleratorError: CUDA error: an illegal memory access was encountered"
    assert _kinds(*START, WAIT.format(1), broken, DEAD) == {"engine_dead", "gpu_program_error"}


@pytest.mark.parametrize("end", ["asyncio.exceptions.TimeoutError", "RuntimeError: cancelled"])
def test_giving_up_the_wait_is_no_error_of_the_workers(end: str) -> None:
    assert "rpc_timeout" in _kinds(
        WAIT.format(1), WAIT.format(2), f"ERROR 03-18 14:46:40 [core.py:341] {end}", DEAD
    )


def test_a_start_that_takes_minutes_does_not_hang() -> None:
    waits = [WAIT.format(minute) for minute in range(1, 40)]
    assert "rpc_timeout" not in _kinds(*START, *waits[:13])
    assert "rpc_timeout" in _kinds(*START, *waits)
    before_loading = [START[0], "INFO 03-18 14:00:10 [pynccl.py:103] vLLM is using nccl==2.27.3"]
    assert "rpc_timeout" in _kinds(*before_loading, *waits[:3])
    assert "rpc_timeout" in _kinds(*waits[:3])


def test_nccl_warns_of_much_that_is_not_the_end() -> None:
    warns = "node-1:212:212 [0] graph/search.cc:1127 NCCL WARN Could not find a path for pattern 4, falling back to simple order"
    assert _kinds(warns, OWN, DEAD) == {"engine_dead", "unclassified_error"}
    failed = (
        "RuntimeError: NCCL error: unhandled system error (run with NCCL_DEBUG=INFO for details)"
    )
    assert _kinds(warns, failed) == {"collective_timeout"}


def test_a_callers_mistake_and_the_code_that_tells_it_are_no_broken_collective() -> None:
    code = '[rank0]:     raise RuntimeError(f"NCCL error: {error_str}")'
    assert _kinds(
        code,
        "[rank0]: RuntimeError: NCCL error: invalid usage (run with NCCL_DEBUG=WARN for details)",
    ) == {"unclassified_error"}
    assert _kinds(code) == set()


def test_the_heading_of_a_refusal_is_neither_the_reason_nor_a_second_one() -> None:
    heading = "(APIServer pid=1) pydantic_core._pydantic_core.ValidationError: 1 validation error for VllmConfig"
    reason = "(APIServer pid=1)   Value error, fp8_e5m2 kv-cache is not supported with fp8 checkpoints. [type=value_error, input_value=Args((), {'mod"
    refused = digest([*START, heading, reason], source="x").event("invalid_config")
    assert refused is not None
    assert refused.count == 1
    assert refused.quote == "Value error, fp8_e5m2 kv-cache is not supported with fp8 checkpoints."
    alone = digest([*START, heading], source="x").event("invalid_config")
    assert alone is not None
    assert alone.quote.endswith("for VllmConfig")


def test_headings_and_reasons_of_two_processes_are_two_refusals() -> None:
    heading = "(APIServer pid={}) pydantic_core._pydantic_core.ValidationError: 1 validation error for VllmConfig"
    reason = (
        "(APIServer pid={})   Value error, fp8_e5m2 kv-cache is not supported with fp8 checkpoints."
    )
    each = [line.format(pid) for pid in (1, 2) for line in (heading, reason)]
    for lines in (each, [each[0], each[2], each[1], each[3]]):
        refused = digest([*START, *lines], source="x").event("invalid_config")
        assert refused is not None
        assert refused.count == 2
        assert refused.quote.startswith("Value error")


GCC = "subprocess.CalledProcessError: Command '['/usr/bin/gcc', '/tmp/a.c', '-lcuda']' returned non-zero exit status 1."
NINJA = "subprocess.CalledProcessError: Command '['ninja', '-v', '-j', '64']' returned non-zero exit status 1."
STOPPED = "ninja: build stopped: subcommand failed."


@pytest.mark.parametrize(
    ("said", "kind"),
    [
        ("/usr/bin/ld: final link failed: No space left on device", "storage_refused"),
        ("/tmp/ccXo1.s: Disk quota exceeded", "storage_refused"),
        ("nvcc error   : 'cicc' died due to signal 9 (Kill signal)", "host_oom"),
        ("g++: fatal error: Killed signal terminated program cc1plus", "host_oom"),
        ("collect2: fatal error: ld terminated with signal 9 [Killed]", "host_oom"),
        ("clang: error: unable to execute command: Killed", "host_oom"),
        ("cc1plus: out of memory allocating 65536 bytes after a total of 1 bytes", "host_oom"),
        ("ptxas fatal   : Memory allocation failure", "host_oom"),
    ],
)
def test_a_compiler_that_ran_out_of_disk_or_memory_is_there(said: str, kind: str) -> None:
    assert _kinds(*START, said, GCC, DEAD) == {kind, "engine_dead"}
    assert _kinds(*START, GCC, said, DEAD) == {kind, "engine_dead"}
    assert _kinds(*START, said, STOPPED, NINJA, DEAD) == {kind, "engine_dead"}


def test_the_exit_status_of_a_compiler_counts_where_nothing_says_more() -> None:
    assert _kinds(*START, GCC, DEAD) == {"broken_install", "engine_dead"}
    assert _kinds(*START, STOPPED, NINJA, DEAD) == {"unclassified_error", "engine_dead"}
    assert _kinds(*START, GCC.replace("1.", "137."), DEAD) == {"host_oom", "engine_dead"}


@pytest.mark.parametrize(
    "said",
    [
        "/tmp/tmpx/a.c:1:10: fatal error: Python.h: No such file or directory",
        "/usr/bin/ld: cannot find -lcuda: No such file or directory",
        "nvcc fatal   : Unsupported gpu architecture 'compute_120a'",
        "ptxas fatal   : Value 'sm_121a' is not defined for option 'gpu-name'",
        "NVMLError: Driver/library version mismatch",
        "RuntimeError: The NVIDIA driver on your system is too old (found version 11080).",
    ],
)
@pytest.mark.parametrize(
    "after",
    [GCC, "RuntimeError: Failed to infer device type", "RuntimeError: No CUDA GPUs are available"],
)
def test_why_there_is_no_card_or_no_kernel_is_told_before_that_there_is_none(
    said: str, after: str
) -> None:
    broken = digest([*START, said, after, DEAD], source="x").event("broken_install")
    assert broken is not None
    assert (broken.quote, broken.count) == (said, 1)
