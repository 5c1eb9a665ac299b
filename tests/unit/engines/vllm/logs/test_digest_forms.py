"""The same log in every wrapping says the same, and no bytes make the reader fail."""

# ruff: noqa: E501 (log lines as they are printed)

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from barostat.core.signal import Signal
from barostat.engines.vllm.logs.digest import LogDigest, digest
from barostat.engines.vllm.logs.lives import STATS_KEPT

AT = 1_795_000_000.0

START = [
    "(APIServer pid=1) INFO 11-20 08:00:00 [utils.py:233] vLLM API server version 0.14.0",
    "(APIServer pid=1) INFO 11-20 08:00:00 [utils.py:233] non-default args: {'model': 'm', 'max_num_seqs': 64}",
    "(EngineCore_DP0 pid=9) INFO 11-20 08:00:09 [core.py:96] Initializing a V1 LLM engine (v0.14.0) with config: model='m', max_seq_len=8192",
    "(EngineCore_DP0 pid=9) INFO 11-20 08:00:40 [kv_cache_utils.py:1305] GPU KV cache size: 10,000 tokens",
]
READY = ["(APIServer pid=1) INFO:     Application startup complete."]
OOM = [
    '  File "w.py", line 1, in execute_model',
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 50.00 MiB.",
]
DEAD = [
    "(EngineCore_DP0 pid=9) ERROR 11-20 09:00:00 [core.py:1] EngineCore encountered a fatal error."
]


def stats(
    at: str,
    *,
    running: int = 5,
    waiting: int = 0,
    usage: float = 50.0,
    generation: float = 100.0,
    engine: str = "000",
    more: str = "",
) -> str:
    return (
        f"(APIServer pid=1) INFO 11-20 {at} [loggers.py:257] Engine {engine}: Avg prompt throughput: 10.0 tokens/s, Avg generation throughput: "
        f"{generation} tokens/s, Running: {running} reqs, Waiting: {waiting} reqs{more}, GPU KV cache usage: {usage}%, Prefix cache hit rate: 20.0%"
    )


def named(found: dict[str, list[Signal]], engine: str, name: str) -> Signal:
    return next(made for made in found[engine] if made.name == name)


def kinds(found: LogDigest) -> set[str]:
    return {event.kind for event in found.events}


# --- forms

PLAIN = [
    *START,
    *READY,
    stats("08:10:00", waiting=3),
    *OOM,
    "(EngineCore_DP0 pid=9) ERROR 11-20 09:00:00 [core.py:1] EngineCore encountered a fatal error.",
]


def _essence(found: LogDigest) -> object:
    return (
        {event.kind: event.count for event in found.events},
        {name: value.value for name, value in found.settings.items()},
        [(line.engine, line.running, line.waiting, line.usage_ratio) for line in found.stats],
        found.lives,
    )


def _coloured(line: str) -> str:
    return (
        line.replace("(APIServer pid=1)", "\x1b[0;36m(APIServer pid=1)\x1b[0;0m").replace(
            "(EngineCore_DP0 pid=9)", "\x1b[0;36m(EngineCore_DP0 pid=9)\x1b[0;0m"
        )
        + "\x1b[0m"
    )


def _escapeless(line: str, escape: str = "") -> str:
    return _coloured(line).replace("\x1b", escape)


