"""Logs without prompts and access logs without people, and still as telling as before."""

from __future__ import annotations

import json
import time
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.machine_pace import slower

from barostat.engines.vllm.logs import digest as vllm_logs
from barostat.io.redaction.text import access_lines, log_lines

PROMPT = "my aunt Mathilda has a rash"
P = "(APIServer pid=12) INFO 11-20 10:00:00 [logger.py:40] "

QUOTING = [
    P
    + (
        "Received request cmpl-1: prompt: {r}, params: SamplingParams(n=1, stop=[{r}], "
        "max_tokens=16), prompt_token_ids: [1]."
    ),
    P
    + (
        "Received request chatcmpl-9-0: prompt: {d}, params: SamplingParams(n=2, "
        "max_tokens=None), prompt_token_ids: None."
    ),
    P + "Generated response cmpl-1: output: {r}, output_token_ids: [5, 6], finish_reason: stop",
    (
        "INFO 11-20 10:00:00 logger.py:37] Received request cmpl-1: prompt: {r}, params: "
        "SamplingParams(n=1), lora_request: None."
    ),
    (
        '{{"level": "INFO", "message": "Received request cmpl-1: prompt: {r}, params: '
        'SamplingParams(n=1)"}}'
    ),
    "  Input should be a valid string [type=string_type, input_value={r}, input_type=str]",
    (
        "  Input should be a valid list [type=list_type, input_value={{'content': {r}}}, "
        "input_type=dict]"
    ),
    (
        "fastapi.exceptions.RequestValidationError: [{{'type': 'missing', 'loc': ('body', "
        "'model'), 'input': {{'prompt': {r}}}}}]"
    ),
    "ValueError: could not render messages=[{{'role': 'user', 'content': {r}}}]",
    "openai.BadRequestError: body: {d}",
    (
        'ERROR 11-20 10:00:00 [x.py:1] failed for request {{"messages": [{{"role": "user", '
        '"content": {d}}}]}}'
    ),
    "NewRequestData(req_id=0,prompt_token_ids=[77123, 99871], text={r})",
    "jinja2.exceptions.TemplateError: cannot apply the template: {r}",
    "ERROR 11-20 10:00:00 [hermes_tool_parser.py:1] Error in parsing tool call: {r}",
    P + "Received request cmpl-3: prompt: {r}, sampling_params: None",
    "INFO handler.py conversation: [{{'from': 'human', 'value': {r}}}]",
    '{{"conversations": [{{"from": "human", "value": {d}}}]}}',
    "INFO handler.py <|im_start|>user {r}<|im_end|>",
    "INFO handler.py <|begin_of_text|><|start_header_id|>user<|end_header_id|> {r}<|eot_id|>",
    "INFO handler.py [INST] {r} [/INST]",
    "INFO handler.py <start_of_turn>user {r}<end_of_turn>",
    "ValueError: Prompt {r} is too long",
    "INFO handler.py Generated text: my aunt Mathilda has a rash",
    "INFO handler.py prompt: \u201cmy aunt Mathilda has a rash\u201d",
    "INFO handler.py prompt=u{r}",
    'INFO {{\\"prompt\\": \\"my aunt Mathilda has a rash\\"}}',
    '{{"log": "INFO {{\\"content\\": \\"my aunt Mathilda has a rash\\"}}"}}',
    "INFO structured_outputs=StructuredOutputsParams(json={{'title': {r}}})",
    "INFO guided_decoding=GuidedDecodingParams(choice=[{r}])",
    "ERROR grammar: Failed to compile regex {r}",
    "INFO tools=[{{'function': {{'description': {r}}}}}], bad_words=[{r}]",
    "WARNING protocol.py The following fields were present in the request but ignored: {{{r}}}",
    "ERROR mistral_tool_parser.py Error in extracting tool call from response: [{{'name': {r}}}]",
    (
        "INFO prompt_token_ids=(77123, 99871), new_token_ids=[77123], input_ids=[77123], "
        "token_ids=tensor([77123])"
    ),
    "NewRequestData(req_id=1,mm_inputs=[{{'image': {r}}}])",
]


@pytest.mark.parametrize("line", QUOTING)
def test_no_line_quotes_a_prompt(line: str) -> None:
    written = line.format(r=repr(PROMPT), d=json.dumps(PROMPT))
    assert "Mathilda" in written or "77123" in written
    (cleaned,) = log_lines([written])
    for word in ("Mathilda", "rash", "77123"):
        assert word not in cleaned


@settings(max_examples=100)
@given(
    st.sampled_from(QUOTING[:5] + QUOTING[8:11]), st.text(st.characters(codec="utf-8"), max_size=30)
)
def test_whatever_the_prompt_is_it_does_not_come_through(line: str, said: str) -> None:
    prompt = f"{said} Mathilda {said}"
    cleaned = " ".join(log_lines(line.format(r=repr(prompt), d=json.dumps(prompt)).split("\n")))
    assert "Mathilda" not in cleaned


