"""An engine that counts what reaches it: uvicorn and pydantic, as vLLM's own server uses them, and
a tokenizer of one token per byte.

It is as generous as any version of vLLM: each parameter that some version reads as an output limit
counts, numbers are read as pydantic reads them, and a body is read whatever its content type is.
"""

from __future__ import annotations

import asyncio
import io
import json
import threading
import time
import wave
from collections.abc import Awaitable, Callable, Iterator, MutableMapping
from dataclasses import dataclass
from typing import Any

import uvicorn
from dev.free_port import free_port
from pydantic import TypeAdapter, ValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from tests.integration.recording_engine import ANSWER, EVENT, METRICS

UNLIMITED = 1 << 40
OUTPUT_LIMITS = {
    "/v1/chat/completions": ("max_completion_tokens", "max_tokens"),
    "/v1/chat/completions/batch": ("max_completion_tokens", "max_tokens"),
    "/v1/completions": ("max_tokens",),
    "/v1/responses": ("max_output_tokens",),
    "/v1/messages": ("max_tokens",),
    "/v1/audio/transcriptions": ("max_completion_tokens",),
    "/v1/audio/translations": ("max_completion_tokens",),
    "/v1/embeddings": (),
    "/classify": (),
    "/pooling": (),
    "/score": (),
    "/v1/score": (),
    "/rerank": (),
    "/v1/rerank": (),
    "/v2/rerank": (),
}
_PAIRS = (
    ("queries", "documents"),
    ("queries", "items"),
    ("query", "documents"),
    ("text_1", "text_2"),
    ("data_1", "data_2"),
)
_NUMBER: TypeAdapter[int | None] = TypeAdapter(int | None)
_TOKENIZED = (
    "messages", "prompt", "input", "instructions", "system", "tools", "documents",
    "chat_template_kwargs", "data", "prompt_embeds", "chat_template", "previous_input_messages",
)  # fmt: skip
_IGNORED = {
    "/v1/chat/completions": ("prompt", "prompt_embeds"),
    "/v1/messages": ("prompt", "input"),
}
_MEDIA_TYPES = frozenset(
    {
        "image",
        "image_url",
        "input_image",
        "input_audio",
        "audio_url",
        "video_url",
        "input_file",
        "file",
    }
)
_MEDIA_KEYS = (
    "image_url", "image_pil", "image_embeds", "audio_url", "audio_embeds", "input_audio", "video_url",
)  # fmt: skip
_MEDIA_TOKENS = 5000


@dataclass(frozen=True)
class Arrived:
    """A request as the engine understood it. `attack`: the `x-attack` header, "" without one."""

    attack: str
    method: str
    path: str
    key: str
    input_tokens: int = 0
    output_tokens: int = 0
    answers: int = 1
    user: str = ""


