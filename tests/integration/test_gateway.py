"""`barostat gateway` in front of the twin: the official clients beside a direct call, what leaves,
what drains, what is read again.
"""

from __future__ import annotations

import json
import re
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import anthropic
import httpx
import openai
import pytest
from dev.free_port import free_port
from dev.gateway_process import GatewayProcess
from dev.twin_engine import TwinEngine

SPEC = "request: {maxOutputTokens: 3500, maxInputTokens: 3000}\nslo: {ttftP99Seconds: 10}"
QUICK = "base=0.003,decode=0.0001,prefill=0.00001"
PATHS = [
    (
        "/v1/chat/completions",
        {"messages": [{"role": "user", "content": "Tell me of the sea"}], "max_tokens": 12},
    ),
    (
        "/v1/chat/completions",
        {
            "messages": [{"role": "user", "content": "grüße 海"}],
            "max_completion_tokens": 9,
            "stream": True,
        },
    ),
    ("/v1/chat/completions", {"messages": [], "max_tokens": 5}),
    (
        "/v1/chat/completions",
        {"messages": [{"role": "user", "content": "x"}], "max_tokens": 5, "n": 2},
    ),
    (
        "/v1/completions",
        {
            "prompt": ["a b", "c d"],
            "max_tokens": 6,
            "stream": True,
            "stream_options": {"include_usage": True},
        },
    ),
    ("/v1/completions", {"prompt": [1, 2, 3], "max_tokens": 6}),
    ("/v1/completions", {"prompt": "hello", "model": "another"}),
]


@pytest.fixture(scope="module")
def engine() -> Iterator[TwinEngine]:
    flags = (
        "--max-model-len",
        "4096",
        "--num-gpu-blocks-override",
        "512",
        "--max-num-seqs",
        "64",
        "--seed",
        "1",
    )
    with TwinEngine(*flags, options=("--output-tokens", "40"), latency=QUICK) as running:
        yield running.wait_ready(within_s=30)