def test_a_prompt_over_several_lines_goes_as_a_whole_and_the_next_record_stays() -> None:
    lines = [
        P + "Received request cmpl-1: prompt: 'first line",
        "second Mathilda line",
        "third'",
        P + "Finished loading",
    ]
    assert list(log_lines(lines)) == [
        P + "Received request cmpl-1: [redacted]",
        P + "Finished loading",
    ]


def test_the_numbers_of_a_request_stay() -> None:
    (cleaned,) = log_lines(
        [
            P
            + (
                "Received request cmpl-1: prompt: 'x', params: SamplingParams(n=2, "
                "temperature=0.1, max_tokens=16), lora: None."
            )
        ]
    )
    assert (
        cleaned
        == P + "Received request cmpl-1: [redacted], params: SamplingParams(n=2, max_tokens=16)"
    )


def test_callers_and_queries_of_the_server_s_own_access_lines_go() -> None:
    line = (
        '(APIServer pid=1) INFO:     10.1.2.3:50912 - "POST /v1/completions?user=mathilda '
        'HTTP/1.1" 200 OK'
    )
    assert list(log_lines([line])) == [
        '(APIServer pid=1) INFO:     0.0.0.0:0 - "POST /v1/completions HTTP/1.1" 200 OK'
    ]


STATS = (
    "Avg prompt throughput: 80.1 tokens/s, Avg generation throughput: 160.0 tokens/s, "
    "Running: 4 reqs, Waiting: 0 reqs, "
    "GPU KV cache usage: 9.1%, Prefix cache hit rate: 0.0%"
)
TOO_LONG = (
    "To serve at least one request with the models's max seq len (4096), (1.00 GiB KV "
    "cache is needed, which is larger than the "
    "available KV cache memory (0.50 GiB). Based on the available memory, the estimated "
    "maximum model length is 2048."
)
ORDINARY = [
    "INFO 11-20 10:00:00 [__init__.py:216] Automatically detected platform cuda.",
    "(APIServer pid=7) INFO 11-20 10:00:01 [api_server.py:1896] vLLM API server version 0.11.0",
    (
        "(APIServer pid=7) INFO 11-20 10:00:01 [utils.py:233] non-default args: {'model': 'm', "
        "'max_num_seqs': 64, 'max_model_len': 4096}"
    ),
    (
        "(APIServer pid=7) INFO 11-20 10:00:02 [scheduler.py:205] Chunked prefill is enabled "
        "with max_num_batched_tokens=2048."
    ),
    (
        "(EngineCore_DP0 pid=9) INFO 11-20 10:00:30 [gpu_worker.py:298] Available KV cache "
        "memory: 11.50 GiB"
    ),
    (
        "(EngineCore_DP0 pid=9) INFO 11-20 10:00:30 [kv_cache_utils.py:1087] GPU KV cache "
        "size: 94,208 tokens"
    ),
    (
        "(EngineCore_DP0 pid=9) INFO 11-20 10:00:30 [kv_cache_utils.py:1091] Maximum "
        "concurrency for 4,096 tokens per request: 23.00x"
    ),
    (
        "(EngineCore_DP0 pid=9) INFO 11-20 10:00:40 [gpu_model_runner.py:3480] Graph capturing "
        "finished in 9 secs, took 0.61 GiB"
    ),
    "(APIServer pid=7) INFO:     Application startup complete.",
    "(APIServer pid=7) INFO 11-20 10:01:00 [loggers.py:127] Engine 000: " + STATS,
    (
        '(APIServer pid=7) INFO:     127.0.0.1:50912 - "POST /v1/completions HTTP/1.1" 503 '
        "Service Unavailable"
    ),
    (
        "(EngineCore_DP0 pid=9) ERROR 11-20 10:02:00 [core.py:710] EngineCore encountered a "
        "fatal error."
    ),
    "Traceback (most recent call last):",
    '  File "/x/core.py", line 1, in run_engine_core',
    (
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a "
        "total capacity of 79.10 GiB"
    ),
    "ValueError: " + TOO_LONG,
    "vllm: error: unrecognized arguments: --swap-space 4",
]


@pytest.mark.parametrize("line", [line for line in ORDINARY if "127.0.0.1" not in line])
def test_ordinary_lines_stay_as_they_are(line: str) -> None:
    assert list(log_lines([line])) == [line]


def test_a_redacted_log_says_the_same_about_the_engine() -> None:
    whole = vllm_logs.digest(ORDINARY, source="log")
    redacted = vllm_logs.digest(log_lines(ORDINARY), source="log")
    assert replace(redacted, bytes=0) == replace(whole, bytes=0)
    assert whole.lines == len(ORDINARY)