class CountingEngine:
    """`seen`: each request, in order of arrival. `running`: the attacks whose answers are still
    being made. `most`: the most requests of one `user` at the same time. A stream goes on until its
    client leaves if its `user` begins with `endless`.
    """

    def __init__(self) -> None:
        self.seen: list[Arrived] = []
        self.running: list[str] = []
        self.most: dict[str, int] = {}
        self.port = free_port()
        config = uvicorn.Config(
            self._app,
            port=self.port,
            log_level="critical",
            http="httptools",
            lifespan="off",
            interface="asgi3",
        )
        self._server = uvicorn.Server(config)
        threading.Thread(target=self._server.run, daemon=True).start()
        while not self._server.started:
            time.sleep(0.01)

    def close(self) -> None:
        """Stop listening."""
        self._server.should_exit = True

    async def _app(
        self,
        scope: MutableMapping[str, Any],
        receive: Callable[[], Awaitable[MutableMapping[str, Any]]],
        send: Callable[[MutableMapping[str, Any]], Awaitable[None]],
    ) -> None:
        body = b""
        while (message := await receive())["type"] == "http.request":
            body += message.get("body", b"")
            if not message.get("more_body"):
                break
        headers = {
            name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]
        }
        attack, path = headers.get("x-attack", "").rstrip("_"), scope["path"]
        if (own := self._own(path, body)) is not None and not attack:
            await _whole(send, own)
            return
        form = path.startswith("/v1/audio/")
        asked, status = await _read_form(scope, body) if form else _read(body)
        credential = headers.get("authorization", "") + headers.get("x-api-key", "")
        arrived = Arrived(
            attack, scope["method"], path, credential, *_tokens(scope["method"], path, asked)
        )
        self.seen.append(arrived)
        if status != 200 or own is not None or scope["method"] != "POST":
            await _whole(send, own or b"{}", status)
            return
        user = str(asked.get("user") or asked.get("safety_identifier") or "")
        self.running.append(attack)
        self.most[user] = max(self.most.get(user, 0), self.running.count(attack))
        try:
            await _answer(receive, send, user, bool(asked.get("stream")))
        finally:
            self.running.remove(attack)

    def _own(self, path: str, body: bytes) -> bytes | None:
        cards = {"object": "list", "data": [{"id": "m", "max_model_len": 100_000}]}
        if path in ("/tokenize", "/v1/messages/count_tokens"):
            count = _input_tokens(json.loads(body))
            told = {"count": count, "input_tokens": count, "max_model_len": 100_000}
            return json.dumps(told).encode()
        return {
            "/metrics": METRICS.replace("BLOCKS", "20001").encode(),
            "/v1/models": json.dumps(cards).encode(),
            "/health": b"",
        }.get(path)


def _read(body: bytes) -> tuple[dict[str, Any], int]:
    try:
        asked = json.loads(body) if body else {}
        if not isinstance(asked, dict):
            return {}, 422
        for name in ("max_tokens", "max_completion_tokens", "max_output_tokens", "n", "best_of"):
            if name in asked:
                asked[name] = _NUMBER.validate_python(asked[name])
    except (ValueError, RecursionError, ValidationError):
        return {}, 422
    return asked, 200


async def _read_form(scope: Any, body: bytes) -> tuple[dict[str, Any], int]:
    """As vLLM's server reads it. Audio counts 50 tokens a second, and what is no WAV is endless."""

    async def receive() -> MutableMapping[str, Any]:
        return {"type": "http.request", "body": body, "more_body": False}

    try:
        form = await Request(scope, receive).form()
        asked: dict[str, Any] = {name: str(form[name]) for name in form if name != "file"}
        for name in ("max_completion_tokens", "n"):
            if name in asked:
                asked[name] = _NUMBER.validate_python(asked[name])
        file = form["file"]
        sound = b"" if isinstance(file, str) else await file.read()
    except (HTTPException, KeyError, ValueError, ValidationError):
        return {}, 422
    try:
        with wave.open(io.BytesIO(sound)) as read:
            asked["audio"] = 50 * read.getnframes() // read.getframerate()
    except (wave.Error, EOFError):
        asked["audio"] = UNLIMITED
    return asked, 200


