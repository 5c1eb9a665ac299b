"""What speaks to vLLM speaks to the twin, unchanged: OpenAI's client, vLLM's own benchmark, a real
Prometheus; and both look the same.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from dev.engine import ENVIRONMENT, Engine, environment_with
from dev.free_port import free_port
from dev.setup_prometheus import PROGRAM, is_installed
from dev.twin_engine import TwinEngine
from prometheus_client.parser import text_string_to_metric_families
from tests.integration.conftest import POOLING

FLAGS = ("--max-model-len", "4096", "--num-gpu-blocks-override", "64", "--max-num-seqs", "64")
FEW = [*range(5, 25)]
"""Prompts of one and of three tokens end vLLM 0.32.0's CPU engine on some processors."""
LONG = "Tell me a long story about the sea and the ships"
# Labels whose values are the same at every engine; of the others only the names are.
VALUES_MATTER = {
    "le",
    "reason",
    "source",
    "finished_reason",
    "sleep_state",
    "generation",
    "status",
    "handler",
    "method",
    "engine",
    "model_name",
}

OPENAI_CLIENT = """
import json, sys, openai
client = openai.OpenAI(base_url=sys.argv[1] + "/v1", api_key="none")
ask = [{"role": "user", "content": "Say something"}]
whole = client.chat.completions.create(model="tiny", messages=ask, max_tokens=12)
usage = {"include_usage": True}
pieces = list(client.chat.completions.create(model="tiny", messages=ask, max_tokens=12, stream=True, stream_options=usage))
text = client.completions.create(model="tiny", prompt="Once", max_tokens=7, n=2)
try:
    client.chat.completions.create(model="other", messages=ask)
    missing = "answered"
except openai.NotFoundError as error:
    missing = error.body["type"]
try:
    client.completions.create(model="tiny", prompt=[5] * 5000, max_tokens=1)
    long = "answered"
except openai.BadRequestError as error:
    long = error.body["param"]
print(json.dumps({
    "models": [(one.id, one.max_model_len) for one in client.models.list()],
    "finish": whole.choices[0].finish_reason, "tokens": whole.usage.completion_tokens, "role": whole.choices[0].message.role,
    "streamed": pieces[-1].usage.completion_tokens,
    "same": "".join(piece.choices[0].delta.content or "" for piece in pieces if piece.choices) == whole.choices[0].message.content,
    "choices": len(text.choices), "text_tokens": text.usage.completion_tokens, "missing": missing, "long": long,
}))
"""


@pytest.fixture(scope="module")
def twin() -> Iterator[TwinEngine]:
    with TwinEngine(*FLAGS) as engine:
        yield engine.wait_ready(within_s=30)


@pytest.fixture
def real(engine_factory: Callable[..., Engine]) -> Engine:
    return engine_factory(*FLAGS)


def series(url: str) -> set[tuple[str, str, tuple[tuple[str, str], ...]]]:
    """Every series: name, type, labels, with the values that an engine's configuration does not
    decide.
    """
    found = set()
    for family in text_string_to_metric_families(httpx.get(url + "/metrics").text):
        for sample in family.samples:
            labels = tuple(
                sorted(
                    (name, value if name in VALUES_MATTER else "")
                    for name, value in sample.labels.items()
                )
            )
            found.add((sample.name, family.type, labels))
    return found