@pytest.fixture(scope="module")
def gateway(
    engine: TwinEngine, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[GatewayProcess]:
    with GatewayProcess(tmp_path_factory.mktemp("gateway"), SPEC, engine.url) as running:
        yield running


def _without_what_changes(text: str) -> object:
    """Ids, times, and how many tokens an event of a stream has, belong to a call and not to the way
    it took.
    """
    text = re.sub(r'(cmpl|chatcmpl)-[0-9a-f]+|"created": ?\d+', "*", text)
    if not text.startswith("data: "):
        return text
    words: dict[int, str] = {}
    for piece in re.findall(
        r'"index":(\d+),(?:"text":"|"delta":\{(?:"role":"assistant",)?"content":")([^"]*)', text
    ):
        words[int(piece[0])] = words.get(int(piece[0]), "") + piece[1]
    return words, text.splitlines()[-2:]


@pytest.mark.parametrize(("path", "document"), PATHS)
def test_an_answer_is_the_same_through_the_gateway(
    engine: TwinEngine, gateway: GatewayProcess, path: str, document: dict[str, Any]
) -> None:
    document = {"model": "tiny", "temperature": 0, "seed": 3, **document}
    direct = httpx.post(engine.url + path, json=document, timeout=30)
    through = httpx.post(gateway.url + path, json=document, timeout=30)
    assert (through.status_code, through.headers["content-type"]) == (
        direct.status_code,
        direct.headers["content-type"],
    )
    assert set(through.headers) == set(direct.headers)
    assert _without_what_changes(through.text) == _without_what_changes(direct.text)


def test_the_openai_client_reads_answers_streams_and_errors(gateway: GatewayProcess) -> None:
    client = openai.OpenAI(base_url=gateway.url + "/v1", api_key="none", max_retries=0)
    assert client.models.list().data[0].id == "tiny"
    said = client.chat.completions.create(
        model="tiny", messages=[{"role": "user", "content": "hi"}], max_tokens=8
    )
    assert said.usage is not None
    assert said.choices[0].message.content
    parts = client.chat.completions.create(
        model="tiny", messages=[{"role": "user", "content": "hi"}], max_tokens=8, stream=True
    )
    assert [part.choices[0].finish_reason for part in parts if part.choices][-1] in (
        "stop",
        "length",
    )
    capped = client.chat.completions.with_raw_response.create(
        model="tiny", messages=[{"role": "user", "content": "hi"}], max_tokens=9999
    )
    assert capped.headers["x-barostat-output-cap"] == "3500"
    with pytest.raises(openai.APIStatusError) as too_long:
        client.chat.completions.create(
            model="tiny", messages=[{"role": "user", "content": "word " * 4000}], max_tokens=8
        )
    assert too_long.value.status_code == 413
    assert too_long.value.code == "input-too-long"
    with pytest.raises(openai.BadRequestError):
        client.chat.completions.create(
            model="tiny", messages=[{"role": "user", "content": "x"}], max_tokens=-1
        )
    gateway.until("barostat_gateway_reservations", 0)


def test_the_anthropic_client_reads_the_gateways_errors(gateway: GatewayProcess) -> None:
    client = anthropic.Anthropic(base_url=gateway.url, api_key="none", max_retries=0)
    with pytest.raises(anthropic.BadRequestError) as refused:
        client.messages.create(
            model="tiny", messages=[{"role": "user", "content": "x"}], max_tokens=-1
        )
    assert refused.value.body["error"]["type"] == "invalid_request_error"  # type: ignore[index]
    with pytest.raises(anthropic.NotFoundError):  # the twin has no such route: its own 404 passes
        client.messages.create(
            model="tiny", messages=[{"role": "user", "content": "x"}], max_tokens=5
        )


def test_a_client_that_leaves_frees_the_engine(engine: TwinEngine, gateway: GatewayProcess) -> None:
    document = {
        "model": "tiny",
        "prompt": "x",
        "max_tokens": 3500,
        "ignore_eos": True,
        "stream": True,
    }
    with httpx.stream("POST", gateway.url + "/v1/completions", json=document, timeout=30) as answer:
        lines = answer.iter_lines()  # kept: the answer is closed with it
        next(lines)
        assert gateway.metric("barostat_gateway_reservations") == 1
    gateway.until("barostat_gateway_reservations", 0)
    deadline = time.monotonic() + 5
    while "vllm:num_requests_running{" in (page := httpx.get(engine.url + "/metrics").text):
        running = [
            line for line in page.splitlines() if line.startswith("vllm:num_requests_running{")
        ]
        if all(line.endswith(" 0.0") for line in running):
            break
        assert time.monotonic() < deadline, running
        time.sleep(0.05)


@pytest.mark.alone
def test_more_than_the_pool_holds_is_never_preempted(tmp_path: Path) -> None:
    """A burst of three times what fits, long answers: without the gateway this thrashes."""
    flags = (
        "--max-model-len",
        "2048",
        "--num-gpu-blocks-override",
        "33",
        "--max-num-seqs",
        "64",
        "--block-size",
        "128",
    )
    with TwinEngine(*flags, latency=QUICK) as engine:
        engine.wait_ready(within_s=30)
        with GatewayProcess(
            tmp_path, "request: {maxOutputTokens: 400}\nslo: {ttftP99Seconds: 100}", engine.url
        ) as gateway:
            document = {
                "model": "tiny",
                "prompt": "word " * 100,
                "max_tokens": 400,
                "ignore_eos": True,
            }
            statuses: list[int] = []

            def one() -> None:
                statuses.append(
                    httpx.post(
                        gateway.url + "/v1/completions", json=document, timeout=120
                    ).status_code
                )

            threads = [threading.Thread(target=one) for _ in range(24)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            assert statuses == [200] * 24
            gateway.until("barostat_gateway_reservations", 0)
        page = httpx.get(engine.url + "/metrics").text
        preempted = [
            line for line in page.splitlines() if line.startswith("vllm:num_preemptions_total{")
        ]
        assert preempted
        assert all(line.endswith(" 0.0") for line in preempted)


def test_draining_finishes_what_is_under_way(engine: TwinEngine, tmp_path: Path) -> None:
    with GatewayProcess(tmp_path, SPEC, engine.url, options=("--drain-timeout", "20")) as gateway:
        document = {
            "model": "tiny",
            "prompt": "x",
            "max_tokens": 300,
            "ignore_eos": True,
            "stream": True,
        }
        with httpx.stream(
            "POST", gateway.url + "/v1/completions", json=document, timeout=30
        ) as answer:
            lines = answer.iter_lines()
            next(lines)
            gateway.process.send_signal(signal.SIGTERM)
            time.sleep(0.3)
            assert httpx.get(gateway.admin + "/readyz").status_code == 503
            assert httpx.get(gateway.url + "/readyz").status_code == 503
            assert [line for line in lines if line][-1] == "data: [DONE]"
        assert gateway.process.wait(timeout=15) == 0


def test_draining_waits_for_a_body_that_is_on_its_way(engine: TwinEngine, tmp_path: Path) -> None:
    with GatewayProcess(tmp_path, SPEC, engine.url) as gateway:
        place = httpx.URL(gateway.url)
        body = json.dumps({"model": "tiny", "prompt": "x", "max_tokens": 5}).encode()
        head = (
            b"POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
            % len(body)
        )
        with socket.create_connection((place.host, place.port or 80)) as slow:
            slow.sendall(head + body[:9])
            time.sleep(0.3)
            gateway.process.send_signal(signal.SIGTERM)
            time.sleep(4.0)  # past the time in which connections are taken
            slow.sendall(body[9:])
            slow.settimeout(5)
            assert slow.recv(4096).startswith(b"HTTP/1.1 200 OK\r\n")
        assert gateway.process.wait(10) == 0


def test_draining_ends_a_stream_that_takes_too_long_with_a_final_event(
    engine: TwinEngine, tmp_path: Path
) -> None:
    with GatewayProcess(
        tmp_path, "slo: {ttftP99Seconds: 9}", engine.url, options=("--drain-timeout", "1")
    ) as gateway:
        document = {
            "model": "tiny",
            "messages": [{"role": "user", "content": "x"}],
            "max_tokens": 4000,
            "ignore_eos": True,
            "stream": True,
        }
        with httpx.stream(
            "POST", gateway.url + "/v1/chat/completions", json=document, timeout=30
        ) as answer:
            lines = answer.iter_lines()
            next(lines)
            gateway.process.send_signal(signal.SIGTERM)
            data = [line for line in lines if line]
        assert data[-1] == "data: [DONE]"
        assert (
            json.loads(data[-2].removeprefix("data: "))["choices"][0]["finish_reason"] == "length"
        )
        assert gateway.process.wait(timeout=15) == 0


def test_draining_goes_on_though_nobody_reads_standard_error(
    engine: TwinEngine, tmp_path: Path
) -> None:
    gateway = GatewayProcess(tmp_path, SPEC, engine.url)
    with subprocess.Popen(gateway.command, stderr=subprocess.PIPE) as process:
        assert process.stderr is not None
        assert b"listening on" in process.stderr.readline()
        process.stderr.close()
        document = {
            "model": "tiny",
            "prompt": "x",
            "max_tokens": 300,
            "ignore_eos": True,
            "stream": True,
        }
        with httpx.stream(
            "POST", gateway.url + "/v1/completions", json=document, timeout=30
        ) as answer:
            lines = answer.iter_lines()
            next(lines)
            process.send_signal(signal.SIGTERM)
            assert [line for line in lines if line][-1] == "data: [DONE]"
        assert process.wait(timeout=15) == 0


def test_draining_tells_who_has_heard_nothing(engine: TwinEngine, tmp_path: Path) -> None:
    with GatewayProcess(
        tmp_path, "slo: {ttftP99Seconds: 9}", engine.url, options=("--drain-timeout", "1")
    ) as gateway:
        document = {"model": "tiny", "prompt": "x", "max_tokens": 4000, "ignore_eos": True}
        with ThreadPoolExecutor(1) as clients:
            asked = clients.submit(
                httpx.post, gateway.url + "/v1/completions", json=document, timeout=30
            )
            gateway.until("barostat_gateway_active_requests", 1)
            gateway.process.send_signal(signal.SIGTERM)
            answer = asked.result(timeout=15)
        assert (answer.status_code, answer.headers["x-barostat-reason"]) == (503, "draining")
        assert gateway.process.wait(timeout=15) == 0


def test_limits_are_read_again_and_a_wrong_file_is_not(engine: TwinEngine, tmp_path: Path) -> None:
    document = {"model": "tiny", "prompt": "x", "max_tokens": 50}
    with GatewayProcess(tmp_path, "request: {maxOutputTokens: 40}", engine.url) as gateway:

        def cap() -> str | None:
            answer = httpx.post(gateway.url + "/v1/completions", json=document, timeout=30)
            told: str | None = answer.headers.get("x-barostat-output-cap")
            return told

        assert cap() == "40"
        gateway.write("request: {maxOutputTokens: 30}")
        gateway.process.send_signal(signal.SIGHUP)
        gateway.until('barostat_gateway_limits_reloads_total{outcome="taken"}', 1)
        assert cap() == "30"
        gateway.write("request: {maxOutputTokens: -1}")  # without a signal: the change is noticed
        gateway.until('barostat_gateway_limits_reloads_total{outcome="refused"}', 1)
        assert cap() == "30"
        assert "spec.request.maxOutputTokens: is -1" in gateway.log
        assert "the limits before stay in force" in gateway.log


def test_a_lever_sets_limits_for_a_while(engine: TwinEngine, tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("s3cret\n")
    with GatewayProcess(
        tmp_path,
        "request: {maxOutputTokens: 400}",
        engine.url,
        options=("--admin-token-file", str(token)),
    ) as gateway:
        lever = {"holder": "mitigate", "leaseSeconds": 1.5, "limits": {"maxOutputTokens": 10}}
        assert httpx.put(gateway.admin + "/limits", json=lever).status_code == 401
        headers = {"authorization": "Bearer s3cret"}
        assert (
            httpx.put(
                gateway.admin + "/limits", json={**lever, "limits": {"x": 1}}, headers=headers
            ).status_code
            == 400
        )
        assert httpx.put(gateway.admin + "/limits", json=lever, headers=headers).status_code == 200
        document = {"model": "tiny", "prompt": "x", "max_tokens": 50}
        assert (
            httpx.post(gateway.url + "/v1/completions", json=document).headers[
                "x-barostat-output-cap"
            ]
            == "10"
        )
        assert httpx.get(gateway.admin + "/limits").json()["override"]["holder"] == "mitigate"
        gateway.until('barostat_gateway_overrides_total{outcome="expired"}', 1)
        assert (
            "x-barostat-output-cap"
            not in httpx.post(gateway.url + "/v1/completions", json=document).headers
        )
        assert (
            httpx.get(gateway.admin + "/limits").json()["limits"]["spec"]["request"][
                "maxOutputTokens"
            ]
            == 400
        )


def test_an_engine_that_is_not_there_gets_nothing(engine: TwinEngine, tmp_path: Path) -> None:
    with GatewayProcess(tmp_path, SPEC, engine.url, f"http://127.0.0.1:{free_port()}") as gateway:
        for _ in range(10):
            document = {"model": "tiny", "prompt": "x", "max_tokens": 5}
            assert (
                httpx.post(gateway.url + "/v1/completions", json=document, timeout=30).status_code
                == 200
            )
        assert "unreachable" in gateway.log


def test_tenants_keys_tls_and_a_log_without_prompts(engine: TwinEngine, tmp_path: Path) -> None:
    certificate, key = tmp_path / "tls.crt", tmp_path / "tls.key"
    made = [
        "openssl",
        "req",
        "-x509",
        "-newkey",
        "rsa:2048",
        "-nodes",
        "-days",
        "2",
        "-subj",
        "/CN=127.0.0.1",
        "-addext",
        "subjectAltName=IP:127.0.0.1",
    ]
    try:
        subprocess.run(
            [*made, "-out", str(certificate), "-keyout", str(key)], check=True, capture_output=True
        )
    except FileNotFoundError:
        pytest.skip("openssl is not installed here")
    keys, log = tmp_path / "keys", tmp_path / "access.log"
    keys.write_text("# comment\nred: sk-red\nblue: sk-blue\n")
    options = (
        "--keys",
        str(keys),
        "--tls-cert",
        str(certificate),
        "--tls-key",
        str(key),
        "--access-log",
        str(log),
    )
    spec = "tenants: [{name: red, share: 0.5}, {name: blue, share: 0.5}]"
    with GatewayProcess(tmp_path, spec, engine.url, options=options, scheme="https") as gateway:
        document = {"model": "tiny", "prompt": "a secret prompt", "max_tokens": 5}
        import ssl

        trust = ssl.create_default_context(cafile=str(certificate))
        with httpx.Client(verify=trust) as client:
            assert client.post(gateway.url + "/v1/completions", json=document).status_code == 401
            headers = {"authorization": "Bearer sk-red"}
            assert (
                client.post(
                    gateway.url + "/v1/completions", json=document, headers=headers, timeout=30
                ).status_code
                == 200
            )
        gateway.process.send_signal(signal.SIGTERM)
        gateway.process.wait(timeout=20)
        lines = [json.loads(line) for line in log.read_text().splitlines()]
    assert [(line["status"], line["tenant"]) for line in lines] == [(401, ""), (200, "red")]
    assert lines[1]["outputTokens"] == 5
    assert "secret" not in log.read_text() + gateway.log
    assert "sk-red" not in log.read_text() + gateway.log


def test_thousands_of_idle_connections_take_little_memory(gateway: GatewayProcess) -> None:
    def resident_kib() -> int:
        status = Path(f"/proc/{gateway.process.pid}/status").read_text()
        return int(
            next(line.split()[1] for line in status.splitlines() if line.startswith("VmRSS"))
        )

    before, others = resident_kib(), gateway.metric("barostat_gateway_connections")
    held = [socket.create_connection(("127.0.0.1", gateway.port)) for _ in range(900)]
    for one in held:
        one.sendall(b"GET /livez HTTP/1.1\r\n")
    gateway.until("barostat_gateway_connections", others + 900)
    grown = resident_kib() - before
    for one in held:
        one.close()
    assert grown < 900 * 12  # 12 kB each
    gateway.until("barostat_gateway_connections", others)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--upstream", "ftp://x"], "is no URL of an engine"),
        (["--upstream", "http://a:1", "--upstream", "a:1"], "names the same engine twice"),
        (["--upstream", "http://a:1", "--port", "0"], "is no port"),
        (["--upstream", "http://a:1", "--keys", "/nonexistent"], "No such file"),
        (["--upstream", "http://a:1", "--tls-cert", "/nonexistent"], "belong together"),
        (["--upstream", "http://a:1", "--upstream-ca", "/nonexistent"], "no engine is https://"),
        (
            ["--upstream", "http://a:1", "--host", "a..b"],
            "--host 'a..b': is no address to listen on",
        ),
        (
            ["--upstream", "http://a:1", "--admin-host", ""],
            "--admin-host '': is no address to listen on",
        ),
    ],
)
def test_a_wrong_argument_is_one_clear_sentence(
    tmp_path: Path, arguments: list[str], said: str
) -> None:
    gateway = GatewayProcess(tmp_path, "request: {maxOutputTokens: 4}")
    done = subprocess.run(
        [*gateway.command, *arguments], capture_output=True, text=True, timeout=20
    )
    assert done.returncode == 2
    assert said in done.stderr
    assert done.stderr.count("\n") == 1


def test_tenants_without_keys_cannot_be_told_apart(tmp_path: Path) -> None:
    gateway = GatewayProcess(tmp_path, "tenants: [{name: red}]", "http://127.0.0.1:1")
    done = subprocess.run(gateway.command, capture_output=True, text=True, timeout=20)
    assert done.returncode == 2
    assert "--keys" in done.stderr
