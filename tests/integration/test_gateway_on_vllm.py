"""The gateway in front of the real vLLM: answers, streams and errors of each API beside a direct
call's, and the official clients.

Anthropic messages and OpenAI responses are here because the twin does not speak them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import anthropic
import httpx
import openai
import pytest
from dev.engine import Engine
from dev.gateway_process import GatewayProcess
from tests.integration.conftest import EngineFactory

SPEC = "request: {maxOutputTokens: 400, maxInputTokens: 3000}\nslo: {ttftP99Seconds: 60}"
HI = [{"role": "user", "content": "Tell me of the sea"}]
TOOL = {
    "name": "look_up",
    "description": "d",
    "input_schema": {"type": "object", "properties": {"a": {"type": "string"}}},
}
CASES: list[tuple[str, dict[str, Any]]] = [
    ("/v1/messages", {"messages": HI, "max_tokens": 12}),
    (
        "/v1/messages",
        {
            "messages": HI,
            "max_tokens": 12,
            "system": [{"type": "text", "text": "be kind"}],
            "stream": True,
        },
    ),
    (
        "/v1/messages",
        {"messages": HI, "max_tokens": 5, "tools": [TOOL], "tool_choice": {"type": "none"}},
    ),
    ("/v1/messages", {"messages": 3, "max_tokens": 5}),
    ("/v1/messages/count_tokens", {"messages": HI, "system": "be kind"}),
    ("/v1/responses", {"input": "Tell me of the sea", "max_output_tokens": 12}),
    (
        "/v1/responses",
        {"input": HI, "instructions": "be kind", "max_output_tokens": 12, "stream": True},
    ),
    ("/v1/responses", {"input": 3, "max_output_tokens": 12}),
    (
        "/v1/chat/completions",
        {
            "messages": HI,
            "max_tokens": 12,
            "stream": True,
            "stream_options": {"include_usage": True},
        },
    ),
    (
        "/v1/chat/completions",
        {"messages": HI, "max_tokens": 30, "response_format": {"type": "json_object"}},
    ),
    ("/v1/completions", {"prompt": "grüße 海", "max_tokens": 12, "logprobs": 2}),
]


@pytest.fixture
def engine(engine_factory: EngineFactory) -> Engine:
    return engine_factory("--max-model-len", "4096", "--num-gpu-blocks-override", "64")


@pytest.fixture(scope="module")
def front() -> Iterator[list[GatewayProcess]]:
    running: list[GatewayProcess] = []
    yield running
    for one in running:
        one.__exit__(None, None, None)


@pytest.fixture
def gateway(
    engine: Engine, front: list[GatewayProcess], tmp_path_factory: pytest.TempPathFactory
) -> GatewayProcess:
    if not front:
        front.append(
            GatewayProcess(tmp_path_factory.mktemp("gateway"), SPEC, engine.url).__enter__()
        )
    return front[0]


def _without_what_changes(text: str) -> str | list[object]:
    """Ids and times belong to a call and not to the way it took; how many tokens an event of a
    stream has, too.
    """
    text = re.sub(r"(cmpl|chatcmpl|resp|msg|rs)[-_][0-9a-f]{8,}", "*", text)
    text = re.sub(r'"sequence_number": ?\d+,?', "", text)
    text = re.sub(r'"(created|created_at|completed_at)": ?[\d.]+', '"at":0', text)
    events = [json.loads(line[6:]) for line in text.splitlines() if line.startswith("data: {")]
    if not events:
        return text
    words = "".join(_words(event) for event in events)
    kinds = [
        kind
        for event, before in zip(events, [{}, *events], strict=False)
        if (kind := _kind(event)) != _kind(before)
    ]
    return [words, kinds, events[-1]]


def _kind(event: dict[str, Any]) -> str:
    return str(event.get("type", sorted(event)))


def _words(event: dict[str, Any]) -> str:
    delta = event.get("delta")
    if isinstance(delta, str):
        return delta
    if isinstance(delta, dict):
        return str(delta.get("text", ""))
    return "".join(
        str(one.get("text") or one.get("delta", {}).get("content") or "")
        for one in event.get("choices", ())
    )


@pytest.mark.parametrize(("path", "document"), CASES)
def test_an_answer_is_the_same_through_the_gateway(
    engine: Engine, gateway: GatewayProcess, path: str, document: dict[str, Any]
) -> None:
    document = {"model": "tiny", "temperature": 0, **document}
    direct = httpx.post(engine.url + path, json=document, timeout=120)
    through = httpx.post(gateway.url + path, json=document, timeout=120)
    assert (through.status_code, through.headers["content-type"]) == (
        direct.status_code,
        direct.headers["content-type"],
    )
    assert _without_what_changes(through.text) == _without_what_changes(direct.text)


def test_the_anthropic_client_reads_answers_streams_and_counts(
    engine: Engine, gateway: GatewayProcess
) -> None:
    texts = []
    for url in (engine.url, gateway.url):
        client = anthropic.Anthropic(base_url=url, api_key="none", max_retries=0, timeout=120)
        asked: dict[str, Any] = {
            "model": "tiny",
            "messages": HI,
            "max_tokens": 12,
            "extra_body": {"temperature": 0},
        }
        said = client.messages.create(**asked)
        with client.messages.stream(**asked) as stream:
            streamed = stream.get_final_message()
        count = client.messages.count_tokens(model="tiny", messages=HI)  # type: ignore[arg-type]
        assert said.usage.input_tokens == streamed.usage.input_tokens == count.input_tokens
        texts.append(
            [
                (one.content[0].text, one.stop_reason, one.usage.output_tokens)  # type: ignore[union-attr]
                for one in (said, streamed)
            ]
        )
    assert texts[0] == texts[1]
    client = anthropic.Anthropic(base_url=gateway.url, api_key="none", max_retries=0, timeout=120)
    with pytest.raises(anthropic.APIStatusError) as refused:
        client.messages.create(
            model="tiny", messages=[{"role": "user", "content": "word " * 6000}], max_tokens=5
        )
    assert refused.value.status_code == 413
    assert refused.value.body["error"]["type"] == "request_too_large"  # type: ignore[index]
    capped = client.messages.with_raw_response.create(
        model="tiny",
        messages=HI,  # type: ignore[arg-type]
        max_tokens=9999,
        stop_sequences=["e"],
    )
    assert capped.headers["x-barostat-output-cap"] == "400"


def test_the_openai_client_reads_responses_and_their_streams(
    engine: Engine, gateway: GatewayProcess
) -> None:
    texts = []
    for url in (engine.url, gateway.url):
        client = openai.OpenAI(base_url=url + "/v1", api_key="none", max_retries=0, timeout=120)
        said = client.responses.create(
            model="tiny", input="Tell me of the sea", max_output_tokens=12, temperature=0
        )
        events = client.responses.create(
            model="tiny",
            input="Tell me of the sea",
            max_output_tokens=12,
            temperature=0,
            stream=True,
        )
        last = list(events)[-1]
        texts.append((said.output_text, said.status, last.type, last.response.output_text))  # type: ignore[union-attr]
    assert texts[0] == texts[1]


def test_what_the_gateway_learned_is_what_the_engine_counted(gateway: GatewayProcess) -> None:
    gateway.until("barostat_gateway_reservations", 0)
    assert gateway.metric("barostat_gateway_input_bound_exceeded") == 0
    routes = {
        name.split('"')[1]
        for name in gateway.metrics()
        if name.startswith("barostat_gateway_tokens_per_body_byte")
    }
    assert {"messages", "responses"} <= routes