def bodies() -> list[tuple[str, str, Any]]:
    """Requests of every kind: method, path, JSON or bytes."""
    messages = [{"role": "user", "content": "Hi there"}]
    text, chat = "/v1/completions", "/v1/chat/completions"
    known = {"model": "tiny", "max_tokens": 2, "ignore_eos": True}
    return [
        ("GET", "/health", None), ("GET", "/version", None), ("GET", "/load", None), ("POST", "/ping", None), ("GET", "/v1/models", None),
        ("GET", "/nothing", None), ("POST", "/health", None), ("GET", text, None), ("GET", "/kv_event_sources", None),
        ("POST", text, {**known, "prompt": FEW}), ("POST", text, {**known, "prompt": [FEW, FEW[:16]], "n": 2}),
        ("POST", text, {**known, "prompt": FEW, "stream": True}),
        ("POST", text, {**known, "prompt": FEW, "stream": True, "stream_options": {"include_usage": True}}),
        ("POST", text, {**known, "prompt": FEW, "stream": True, "stream_options": {"include_usage": True, "continuous_usage_stats": True}}),
        ("POST", text, {**known, "prompt": FEW, "return_token_ids": True}), ("POST", text, {"model": "other", "prompt": "x"}),
        ("POST", text, {"model": "tiny"}), ("POST", text, {"model": "tiny", "prompt": ""}), ("POST", text, {"model": "tiny", "prompt": []}),
        ("POST", text, {**known, "prompt": "x", "max_tokens": 0}), ("POST", text, {**known, "prompt": "x", "max_tokens": -1}),
        ("POST", text, {**known, "prompt": "x", "max_tokens": "a"}), ("POST", text, {**known, "prompt": "x", "max_tokens": 99_999}),
        ("POST", text, {**known, "prompt": "x", "min_tokens": 9}), ("POST", text, {**known, "prompt": "x", "temperature": -1}),
        ("POST", text, {**known, "prompt": "x", "top_p": 3}), ("POST", text, {**known, "prompt": "x", "n": 0}),
        ("POST", text, {**known, "prompt": "x", "stream_options": {"include_usage": True}}),
        ("POST", text, {**known, "prompt": [1] * 5000}),
        ("POST", text, {**known, "prompt": [1] * 4096}), ("POST", text, {**known, "prompt": [1] * 4095}),
        ("POST", text, {**known, "prompt": "word " * 9000}), ("POST", text, {**known, "prompt": [5000]}),
        ("POST", text, b"{nonsense"), ("POST", text, b"[]"), ("POST", text, b""),
        ("POST", chat, {**known, "messages": [], "max_tokens": 2}), ("POST", chat, {"model": "tiny"}),
        ("POST", chat, {"model": "tiny", "messages": "x"}), ("POST", chat, {"model": "nope", "messages": messages}),
        ("POST", chat, {**known, "messages": messages}), ("POST", chat, {**known, "messages": messages, "stream": True}),
        ("POST", "/tokenize", {"model": "no", "prompt": "x"}), ("POST", "/detokenize", {"model": "tiny"}),
        ("POST", "/v1/embeddings", {"model": "tiny", "input": LONG}), ("POST", "/pooling", {"model": "tiny", "input": LONG}),
        *response_bodies(),
    ]  # fmt: skip


def response_bodies() -> list[tuple[str, str, Any]]:
    """Requests of every kind to /v1/responses."""
    path = "/v1/responses"
    known = {"model": "tiny", "max_output_tokens": 4, "ignore_eos": True}
    message = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": LONG}]}
    more: list[dict[str, Any]] = [
        {}, {"stream": True}, {"input": [{"role": "user", "content": LONG}]}, {"input": [message], "instructions": "Be brief"},
        {"model": "other"}, {"input": []}, {"max_output_tokens": 0}, {"max_output_tokens": -1}, {"max_output_tokens": "a"},
        {"max_output_tokens": 99_999}, {"input": "word " * 9000}, {"background": True},
        {"previous_response_id": "resp_1"}, {"temperature": -1}, {"stream": "x"}, {"tool_choice": "required"}, {"ignore_eos": "x"},
        {"user": "me", "metadata": {"a": "b"}, "request_id": "resp_mine", "top_p": 0.5, "temperature": 0.2}, {"store": True},
    ]  # fmt: skip
    found: list[tuple[str, str, Any]] = [
        ("POST", path, {**known, "input": LONG, **one}) for one in more
    ]
    return [
        *found, ("POST", path, {"model": "tiny"}), ("POST", path, b"{nonsense"), ("POST", path, b"[]"), ("POST", path, b""),
        ("GET", path, None), ("GET", f"{path}/resp_1", None), ("POST", f"{path}/resp_1/cancel", None),
    ]  # fmt: skip


def answered(url: str, method: str, path: str, body: Any) -> tuple[int, list[str], str]:
    """Status, header names and the body, without what differs between any two answers of one
    engine: ids, times, words, token counts.
    """
    content = (
        body if isinstance(body, bytes) else json.dumps(body).encode() if body is not None else None
    )
    headers = {"content-type": "application/json"} if content is not None else {}
    got = httpx.request(method, url + path, content=content, headers=headers, timeout=60)
    text = re.sub(
        r'"(id|created|created_at|text|content|root|prompt_tokens|total_tokens|input_tokens|item_id|delta'
        r'|sequence_number|cached_tokens|cache_write_tokens)":("(?:[^"\\]|\\.)*"|\d+)',
        r'"\1":_',
        got.text,
    )
    text = re.sub(r'"token_ids":\[[\d,]+\]', '"token_ids":[_]', text)
    text = re.sub(r"vllm-0\.32\.0-[0-9a-f]{8}", "vllm-0.32.0-_", text)
    return (
        got.status_code,
        sorted(name for name in got.headers if name != "transfer-encoding"),
        text,
    )


