"""`barostat twin` as a process: answers, what a client that leaves frees, what SIGTERM does, faults
and what they show.
"""

from __future__ import annotations

import http.client
import json
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from dev.twin_engine import TwinEngine
from prometheus_client.parser import text_string_to_metric_families

FLAGS = ("--max-model-len", "4096", "--num-gpu-blocks-override", "64", "--max-num-seqs", "64")
QUICK = "base=0.005,decode=0.0001,prefill=0.00001"


@contextmanager
def twin(*flags: str, options: tuple[str, ...] = (), latency: str = QUICK) -> Iterator[TwinEngine]:
    with TwinEngine(*FLAGS, *flags, options=options, latency=latency) as engine:
        yield engine.wait_ready(within_s=30)


@pytest.fixture(scope="module")
def engine() -> Iterator[TwinEngine]:
    with twin("--max-num-queued-reqs", "6") as one:
        yield one


def value(engine: TwinEngine, name: str, **labels: str) -> float:
    """The sum of the series of that name with these labels."""
    families = text_string_to_metric_families(httpx.get(engine.url + "/metrics").text)
    samples = [sample for family in families for sample in family.samples if sample.name == name]
    return float(sum(sample.value for sample in samples if labels.items() <= sample.labels.items()))


def until(holds: Callable[[], bool], within_s: float = 10.0) -> None:
    deadline = time.monotonic() + within_s
    while not holds():
        assert time.monotonic() < deadline, "it never came to that"
        time.sleep(0.05)


def ask(engine: TwinEngine, path: str = "/v1/completions", **body: Any) -> httpx.Response:
    return httpx.post(
        engine.url + path, json={"model": "tiny", "ignore_eos": True, **body}, timeout=60
    )


def test_an_answer_has_the_length_that_was_asked_for_and_is_the_same_every_time(
    engine: TwinEngine,
) -> None:
    first = ask(engine, prompt="Tell me", max_tokens=20).json()
    again = ask(engine, prompt="Tell me", max_tokens=20).json()
    assert first["usage"] == {
        "prompt_tokens": 2, "total_tokens": 22, "completion_tokens": 20, "prompt_tokens_details": None, "completion_tokens_details": None,
    }  # fmt: skip
    assert first["choices"][0]["finish_reason"] == "length"
    assert first["choices"][0]["text"] == again["choices"][0]["text"] != ""


