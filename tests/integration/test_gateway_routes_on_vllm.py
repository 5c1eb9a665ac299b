"""Batches, embeddings, pooling, scores, ranks and audio in front of the real vLLM: an answer is the
same as a direct call's, and a request beyond a limit does not reach the engine.

Chat, completions, responses and messages: `test_gateway_on_vllm.py`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
from dev.engine import Engine
from dev.gateway_process import GatewayProcess
from tests.integration.conftest import EngineFactory
from tests.support.audio import CONTENT_TYPE, form, wav

MAX_INPUT, MAX_OUTPUT = 1800, 20
SPEC = f"request: {{maxInputTokens: {MAX_INPUT}, maxOutputTokens: {MAX_OUTPUT}}}"
SEA = "Tell me of the sea"
LONG = "sea " * 2200
"""More tokens than the limit, fewer than the engine's context. (A clip of audio counts 1,596.)"""
HI = [{"role": "user", "content": SEA}]
MUCH = [{"role": "user", "content": LONG}]
AUDIO = "/v1/audio/transcriptions"
BATCH = "/v1/chat/completions/batch"
COUNT = "/v1/messages/count_tokens"
UNLISTED = ("/tokenize", "/detokenize", "/reset_prefix_cache", "/sleep", "/invocations")
PAIRED: list[tuple[str, str, str]] = [
    ("/score", "text_1", "text_2"),
    ("/v1/score", "queries", "documents"),
    ("/rerank", "query", "documents"),
    ("/v1/rerank", "query", "documents"),
    ("/v2/rerank", "query", "documents"),
]
POOLED: list[tuple[str, dict[str, Any]]] = [
    ("/v1/embeddings", {"input": [SEA, "the sky"]}),
    ("/v1/embeddings", {"input": [*range(5, 25)]}),
    ("/v1/embeddings", {"messages": HI}),
    ("/pooling", {"input": SEA, "task": "embed"}),
    *((path, {one: SEA, many: ["the sky", "the shore"]}) for path, one, many in PAIRED),
]
TOO_LONG: list[tuple[str, dict[str, Any]]] = [
    ("/v1/embeddings", {"input": [SEA, LONG]}),
    ("/v1/embeddings", {"messages": MUCH}),
    ("/pooling", {"input": LONG, "task": "embed"}),
    ("/classify", {"input": LONG}),
    *((path, {one: SEA, many: [SEA, LONG]}) for path, one, many in PAIRED),
    *((path, {one: LONG, many: [SEA]}) for path, one, many in PAIRED),
]
REFUSED_TOO_LONG: list[tuple[str, dict[str, Any]]] = [
    (BATCH, {"messages": [HI, MUCH], "max_tokens": 5}),
    ("/v1/responses", {"input": LONG, "max_output_tokens": 5}),
    ("/v1/messages", {"messages": MUCH, "max_tokens": 5}),
    ("/v1/completions", {"prompt": [SEA, LONG], "max_tokens": 5}),
]


@contextmanager
def _before(engine: Engine, folder: Path) -> Iterator[GatewayProcess]:
    with GatewayProcess(folder, SPEC, engine.url) as gateway:
        yield gateway


def _post(url: str, path: str, document: dict[str, Any]) -> httpx.Response:
    return httpx.post(url + path, json={"model": "tiny", **document}, timeout=120)


def _prompt_tokens(engine: Engine) -> float:
    page = httpx.get(f"{engine.url}/metrics").text
    samples = re.findall(r"^vllm:prompt_tokens_total\{.*\} (\S+)$", page, re.MULTILINE)
    assert samples
    return sum(map(float, samples))


def _comparable(value: Any) -> Any:
    """The answer without ids and times, its numbers rounded: batches are summed in any order."""
    if isinstance(value, dict):
        return {
            name: _comparable(member)
            for name, member in value.items()
            if name not in ("id", "created")
        }
    if isinstance(value, list):
        return [_comparable(member) for member in value]
    return round(value, 2) if isinstance(value, float) else value


def _is_as_direct(
    engine: Engine, gateway: GatewayProcess, path: str, document: dict[str, Any]
) -> httpx.Response:
    direct, through = (_post(url, path, document) for url in (engine.url, gateway.url))
    assert (path, through.status_code) == (path, direct.status_code), through.text
    assert _comparable(through.json()) == _comparable(direct.json()), path
    return through


def _are_refused(
    engine: Engine, gateway: GatewayProcess, requests: list[tuple[str, dict[str, Any]]]
) -> None:
    before = _prompt_tokens(engine)
    for path, document in requests:
        refused = _post(gateway.url, path, document)
        assert (path, refused.status_code) == (path, 413), refused.text
        assert str(MAX_INPUT) in refused.text
    assert _prompt_tokens(engine) == before


def test_routes_of_an_engine_that_generates(engine_factory: EngineFactory, tmp_path: Path) -> None:
    engine = engine_factory("--max-model-len", "4096", "--num-gpu-blocks-override", "64")
    with _before(engine, tmp_path) as gateway:
        two = {"messages": [HI, HI], "temperature": 0, "max_tokens": 8}
        assert _is_as_direct(engine, gateway, BATCH, two).status_code == 200
        counted = {"messages": HI, "max_tokens": 5}
        assert _is_as_direct(engine, gateway, COUNT, counted).json()["input_tokens"] > 5
        greedy = {"messages": [HI, HI], "max_tokens": 1000, "ignore_eos": True}
        usage = _post(gateway.url, BATCH, greedy).json()["usage"]
        assert usage["completion_tokens"] == 2 * MAX_OUTPUT
        _are_refused(engine, gateway, REFUSED_TOO_LONG)
        before = _prompt_tokens(engine)
        for path in UNLISTED:
            assert _post(gateway.url, path, {"prompt": SEA}).status_code == 404, path
        # This model hears nothing: vLLM has the route only for models that do.
        head = {"Content-Type": CONTENT_TYPE.decode()}
        spoken, much = form(wav(0.1), model="tiny"), form(wav(90), model="tiny")
        assert httpx.post(engine.url + AUDIO, content=spoken, headers=head).status_code == 404
        assert httpx.post(gateway.url + AUDIO, content=spoken, headers=head).status_code == 404
        assert httpx.post(gateway.url + AUDIO, content=much, headers=head).status_code == 413
        assert _prompt_tokens(engine) == before


def test_routes_of_an_engine_that_pools(pooling_engine: Engine, tmp_path: Path) -> None:
    with _before(pooling_engine, tmp_path) as gateway:
        for path, document in POOLED:
            answer = _is_as_direct(pooling_engine, gateway, path, document)
            assert answer.status_code == 200, answer.text
        assert _is_as_direct(pooling_engine, gateway, "/classify", {"input": SEA}).is_error
        _are_refused(pooling_engine, gateway, TOO_LONG)
        gateway.until("barostat_gateway_active_requests", 0.0)