def test_every_series_of_the_real_engine_is_the_twins_and_the_other_way_round(
    real: Engine, twin: TwinEngine
) -> None:
    for engine in (real, twin):
        httpx.post(
            engine.url + "/v1/completions",
            json={"model": "tiny", "prompt": FEW, "max_tokens": 2},
            timeout=60,
        )
    ours, theirs = series(twin.url), series(real.url)
    assert len(theirs) > 400

    def only(these: set[Any], those: set[Any]) -> list[Any]:
        return sorted(
            one
            for one in these - those
            if not one[0].startswith("http_") or "/v1/completions" in str(one)
        )

    assert only(theirs, ours) == []
    assert only(ours, theirs) == []


def test_every_kind_of_request_is_answered_alike(real: Engine, twin: TwinEngine) -> None:
    for method, path, body in bodies():
        theirs, ours = (
            answered(real.url, method, path, body),
            answered(twin.url, method, path, body),
        )
        assert ours[0] == theirs[0], (method, path, body)
        assert ours[1] == theirs[1], (method, path, body)
        if "text/event-stream" not in str(theirs[2]) and not theirs[2].startswith(
            ("data:", "event:")
        ):
            assert ours[2] == theirs[2], (method, path, body)
        # how many tokens an event carries is a matter of timing, and where the last one carries all
        # there is no other: ask again
        else:
            for _ in range(5):
                if _kinds(ours[2]) == _kinds(theirs[2]):
                    break
                theirs, ours = (
                    answered(real.url, method, path, body),
                    answered(twin.url, method, path, body),
                )
            assert _kinds(ours[2]) == _kinds(theirs[2]), (method, path, body)


def _kinds(stream: str) -> list[str]:
    seen = [
        re.sub(r'"(completion|output)_tokens":\d+', r'"\1_tokens":_', event)
        for event in stream.split("\n\n")
    ]
    return list(dict.fromkeys(seen))


def embedding_bodies() -> list[tuple[str, str, Any]]:
    """Requests of every kind to an engine that embeds."""
    path, messages = "/v1/embeddings", [{"role": "user", "content": LONG}]
    more: list[dict[str, Any]] = [
        {"input": LONG}, {"input": LONG, "encoding_format": "base64"}, {"input": [LONG, LONG]}, {"input": FEW},
        {"input": [FEW, FEW[:16]]}, {"messages": messages}, {"model": "other", "input": LONG}, {"input": ""}, {"input": []},
        {"input": "word " * 9000}, {"input": [5] * 4097}, {"input": [99_999]}, {"input": LONG, "dimensions": 8},
        {"input": "word " * 900, "truncate_prompt_tokens": 16}, {"input": LONG, "truncate_prompt_tokens": 9999},
        {"input": LONG, "normalize": True}, {"input": LONG, "user": "me", "request_id": "mine"},
    ]  # fmt: skip
    found: list[tuple[str, str, Any]] = [("POST", path, {"model": "tiny", **one}) for one in more]
    pooling = [
        {"input": LONG},
        {"input": LONG, "task": "embed"},
        {"input": LONG, "task": "token_embed"},
    ]
    return [
        *found, *(("POST", "/pooling", {"model": "tiny", **one}) for one in pooling), ("POST", path, b"{nonsense"), ("POST", path, b""),
        ("GET", path, None), ("POST", "/classify", {"model": "tiny", "input": LONG}),
        *(("POST", f"/v1/{name}", {"model": "tiny"}) for name in ("completions", "chat/completions", "responses")),
    ]  # fmt: skip


def test_embeddings_are_answered_alike(pooling_engine: Engine) -> None:
    with TwinEngine(*POOLING) as twin:
        twin.wait_ready(within_s=30)
        for method, path, body in embedding_bodies():
            theirs, ours = (
                re.sub(r'"(embedding|data)":(\[[-\d.e,]+\]|"[^"]*")', r'"\1":_', str(found))
                for found in (
                    answered(pooling_engine.url, method, path, body),
                    answered(twin.url, method, path, body),
                )
            )
            assert ours == theirs, (method, path, body)
        counted = "vllm:(generation_tokens_total|request_params_max_tokens_count|inter_token)"
        for engine in (pooling_engine, twin):
            page = httpx.get(engine.url + "/metrics").text
            sums = [
                line for line in page.splitlines() if re.match(f"{counted}.*(total|count)", line)
            ]
            assert sums
            assert all(line.endswith(" 0.0") for line in sums)


