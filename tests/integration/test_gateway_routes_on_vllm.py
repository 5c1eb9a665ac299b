"""The routes for batches, embeddings, pooling, scores and ranks in front of the real vLLM: what the
gateway lets through the engine understands, and what a limit forbids does not reach it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from dev.engine import Engine
from dev.gateway_process import GatewayProcess
from tests.integration.conftest import EngineFactory

MAX_INPUT, MAX_OUTPUT = 300, 20
SPEC = f"request: {{maxInputTokens: {MAX_INPUT}, maxOutputTokens: {MAX_OUTPUT}}}"
SEA = "Tell me of the sea"
LONG = "sea " * 2000
"""More tokens than the limit, fewer than the engine's context."""
SAID = [{"role": "user", "content": SEA}]
BATCH = "/v1/chat/completions/batch"
POOLED: list[tuple[str, dict[str, Any]]] = [
    ("/v1/embeddings", {"input": SEA}),
    ("/v1/embeddings", {"input": [SEA, "the sky"]}),
    ("/v1/embeddings", {"input": [1, 2, 3]}),
    ("/v1/embeddings", {"messages": SAID}),
    ("/pooling", {"input": SEA, "task": "embed"}),
    ("/score", {"text_1": SEA, "text_2": ["the sky", "the shore"]}),
    ("/v1/score", {"queries": SEA, "documents": ["the sky", "the shore"]}),
    ("/rerank", {"query": SEA, "documents": ["the sky", "the shore"]}),
    ("/v1/rerank", {"query": SEA, "documents": ["the sky", "the shore"], "top_n": 1}),
    ("/v2/rerank", {"query": SEA, "documents": ["the sky", "the shore"]}),
]
TOO_LONG: list[tuple[str, dict[str, Any]]] = [
    ("/v1/embeddings", {"input": LONG}),
    ("/v1/embeddings", {"input": [SEA, LONG]}),
    ("/v1/embeddings", {"messages": [{"role": "user", "content": LONG}]}),
    ("/pooling", {"input": LONG, "task": "embed"}),
    ("/score", {"text_1": LONG, "text_2": SEA}),
    ("/v1/score", {"queries": SEA, "documents": [SEA, LONG]}),
    ("/rerank", {"query": SEA, "documents": [SEA, LONG]}),
    ("/v2/rerank", {"query": LONG, "documents": [SEA]}),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return tmp_path_factory.mktemp("routes")


@pytest.fixture
def generating(engine_factory: EngineFactory) -> Engine:
    return engine_factory("--max-model-len", "4096", "--num-gpu-blocks-override", "64")


@pytest.fixture
def pooling(engine_factory: EngineFactory) -> Engine:
    return engine_factory("--max-model-len", "4096", "--runner", "pooling", "--convert", "embed")


def _prompt_tokens(engine: Engine) -> float:
    page = httpx.get(f"{engine.url}/metrics").text
    return sum(
        float(value)
        for value in re.findall(r"^vllm:prompt_tokens_total\{.*\} (\S+)$", page, re.MULTILINE)
    )


def _gateway(engine: Engine, folder: Any) -> Iterator[GatewayProcess]:
    with GatewayProcess(folder, SPEC, engine.url) as running:
        yield running


def _post(url: str, path: str, document: dict[str, Any]) -> httpx.Response:
    return httpx.post(url + path, json={"model": "tiny", **document}, timeout=120)


def _without_what_changes(value: Any) -> Any:
    """The answer without ids and times, numbers rounded to what a batch's order leaves equal."""
    if isinstance(value, dict):
        return {
            name: _without_what_changes(one)
            for name, one in value.items()
            if name not in ("id", "created", "embedding", "data_base64")
        }
    if isinstance(value, list):
        return [_without_what_changes(one) for one in value]
    return round(value, 2) if isinstance(value, float) else value


def test_a_batch_within_the_limits_and_one_beyond(generating: Engine, folder: Any) -> None:
    for gateway in _gateway(generating, folder):
        two = {"messages": [SAID, SAID], "temperature": 0, "max_tokens": 8}
        direct, through = (_post(url, BATCH, two) for url in (generating.url, gateway.url))
        assert (direct.status_code, through.status_code) == (200, 200)
        assert [one["message"] for one in through.json()["choices"]] == [
            one["message"] for one in direct.json()["choices"]
        ]
        greedy = {"messages": [SAID, SAID], "max_tokens": 1000, "ignore_eos": True}
        assert _post(gateway.url, BATCH, greedy).json()["usage"]["completion_tokens"] == (
            2 * MAX_OUTPUT
        )
        before = _prompt_tokens(generating)
        long = {"messages": [SAID, [{"role": "user", "content": LONG}]], "max_tokens": 5}
        refused = _post(gateway.url, BATCH, long)
        assert refused.status_code == 400
        assert str(MAX_INPUT) in refused.text
        counted = {"messages": SAID, "max_tokens": 5}
        path = "/v1/messages/count_tokens"
        assert (
            _post(gateway.url, path, counted).json() == _post(generating.url, path, counted).json()
        )
        for unlisted in ("/tokenize", "/detokenize", "/reset_prefix_cache", "/sleep"):
            assert _post(gateway.url, unlisted, {"prompt": SEA}).status_code == 404
        assert _prompt_tokens(generating) == before


@pytest.mark.long  # an engine of its own
@pytest.mark.timeout(400)
def test_what_pools_within_the_limits_and_beyond(pooling: Engine, folder: Any) -> None:
    for gateway in _gateway(pooling, folder):
        for path, document in POOLED:
            direct, through = (_post(url, path, document) for url in (pooling.url, gateway.url))
            assert (path, through.status_code) == (path, direct.status_code)
            assert direct.status_code == 200, direct.text
            assert _without_what_changes(through.json()) == _without_what_changes(direct.json())
        before = _prompt_tokens(pooling)
        for path, document in TOO_LONG:
            refused = _post(gateway.url, path, document)
            assert (path, refused.status_code) == (path, 400), refused.text
            assert str(MAX_INPUT) in refused.text
        assert _prompt_tokens(pooling) == before