WHEN = "[20/Nov/2026:10:00:00 +0000]"
PERSONAL = [
    (
        f'203.0.113.9 - mathilda {WHEN} "POST /v1/chat?user=mathilda HTTP/1.1" 200 512 '
        '"https://mathilda.example/?q=rash" "Mathilda/1"'
    ),
    (
        f'2001:db8::7 - - {WHEN} "GET /u HTTP/2" 499 0 "-" "Mathilda/1" 120 30.1 '
        "[ns-vllm-8000] [] 10.0.0.8:8000 0 30.1 504 abc"
    ),
    (
        '{"remote_addr": "203.0.113.9", "remote_user": "mathilda", "request": "POST '
        '/v1?x=mathilda HTTP/1.1", "status": 200}'
    ),
    (
        '{"client_ip": "2001:db8::7", "path": "/v1/x?prompt=mathilda", "headers": '
        '{"authorization": "Bearer mathilda-123"}}'
    ),
    (
        '{"authority": "h", "x_forwarded_for": "203.0.113.9, 203.0.113.9", "request_body": '
        '"{\\"prompt\\": \\"mathilda\\"}"}'
    ),
    "time=2026-11-20T10:00:00Z client=203.0.113.9 uri=/v1/x?user=mathilda status=200 duration=1.5",
    '{"broken json 203.0.113.9',
]


@pytest.mark.parametrize("line", PERSONAL)
def test_an_access_line_tells_nobody(line: str) -> None:
    (cleaned,) = access_lines([line])
    for word in ("mathilda", "Mathilda", "203.0.113.9", "2001:db8::7", "rash"):
        assert word not in cleaned


def test_an_access_line_keeps_what_a_diagnosis_needs() -> None:
    combined = (
        '203.0.113.9 - bob [20/Nov/2026:10:00:00 +0000] "POST /v1/chat/completions?u=1 '
        'HTTP/1.1" 504 167 "-" "curl/8" rt=60.001 urt=59.9'
    )
    assert list(access_lines([combined])) == [
        (
            '0.0.0.0 - - [20/Nov/2026:10:00:00 +0000] "POST /v1/chat/completions HTTP/1.1" 504 '
            '167 "-" "-" rt=60.001 urt=59.9'
        )
    ]
    form = {
        "ts": "2026-11-20T10:00:00.5Z",
        "status": 504,
        "request_time": 60.0,
        "upstream_response_time": "59.9",
        "path": "/v1/x?y=1",
    }
    (cleaned,) = access_lines([json.dumps(form)])
    assert json.loads(cleaned) == {**form, "path": "/v1/x"}


def test_bare_lines_after_a_request_are_taken_for_its_prompt() -> None:
    lines = [
        (
            "INFO 11-20 10:00:00 [logger.py:1] Received request cmpl-1: prompt: 'Dear doctor', "
            "params: SamplingParams(n=1)"
        ),
        "a further line of the prompt with a name in it",
        "INFO 11-20 10:00:01 [loggers.py:1] Engine 000: Avg prompt throughput: 1.0 tokens/s",
        "Traceback (most recent call last):",
        '  File "x.py", line 1, in f',
    ]
    kept = list(log_lines(lines))
    assert "further line" not in "\n".join(kept)
    assert kept[1:] == lines[2:]


@pytest.mark.parametrize(
    "stamp",
    ["", "2026-01-01T00:00:00Z ", "(APIServer pid=1) ", "INFO 11-20 10:00:00 [x.py:1] "],
    ids=["bare", "kubectl", "process", "logger"],
)
def test_a_key_in_lines_goes_whatever_stands_before_them(stamp: str) -> None:
    body = ["q7Zk9XwV3bN8tR2m" * 4, "aB3dE5fG7hJ9kL1m" * 2 + "=="]
    lines = [
        "-----BEGIN PGP PRIVATE KEY BLOCK-----",
        *body,
        "-----END PGP PRIVATE KEY BLOCK-----",
        "on it goes",
    ]
    kept = "\n".join(log_lines(stamp + line for line in lines))
    assert not [line for line in body if line in kept]
    assert "on it goes" in kept


@pytest.mark.parametrize(
    "opening",
    [
        "password: |",
        "password: >-",
        "api_key:",
        "--api-key",
        "- name: VLLM_API_KEY",
        '"name": "HF_TOKEN",',
        "secrets:",
    ],
)
def test_a_secret_on_the_line_after_its_name_goes(opening: str) -> None:
    kept = list(log_lines(["Args:", opening, "  value: q7Zk9XwV3bN8", "INFO 11-20 10:00:00 next"]))
    assert kept == ["Args:", opening, "[redacted]", "INFO 11-20 10:00:00 next"]


@pytest.mark.parametrize("quotes", ["'''", '"""'])
def test_a_prompt_in_three_quotes_goes_to_the_next_record(quotes: str) -> None:
    lines = [
        f"{P}prompt: {quotes}",
        "my aunt Mathilda has a rash",
        f"{quotes}, n=1",
        P + "Finished loading",
    ]
    assert list(log_lines(lines)) == [f"{P}prompt: [redacted]", P + "Finished loading"]


@pytest.mark.parametrize(
    "piece",
    [
        "prompt=",
        "tools=[",
        '\\\\"prompt',
        "tool call ",
        "<|",
        "token_ids=(",
        "a_token_ids",
        "[INST",
        "prompt 'a",
    ],
)
def test_what_a_log_repeats_is_gone_through_once(piece: str) -> None:
    began = time.process_time()
    list(log_lines(["INFO prompt='" + piece * (100_000 // len(piece))]))
    assert time.process_time() - began < 2.0 * slower()