def test_openais_client_speaks_to_it(real_vllm: bool, twin: TwinEngine) -> None:
    assert real_vllm
    command = [str(ENVIRONMENT / "bin" / "python"), "-c", OPENAI_CLIENT, twin.url]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=120, env=environment_with({})
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert json.loads(done.stdout) == {
        "models": [["tiny", 4096]], "finish": "length", "tokens": 12, "role": "assistant", "streamed": 12, "same": True, "choices": 2,
        "text_tokens": 14, "missing": "NotFoundError", "long": "input_tokens",
    }  # fmt: skip


def test_vllms_own_benchmark_runs_against_it(
    real_vllm: bool, twin: TwinEngine, tmp_path: Path
) -> None:
    assert real_vllm
    asked = [
        "--dataset-name",
        "random",
        "--random-input-len",
        "60",
        "--random-output-len",
        "30",
        "--num-prompts",
        "24",
        "--request-rate",
        "12",
    ]
    where = [
        "--base-url",
        twin.url,
        "--model",
        "tiny",
        "--tokenizer",
        str(ENVIRONMENT / "model"),
        "--ignore-eos",
    ]
    saved = ["--save-result", "--result-dir", str(tmp_path), "--result-filename", "result.json"]
    command = [str(ENVIRONMENT / "bin" / "vllm"), "bench", "serve", *where, *asked, *saved]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=240, env=environment_with({})
    )
    assert done.returncode == 0, done.stderr[-2000:]
    result = json.loads((tmp_path / "result.json").read_text())
    assert (result["completed"], result["total_output_tokens"]) == (24, 24 * 30)
    assert result["median_ttft_ms"] > 0
    assert result["median_itl_ms"] > 0


@pytest.fixture
def prometheus_program() -> Path:
    """The real Prometheus is unpacked here, else the test is skipped (with CI=true: fails)."""
    if is_installed():
        return PROGRAM
    why = "the real Prometheus is not here: run `make prometheus`"
    if os.environ.get("CI") == "true":
        pytest.fail(why)
    return pytest.skip(why)


def test_a_prometheus_scrapes_both_and_reads_the_same_from_either(
    real: Engine, twin: TwinEngine, prometheus_program: Path, tmp_path: Path
) -> None:
    targets = "\n".join(
        f"- job_name: {name}\n  static_configs: [{{targets: ['127.0.0.1:{engine.port}']}}]"
        for name, engine in (("real", real), ("twin", twin))
    )
    (tmp_path / "prometheus.yml").write_text(
        f"global: {{scrape_interval: 1s}}\nscrape_configs:\n{targets}\n"
    )
    port = free_port()
    command = [
        str(prometheus_program), f"--config.file={tmp_path}/prometheus.yml", f"--storage.tsdb.path={tmp_path}/data",
        f"--web.listen-address=127.0.0.1:{port}",
    ]  # fmt: skip
    with (tmp_path / "log").open("w") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log)
        try:
            up = _asked_until(
                port,
                "up",
                lambda found: len(found) == 2 and all(one["value"][1] == "1" for one in found),
                tmp_path / "log",
            )
            assert {one["metric"]["job"] for one in up} == {"real", "twin"}
            query = 'count by (job) ({__name__=~"vllm:.*"})'
            counted = _asked_until(port, query, lambda found: len(found) == 2, tmp_path / "log")
            assert len({one["value"][1] for one in counted}) == 1, counted
            usage = _asked_until(
                port, "vllm:kv_cache_usage_perc", lambda found: len(found) == 2, tmp_path / "log"
            )
            assert {one["metric"]["engine"] for one in usage} == {"0"}
        finally:
            process.terminate()
            process.wait(20)


def _asked_until(port: int, query: str, holds: Callable[[list[Any]], bool], log: Path) -> list[Any]:
    """What Prometheus answers to the query once that holds."""
    deadline = time.monotonic() + 40
    found: list[Any] = []
    while time.monotonic() < deadline:
        try:
            found = httpx.get(
                f"http://127.0.0.1:{port}/api/v1/query", params={"query": query}
            ).json()["data"]["result"]
        except (httpx.HTTPError, ValueError, KeyError):
            found = []
        if holds(found):
            return found
        time.sleep(0.5)
    raise AssertionError(f"{query}: {found}\n{log.read_text()[-1500:]}")