def test_a_stream_carries_one_event_per_token_at_the_pace_of_the_steps_and_the_count_at_its_end(
    engine: TwinEngine,
) -> None:
    body = {
        "model": "tiny",
        "prompt": [5, 6, 7],
        "max_tokens": 30,
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    began, times, events = time.monotonic(), [], []
    with httpx.stream("POST", engine.url + "/v1/completions", json=body) as answer:
        for line in answer.iter_lines():
            if line:
                times.append(time.monotonic() - began)
                events.append(line.removeprefix("data: "))
    assert events.pop() == "[DONE]"
    pieces = [json.loads(event) for event in events]
    assert pieces[-1]["choices"] == []
    assert pieces[-1]["usage"] == {"prompt_tokens": 3, "total_tokens": 33, "completion_tokens": 30}
    assert [piece["choices"][0]["finish_reason"] for piece in pieces[:-1]][-1] == "length"
    # 30 steps of 5.1 ms; a reader that is slow gets several tokens in one event.
    assert 0.15 <= times[-1] < 2.0
    assert len(pieces) <= 31


def test_a_chat_that_is_continued_finds_its_prefix_and_its_answer_in_the_cache(
    engine: TwinEngine,
) -> None:
    question = {"role": "user", "content": "word " * 200}
    first = ask(engine, "/v1/chat/completions", messages=[question], max_tokens=120).json()
    before = value(engine, "vllm:prefix_cache_hits_total")
    history = [question, first["choices"][0]["message"], {"role": "user", "content": "go on"}]
    ask(
        engine,
        "/v1/chat/completions",
        messages=[{k: m[k] for k in ("role", "content")} for m in history],
        max_tokens=4,
    )
    assert (
        value(engine, "vllm:prefix_cache_hits_total") - before == 256
    )  # two of three blocks of 128: the last is not full


def test_a_client_that_leaves_gives_its_blocks_back_and_is_not_counted(engine: TwinEngine) -> None:
    until(lambda: value(engine, "vllm:num_requests_running") == 0)
    before = value(engine, "vllm:request_success_total")
    for stream in (True, False):
        client = http.client.HTTPConnection("127.0.0.1", engine.port)
        body = {
            "model": "tiny",
            "prompt": [5] * 300,
            "max_tokens": 3500,
            "ignore_eos": True,
            "stream": stream,
        }
        client.request(
            "POST", "/v1/completions", json.dumps(body), {"Content-Type": "application/json"}
        )
        until(lambda: value(engine, "vllm:num_requests_running") == 1)
        assert value(engine, "vllm:kv_cache_usage_perc") > 0
        client.close()
        until(lambda: value(engine, "vllm:num_requests_running") == 0)
        assert value(engine, "vllm:kv_cache_usage_perc") == 0
    assert value(engine, "vllm:request_success_total") == before


def test_a_queue_limit_answers_503_and_counts_it(engine: TwinEngine) -> None:
    answer = ask(engine, prompt="x", max_tokens=2, n=7)
    assert answer.status_code == 503
    assert answer.json()["error"]["type"] == "Service Unavailable"
    assert "currently busy" in answer.json()["error"]["message"]
    assert value(engine, "vllm:admission_rejections_total", reason="max_num_queued_reqs") == 1


def test_preemptions_are_counted_once_the_request_has_gone_on() -> None:
    with twin() as engine:
        threads = [
            threading.Thread(
                target=ask, args=(engine,), kwargs={"prompt": [n] * 300, "max_tokens": 500}
            )
            for n in range(24)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        counted = value(engine, "vllm:num_preemptions_total")
        assert counted > 0
        assert value(engine, "vllm:request_num_preemptions_sum") == counted
        assert value(engine, "vllm:request_success_total", finished_reason="length") == 24
        assert value(engine, "vllm:generation_tokens_total") == 24 * 500
        until(lambda: value(engine, "vllm:kv_cache_usage_perc") == 0)
        assert "prompt" not in engine.log_text().replace("prompt throughput", "")


def answers_in_background(
    engine: TwinEngine, max_tokens: int
) -> tuple[threading.Thread, list[object]]:
    """A request on its way, and the list into which its answer (or the error) is put."""
    found: list[object] = []

    def send() -> None:
        try:
            found.append(ask(engine, prompt=[5] * 50, max_tokens=max_tokens))
        except httpx.HTTPError as error:
            found.append(error)

    thread = threading.Thread(target=send, daemon=True)
    thread.start()
    until(lambda: value(engine, "vllm:num_requests_running") == 1)
    return thread, found


def test_sigterm_with_a_time_out_lets_what_is_under_way_finish_and_aborts_what_comes_late() -> None:
    with twin("--shutdown-timeout", "20") as engine:
        thread, found = answers_in_background(engine, 300)
        assert engine._process is not None
        engine._process.send_signal(signal.SIGTERM)
        until(lambda: "mode=drain" in engine.log_text())
        assert engine.health() == 200
        assert (
            ask(engine, prompt="late", max_tokens=5).json()["choices"][0]["finish_reason"]
            == "abort"
        )
        thread.join(20)
        assert isinstance(found[0], httpx.Response)
        assert found[0].json()["usage"]["completion_tokens"] == 300
        assert engine.wait_exit(15) == 0


def test_sigterm_without_one_ends_an_idle_engine_and_leaves_whoever_waits_waiting() -> None:
    with twin() as engine:
        thread, found = answers_in_background(engine, 3000)
        assert engine._process is not None
        engine._process.send_signal(signal.SIGTERM)
        until(lambda: "signalling HTTP server shutdown" in engine.log_text())
        time.sleep(1.0)
        assert engine.exit_code is None
        assert not found
        assert thread.is_alive()
    with twin() as engine:
        assert engine._process is not None
        engine._process.send_signal(signal.SIGTERM)
        assert engine.wait_exit(10) == 0


@pytest.mark.parametrize(
    ("fault", "line"),
    [("oom@2s", "torch.OutOfMemoryError: CUDA out of memory"), ("kill@2s", "EngineDeadError")],
)
def test_an_engine_that_dies_answers_500_says_why_and_ends(fault: str, line: str) -> None:
    with twin(options=("--fault", fault)) as engine:
        thread, found = answers_in_background(engine, 3000)
        thread.join(15)
        assert isinstance(found[0], httpx.Response)
        assert found[0].status_code == 500
        assert found[0].json()["error"]["type"] == "InternalServerError"
        assert engine.wait_exit(15) == 0
        assert line in engine.log_text()


def test_an_idle_engine_that_dies_says_so_at_health_until_the_watchdog_ends_it() -> None:
    with twin(options=("--fault", "oom@1s")) as engine:
        until(lambda: engine.health() == 503)
        assert engine.wait_exit(15) == 0


def test_a_hang_stops_tokens_and_metrics_and_nothing_else_until_it_is_over() -> None:
    with twin(options=("--fault", "hang@2s+3s")) as engine:
        thread, found = answers_in_background(engine, 900)
        until(lambda: _stands_still(engine), within_s=8)
        assert engine.health() == 200
        assert value(engine, "vllm:num_requests_running") == 1
        thread.join(20)
        assert isinstance(found[0], httpx.Response)
        assert found[0].status_code == 200


def _stands_still(engine: TwinEngine) -> bool:
    before = value(engine, "vllm:generation_tokens_total")
    time.sleep(1.0)
    return value(engine, "vllm:generation_tokens_total") == before


def test_a_stopped_core_is_found_by_its_name_and_goes_on_where_it_stood() -> None:
    with twin() as engine:
        thread, found = answers_in_background(engine, 400)
        core = engine.pid_of("EngineCore")
        os.kill(core, signal.SIGSTOP)
        until(lambda: _stands_still(engine))
        assert engine.health() == 200
        os.kill(core, signal.SIGCONT)
        thread.join(20)
        assert isinstance(found[0], httpx.Response)
        assert found[0].json()["usage"]["completion_tokens"] == 400


def test_nobody_is_left_behind_when_the_server_is_killed() -> None:
    with twin(options=("--fault", "hang@0s")) as engine:
        core = engine.pid_of("EngineCore")
        os.kill(engine.pid, signal.SIGKILL)
        until(lambda: _is_gone(core))


def _is_gone(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


def test_a_slow_network_is_seen_by_clients_and_not_by_the_engine() -> None:
    with twin(options=("--fault", "slow-network=300ms")) as engine:
        began = time.monotonic()
        ask(engine, prompt="x", max_tokens=2)
        assert time.monotonic() - began >= 0.3
        assert value(engine, "vllm:e2e_request_latency_seconds_sum") < 0.2


def test_slow_steps_stretch_every_answer() -> None:
    with twin(options=("--fault", "slow-steps=10")) as engine:
        ask(engine, prompt="x", max_tokens=11)
        assert value(engine, "vllm:e2e_request_latency_seconds_sum") >= 0.5


def test_a_throttled_engine_uses_no_more_cpu_than_it_is_given() -> None:
    with twin(options=("--fault", "throttle-cpu=0.1"), latency="base=0.001") as engine:
        before, began = value(engine, "process_cpu_seconds_total"), time.monotonic()
        threads = [
            threading.Thread(target=ask, args=(engine,), kwargs={"prompt": [n], "max_tokens": 300})
            for n in range(6)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        used = value(engine, "process_cpu_seconds_total") - before
        assert used <= 0.05 * (time.monotonic() - began) + 0.1


def test_answers_end_by_themselves_where_lengths_are_drawn() -> None:
    with twin(options=("--output-tokens", "30,0.5")) as engine:
        bodies = [
            ask(engine, prompt=[n], max_tokens=4000, ignore_eos=False).json() for n in range(5)
        ]
        lengths = [body["usage"]["completion_tokens"] for body in bodies]
        assert {body["choices"][0]["finish_reason"] for body in bodies} == {"stop"}
        assert len(set(lengths)) > 1
        assert 5 < sum(lengths) / 5 < 120
        assert (
            ask(engine, prompt=[0], max_tokens=60, ignore_eos=True).json()["usage"][
                "completion_tokens"
            ]
            == 60
        )


def test_the_port_opens_when_loading_is_over() -> None:
    with TwinEngine(*FLAGS, options=("--start-time", "2s"), latency=QUICK) as engine:
        until(lambda: "Initializing a V1 LLM engine" in engine.log_text())
        assert engine.health() is None
        assert "KV cache size" not in engine.log_text()
        engine.wait_ready(within_s=20)
        assert "KV cache size" in engine.log_text()


def test_ctrl_c_while_it_starts_ends_it_even_where_the_shell_switched_it_off() -> None:
    own = signal.signal(
        signal.SIGINT, signal.SIG_IGN
    )  # as for what a script starts in the background
    try:
        with TwinEngine(*FLAGS, options=("--start-time", "20s"), latency=QUICK) as engine:
            until(lambda: "Initializing a V1 LLM engine" in engine.log_text())
            os.kill(engine.pid, signal.SIGINT)
            assert engine.wait_exit(5) == 130
            assert "barostat: interrupted" in engine.log_text()
    finally:
        signal.signal(signal.SIGINT, own)


def test_an_echo_comes_with_the_first_token_and_alone_where_no_output_is_asked_for(
    engine: TwinEngine,
) -> None:
    def told(**more: Any) -> list[str]:
        body = {"model": "tiny", "prompt": [5, 6, 7], "echo": True, "stream": True, **more}
        with httpx.stream("POST", engine.url + "/v1/completions", json=body) as answer:
            lines = [line[6:] for line in answer.iter_lines() if line.startswith("data: {")]
        return [json.loads(line)["choices"][0]["text"] for line in lines]

    def whole(**more: Any) -> str:
        answer = httpx.post(
            engine.url + "/v1/completions",
            json={"model": "tiny", "prompt": [5, 6, 7], "echo": True, **more},
        )
        return str(answer.json()["choices"][0]["text"])

    (prompt,) = told(max_tokens=0)
    assert prompt == whole(max_tokens=0) != ""
    first, *rest = told(max_tokens=3)
    assert first.startswith(prompt)
    assert len(first) > len(prompt)
    assert len(rest) == 2
    assert "".join([first, *rest]) == whole(max_tokens=3)


def test_responses_stream_the_same_text_that_they_answer_whole(engine: TwinEngine) -> None:
    body = {"model": "tiny", "input": "Tell me", "max_output_tokens": 12, "ignore_eos": True}
    whole = httpx.post(engine.url + "/v1/responses", json=body).json()
    text = whole["output"][0]["content"][0]["text"]
    assert whole["usage"]["output_tokens"] == 12
    prompt = " word" * 300
    first, again = (
        httpx.post(engine.url + "/v1/responses", json={**body, "input": prompt}).json()["usage"]
        for _ in range(2)
    )
    written, cached = (
        [one["input_tokens_details"][name] for one in (first, again)]
        for name in ("cache_write_tokens", "cached_tokens")
    )
    assert (written, cached) == ([256, 0], [0, 256])
    assert whole["status"] == "incomplete"
    with httpx.stream("POST", engine.url + "/v1/responses", json={**body, "stream": True}) as got:
        lines = list(got.iter_lines())
    names = [line.removeprefix("event: ") for line in lines if line.startswith("event: ")]
    events = [json.loads(line[6:]) for line in lines if line.startswith("data: ")]
    assert names == [event["type"] for event in events]
    assert names[0] == "response.created"
    assert names[-1] == "response.completed"
    deltas = [event["delta"] for event in events if event["type"].endswith("text.delta")]
    assert "".join(deltas) == text
    assert events[-1]["response"]["usage"]["output_tokens"] == 12
    missing = httpx.get(engine.url + "/v1/responses/resp_1")
    assert (missing.status_code, missing.json()["error"]["param"]) == (404, "response_id")
    assert httpx.post(engine.url + "/v1/responses/resp_1/cancel").status_code == 404
    assert ask(engine, "/v1/embeddings", input="x").status_code == 404


def test_an_embedding_holds_kv_while_its_prompt_is_computed_and_generates_nothing() -> None:
    slow = "base=0.005,prefill=0.002"
    with twin("--runner", "pooling", "--max-num-batched-tokens", "256", latency=slow) as engine:
        found: list[httpx.Response] = []
        tokens = [5] * 2000
        thread = threading.Thread(
            target=lambda: found.append(ask(engine, "/v1/embeddings", input=[tokens, "two"]))
        )
        thread.start()
        until(lambda: value(engine, "vllm:kv_cache_usage_perc") > 0.1)
        thread.join(30)
        whole = found[0].json()
        assert [one["index"] for one in whole["data"]] == [0, 1]
        assert len(whole["data"][0]["embedding"]) == len(whole["data"][1]["embedding"])
        assert whole["usage"]["prompt_tokens"] == whole["usage"]["total_tokens"] == 2001
        until(lambda: value(engine, "vllm:kv_cache_usage_perc") == 0)
        assert value(engine, "vllm:prompt_tokens_total") == 2001
        assert value(engine, "vllm:generation_tokens_total") == 0
        assert value(engine, "vllm:request_success_total", finished_reason="stop") == 2
        assert value(engine, "vllm:inter_token_latency_seconds_count") == 0
        longest = ask(engine, "/v1/embeddings", input=[6] * 4096)
        assert longest.json()["usage"]["prompt_tokens"] == 4096
        pooled = ask(engine, "/pooling", input="two").json()
        assert pooled["data"][0]["data"] == whole["data"][1]["embedding"]
        for path in ("/v1/completions", "/v1/chat/completions", "/v1/responses"):
            assert ask(engine, path, prompt="x").status_code == 404


def test_a_client_that_leaves_gives_back_the_kv_of_its_embeddings() -> None:
    slow = "base=0.005,prefill=0.002"
    with twin("--runner", "pooling", "--max-num-batched-tokens", "256", latency=slow) as engine:
        client = http.client.HTTPConnection("127.0.0.1", engine.port)
        body = json.dumps({"input": [5] * 2000})
        client.request("POST", "/v1/embeddings", body, {"Content-Type": "application/json"})
        until(lambda: value(engine, "vllm:num_requests_running") == 1)
        client.close()
        until(lambda: value(engine, "vllm:num_requests_running") == 0)
        assert value(engine, "vllm:request_success_total") == 0