FORMS: dict[str, Callable[[str], str]] = {
    "ansi": _coloured,
    "ansi, its escapes lost in quoting": _escapeless,
    "ansi, its escapes written out": lambda line: _escapeless(line, "#033"),
    "bars of an exception group": lambda line: f"  | {line}",
    "loki json": lambda line: json.dumps({"line": line, "timestamp": "2026-11-20T08:00:00Z"}),
    "cri": lambda line: f"2026-11-20T08:00:00.000000001Z stdout F {line}",
    "kubectl --timestamps": lambda line: f"2026-11-20T08:00:00.1Z {line}",
    "kubectl --prefix": lambda line: f"[pod/vllm-0/vllm] {line}",
    "kubectl --prefix --timestamps": lambda line: f"[pod/vllm-0/vllm] 2026-11-20T08:00:00.1Z {line}",
    "docker json-file": lambda line: json.dumps({"log": line + "\n", "stream": "stderr", "time": "2026-11-20T08:00:00.1Z"}),
    "compose": lambda line: f"vllm-1  | {line}",
    "json formatter": lambda line: json.dumps({"asctime": "11-20 08:00:00", "levelname": "", "name": "vllm", "message": line}),
    "generic json": lambda line: json.dumps({"timestamp": "2026-11-20T08:00:00Z", "msg": line}),
    "cloud prefix": lambda line: f"INFO 2026-11-20T08:00:00.096625454Z [resource.labels.containerName: vllm] {line}",
    "journald": lambda line: f"Nov 20 08:00:00 node-1 vllm[8707]: {line}",
    "journald short-iso": lambda line: f"2026-11-20T08:00:00+0000 node-1 vllm[8707]: {line}",
    "passed on by a program's log": lambda line: f"2026-11-20 08:00:00,594 - INFO - [container] {line}",
    "crlf": lambda line: line + "\r\n",
    "nul": lambda line: "\0" + line,
}  # fmt: skip


@pytest.mark.parametrize("form", [form for form in FORMS if form != "cloud prefix"])
def test_every_form_of_a_log_says_the_same(form: str) -> None:
    assert _essence(digest([FORMS[form](line) for line in PLAIN], source="x")) == _essence(
        digest(PLAIN, source="x")
    )


def test_a_cloud_viewers_prefix_hides_no_vllm_line() -> None:
    found = digest([FORMS["cloud prefix"](line) for line in PLAIN], source="x")
    assert found.settings["max_model_len"].value == 8192
    assert len(found.stats) == 1


def test_a_json_record_of_vllms_own_formatter_is_read() -> None:
    record = {
        "asctime": "11-20 08:00:00",
        "levelname": "INFO",
        "name": "vllm.v1",
        "processName": "EngineCore_DP1",
        "process": 9,
        "message": "GPU KV cache size: 1,000 tokens",
    }
    assert digest([json.dumps(record)], source="x").pools == {"1": 1000}


def test_a_traceback_inside_a_json_record_is_read_line_by_line() -> None:
    record = {
        "levelname": "ERROR",
        "message": "failed",
        "exc_info": 'Traceback (most recent call last):\n  File "w.py", line 1, in load_model\ntorch.OutOfMemoryError: CUDA out of memory.',
    }
    assert kinds(digest([json.dumps(record)], source="x")) == {"gpu_oom_startup"}


def test_ray_and_old_worker_prefixes_are_undone() -> None:
    lines = [
        "(RayWorkerWrapper pid=5280, ip=10.0.0.2) ERROR 04-28 15:55:45 worker_base.py:157] ValueError: No available memory for the cache blocks.",
        "(VllmWorker rank=1 pid=103080) INFO 05-28 17:47:14 [w.py:1] Available KV cache memory: 3.50 GiB",
    ]
    found = digest(lines, source="x")
    assert kinds(found) == {"no_cache_blocks"}
    assert found.settings["available_kv_cache_memory_gib"].value == 3.5


DIED_AT_WORK = [
    "INFO:     Application startup complete.",
    'INFO:     10.0.0.4:11149 - "POST /v1/chat/completions HTTP/1.1" 200 OK',
    stats("08:10:00", waiting=3),
    "(EngineCore_DP0 pid=9) ERROR 11-20 08:11:00 [core.py:398] EngineCore encountered a fatal error.",
    '(EngineCore_DP0 pid=9) ERROR 11-20 08:11:00 [core.py:398]   File "gpu_model_runner.py", line 1, in execute_model',
    "(EngineCore_DP0 pid=9) ERROR 11-20 08:11:00 [core.py:398] torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.20 GiB.",
]


@pytest.mark.parametrize("between", [" ", ""])
def test_records_whose_line_ends_were_lost_are_read_one_by_one(between: str) -> None:
    found = digest([between.join(DIED_AT_WORK[1:])], source="x")
    assert (
        kinds(found)
        == kinds(digest(DIED_AT_WORK[1:], source="x"))
        == {"engine_dead", "gpu_oom_serving"}
    )
    assert [(line.running, line.waiting) for line in found.stats] == [(5, 3)]