def _tokens(method: str, path: str, asked: dict[str, Any]) -> tuple[int, int, int, str]:
    if method != "POST":  # no other generates: FastAPI answers 405
        return 0, 0, 1, ""
    if path.startswith("/v1/audio/"):
        limit = asked.get("max_completion_tokens") or UNLIMITED
        texts = sum(_text_tokens(asked.get(name) or "") for name in ("prompt", "hotwords"))
        clips = -(-asked.get("audio", 0) // 1500)
        return asked.get("audio", 0) + texts, limit, clips * (asked.get("n") or 1), ""
    if path.endswith(("/score", "/rerank")):
        return _pair_tokens(asked), 0, 1, str(asked.get("user") or "")
    if path.endswith("/batch"):
        each = [
            _tokens(method, path[:-6], {**asked, "messages": one})
            for one in _many(asked, "messages")
        ]
        return (
            max((one[0] for one in each), default=0),
            max((one[1] for one in each), default=0),
            len(each),
            str(asked.get("user") or ""),
        )
    asked = {name: one for name, one in asked.items() if name not in _IGNORED.get(path, ())}
    stated = [asked[name] for name in OUTPUT_LIMITS.get(path, ()) if asked.get(name) is not None]
    echo = path == "/v1/completions" and asked.get("echo") is True
    outputs = [UNLIMITED if one < (0 if echo else 1) else one for one in stated]
    missing = UNLIMITED if OUTPUT_LIMITS.get(path) else 0
    missing = 16 if path == "/v1/completions" else missing
    prompt = asked.get("prompt")
    prompts = (
        len(prompt) if isinstance(prompt, list) and prompt and not isinstance(prompt[0], int) else 1
    )
    answers = max(asked.get("n") or 1, asked.get("best_of") or 1) * prompts
    cut = asked.get("truncate_prompt_tokens")
    count = _input_tokens(asked)
    return (
        min(count, cut) if isinstance(cut, int) and cut >= 0 else count,
        max(outputs, default=missing),
        answers,
        str(asked.get("user") or ""),
    )


def _many(asked: dict[str, Any], name: str) -> list[Any]:
    value = asked.get(name)
    return value if isinstance(value, list) else [value]


def _pair_tokens(asked: dict[str, Any]) -> int:
    """Tokens of the longest pair, of whichever form has the longest; a padded pair is endless."""
    if asked.get("padding") == "max_length":
        return UNLIMITED
    beside = sum(
        _text_tokens(asked.get(name) or "") for name in ("instruction", "chat_template_kwargs")
    )
    longest = 0
    for left, right in _PAIRS:
        if left in asked and right in asked:
            first, second = (
                [_text_tokens(one) for one in _many(asked, name)] for name in (left, right)
            )
            count = max(len(first), len(second))
            first, second = ([*one] * (count if len(one) == 1 else 1) for one in (first, second))
            longest = max(longest, *(a + b for a, b in zip(first, second, strict=False)), 0)
    return longest + beside


def _input_tokens(asked: dict[str, Any]) -> int:
    total = UNLIMITED if asked.get("padding") == "max_length" else 0
    for name in _TOKENIZED:
        value = asked.get(name)
        if name in ("prompt", "input") and isinstance(value, list):
            total += (
                max((_text_tokens(one) for one in value), default=0)
                if not all(isinstance(one, int) for one in value)
                else len(value)
            )
        elif value is not None:
            total += _text_tokens(value)
    return total


def _text_tokens(value: Any) -> int:
    if isinstance(value, str):
        return len(value.encode("utf-8", "surrogatepass"))
    if isinstance(value, dict):
        is_medium = value.get("type") in _MEDIA_TYPES or any(name in value for name in _MEDIA_KEYS)
        media = _MEDIA_TOKENS if is_medium else 0
        return media + sum(_text_tokens(one) for one in value.values())
    if isinstance(value, list):
        return sum(_text_tokens(one) for one in value)
    return 1


async def _whole(send: Callable[..., Awaitable[None]], body: bytes, status: int = 200) -> None:
    headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body))]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def _gone(receive: Callable[[], Awaitable[MutableMapping[str, Any]]]) -> asyncio.Task[Any]:
    async def wait() -> None:
        while (await receive())["type"] != "http.disconnect":
            pass

    return asyncio.ensure_future(wait())


async def _answer(receive: Any, send: Any, user: str, stream: bool) -> None:
    """An answer of a few events, or one that ends only when its client leaves."""
    gone = _gone(receive)
    endless = user.startswith("endless")
    if not stream:
        if endless:
            await asyncio.wait({gone}, timeout=60)
        elif user.startswith("slow"):
            await asyncio.wait({gone}, timeout=0.3)
        if not gone.done():
            await _whole(send, ANSWER)
        gone.cancel()
        return
    headers = [(b"content-type", b"text/event-stream")]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    for _ in _events(endless):
        if gone.done():
            return
        await send({"type": "http.response.body", "body": EVENT, "more_body": True})
        await asyncio.sleep(0.02)
    await send({"type": "http.response.body", "body": b"data: [DONE]\n\n"})
    gone.cancel()


def _events(endless: bool) -> Iterator[int]:
    return iter(range(3000 if endless else 3))