def test_a_prompt_that_quotes_a_log_is_no_log() -> None:
    quoted = " ".join(DIED_AT_WORK[2:])
    asked = f"INFO 11-20 08:10:00 [logger.py:39] Received request chatcmpl-1: prompt: 'why: {quoted}', params: SamplingParams(n=1)"
    assert kinds(digest([*START, *READY, asked], source="x")) == {"ready"}


def test_records_inside_a_json_record_stay_its_own() -> None:
    record = {"log": "\n".join(DIED_AT_WORK[2:])}
    assert kinds(digest([json.dumps(record)], source="x")) == {"engine_dead", "gpu_oom_serving"}


def test_what_was_indented_when_it_was_pasted_is_read() -> None:
    late = "[Rank 0] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=2) ran for 600059 milliseconds before timing out."
    assert kinds(digest([f"      [rank0]:[E ProcessGroupNCCL.cpp:563] {late}"], source="x")) == {
        "collective_timeout"
    }
    assert kinds(digest([f"   (VllmWorker rank=1 pid=7) {late}"], source="x")) == {
        "collective_timeout"
    }
    assert kinds(digest([f"        f'{late}'"], source="x")) == set()


@given(st.binary(max_size=3000))
@settings(max_examples=100)
def test_any_bytes_are_read_without_an_error(blob: bytes) -> None:
    lines = blob.decode("utf-8", errors="replace").split("\n")
    found = digest(lines, source="x")
    assert found.lines == len(lines)
    found.signals(AT)
    found.signals(AT, previous=True)


_WORDS = st.sampled_from(
    [
        *PLAIN,
        "{",
        '{"message": ',
        "\x1b[",
        "[pod/",
        "2026-11-20T",
        "INFO 99-99 99:99:99 ",
        "non-default args: {'a':",
        "Throughput: . tokens/s, Running: 1 reqs, Pending: 1 reqs",
        "with config: =,=",
        "\0",
        "\ufffd",
    ]
)


@given(st.lists(st.lists(_WORDS, max_size=4).map("".join), max_size=30))
@settings(max_examples=100)
def test_torn_and_mixed_lines_are_read_without_an_error(lines: list[str]) -> None:
    found = digest(lines, source="x")
    for made in found.signals(AT).values():
        assert all(point.at <= AT + 1 or found.dated for signal in made for point in signal.points)


def test_problems_of_the_log_itself_are_told() -> None:
    found = digest(["x" * 40_000, "\0\0error", stats("10:00:00"), stats("08:00:00")], source="x")
    assert any("longer than" in problem for problem in found.problems)
    assert any("binary" in problem for problem in found.problems)
    assert any("went back" in problem for problem in found.problems)
    assert found.bytes > 40_000


def test_memory_is_bounded() -> None:
    found = digest((stats("09:00:00") for _ in range(STATS_KEPT + 100)), source="x")
    assert len(found.stats) == STATS_KEPT


NGINX = '10.0.0.1 - - [26/Nov/2026:10:00:00 +0000] "GET /healthz HTTP/1.1" 200 612 "-" "curl/8"'


@pytest.mark.parametrize(
    "line",
    [NGINX, "2026-11-26T10:00:00Z [notice] 1#1: start worker process 30", "what I had for lunch"],
)
def test_the_log_of_something_else_says_nothing_of_an_engine_and_that_is_said(line: str) -> None:
    found = digest([line] * 3, source="x")
    assert found.signals(0.0) == {}
    assert [one for one in found.problems if one.startswith("no line of the log is vLLM's")]


@pytest.mark.parametrize(
    "line",
    [
        'INFO:     10.0.0.1:5000 - "POST /v1/completions HTTP/1.1" 200 OK',
        '{"level": "info", "message": "all is well"}',
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.",
        "GPU KV cache size: 1,024 tokens",
    ],
)
def test_a_log_of_which_one_line_could_be_vllms_is_taken_for_its(line: str) -> None:
    found = digest([NGINX, line], source="x")
    assert found.signals(0.0)
    assert found.problems == ()
