"""vLLM's HTTP API in front of the twin: which path answers what.

Source: vLLM 0.32.0, entrypoints/openai and entrypoints/serve.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import time
import uuid
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import chain
from typing import Any, TypeVar

from barostat.core.bounds import SEQUENCES
from barostat.engines.vllm import error_bodies as errors
from barostat.engines.vllm.error_bodies import Refusal
from barostat.twin.workload.words import Tokenizer
from barostat.twin_server import answers, responses
from barostat.twin_server.answers import AnswerSoFar, Head
from barostat.twin_server.asgi import Exchange, Gone, Held, Late, Receive, Scope, Send, TooMuch
from barostat.twin_server.embeddings import AskedVectors, VectorReader, Vectors
from barostat.twin_server.frontend import DEAD, Frontend, Prompt, Running, WantedSequence
from barostat.twin_server.generation_request import GenerationRequest, Reader
from barostat.twin_server.request_json import written
from barostat.twin_server.responses import AskedResponse, Events, ResponseReader

T = TypeVar("T")
Handler = Callable[[Exchange], Awaitable[None]]
_AT_ONCE = 64
"""Choices of one request that are processed before yielding to others."""
_EVENTS_AT_ONCE = 8
"""Events that are sent before yielding to others: each is a call into the kernel, after which the
interpreter's lock is waited for.
"""
_STREAMS = 256
_TEXT_CHARS = 1 << 20
_WRITER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))
_RESPONSE = "/v1/responses/{response_id}"
_CANCEL = "/v1/responses/{response_id}/cancel"
_LAST = ((b"content-type", b"application/json"), (b"connection", b"close"))
_BYTES = (b"content-type", b"application/octet-stream")
_PAGE = (b"content-type", b"text/plain; version=1.0.0; charset=utf-8")


class App:
    """The ASGI application of one engine."""

    def __init__(self, frontend: Frontend) -> None:
        self.frontend = frontend
        self.serving = frontend.serving
        self.tokenizer = Tokenizer(self.serving.vocabulary)
        self.reader = Reader(self.serving, self.tokenizer)
        self._response_reader = ResponseReader(self.reader)
        self._vector_reader = VectorReader(self.reader)
        self.late_s = sum(
            fault.amount for fault in self.serving.faults if fault.name == "slow-network"
        )
        self._load = 0
        self._held = Held()
        self._tokenizing = ThreadPoolExecutor(1, "tokenizer")
        named = f"{self.serving.model} {self.serving.settings}".encode()
        self._fingerprint = (
            f"vllm-{self.serving.version}-{hashlib.blake2b(named, digest_size=4).hexdigest()}"
        )
        self.routes: dict[str, dict[str, Handler]] = {
            "/health": {"GET": self._health},
            "/ping": {"GET": self._health, "POST": self._health},
            "/load": {"GET": self._load_page},
            "/version": {"GET": self._version},
            "/metrics": {"GET": self._metrics},
            "/v1/models": {"GET": self._models},
            "/tokenize": {"POST": self._tokenize},
            "/detokenize": {"POST": self._detokenize},
            "/kv_event_sources": {"GET": self._kv_event_sources},
        }
        self.routes |= self._pooling() if self.serving.pooling else self._generating()

    def _generating(self) -> dict[str, dict[str, Handler]]:
        return {
            "/v1/completions": {"POST": self._completions},
            "/v1/chat/completions": {"POST": self._chat},
            "/v1/responses": {"POST": self._responses},
            _RESPONSE: {"GET": self._stored_response},
            _CANCEL: {"POST": self._stored_response},
        }

    def _pooling(self) -> dict[str, dict[str, Handler]]:
        return {
            "/v1/embeddings": {"POST": self._embeddings},
            "/pooling": {"POST": self._pool},
        }

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request is answered, and counted."""
        if scope["type"] == "lifespan":
            for _ in range(2):
                message = await receive()
                await send({"type": f"{message['type']}.complete"})
            return
        if scope["type"] != "http":
            return
        late = Late(send, self.late_s) if self.late_s else None
        exchange = Exchange(scope, receive, late.send if late is not None else send, self._held)
        try:
            await self._route(exchange)
        except Gone:
            exchange.status = exchange.status or 200  # an answer that nobody reads is an empty 200
        except TooMuch as error:
            await exchange.answer(error.status, json.dumps({"detail": str(error)}).encode(), _LAST)
        finally:
            exchange.let_go()
            self._count(exchange)
            if late is not None:
                late.close()

    async def _route(self, exchange: Exchange) -> None:
        methods = self.routes.get(_route_of(exchange.path))
        if methods is None:
            await exchange.no_route()
        elif (handler := methods.get(exchange.method)) is None:
            await exchange.no_route(methods)
        elif self.serving.api_key and exchange.path.startswith("/v1") and not self._may(exchange):
            await exchange.answer_json(401, {"error": "Unauthorized"})
        else:
            await handler(exchange)

    def _may(self, exchange: Exchange) -> bool:
        return exchange.headers.get("authorization") == f"Bearer {self.serving.api_key}"

    def _count(self, exchange: Exchange) -> None:
        route = _route_of(exchange.path)
        handler = route if exchange.method in self.routes.get(route, ()) else "none"
        duration_s = time.monotonic() - exchange.began_s
        http = self.frontend.telemetry.http
        http.answered(
            handler,
            exchange.method,
            exchange.status or 500,
            duration_s,
            exchange.request_bytes,
            exchange.sent_bytes,
            time.time(),
        )

    async def _health(self, exchange: Exchange) -> None:
        await exchange.answer(503 if self.frontend.dead.is_set() else 200, b"", ())

    async def _load_page(self, exchange: Exchange) -> None:
        await exchange.answer_json(
            200, {"server_load": self._load if self.serving.track_load else 0}
        )

    async def _version(self, exchange: Exchange) -> None:
        await exchange.answer_json(200, {"version": str(self.serving.version)})

    async def _kv_event_sources(self, exchange: Exchange) -> None:
        await exchange.answer_json(200, {})

    async def _metrics(self, exchange: Exchange) -> None:
        await exchange.answer(200, self.frontend.telemetry.page().encode(), (_PAGE,))

    async def _models(self, exchange: Exchange) -> None:
        now = int(time.time())
        permission = {
            "id": f"modelperm-{uuid.uuid4().hex[:16]}", "object": "model_permission", "created": now, "allow_create_engine": False,
            "allow_sampling": True, "allow_logprobs": True, "allow_search_indices": False, "allow_view": True,
            "allow_fine_tuning": False, "organization": "*", "group": None, "is_blocking": False,
        }  # fmt: skip
        cards = [
            {
                "id": name, "object": "model", "created": now, "owned_by": "vllm", "root": self.serving.model, "parent": None,
                "max_model_len": self.serving.settings.max_model_len, "permission": [permission],
            }
            for name in self.serving.names
        ]  # fmt: skip
        await exchange.answer_json(200, {"object": "list", "data": cards})

    async def _tokenize(self, exchange: Exchange) -> None:
        body = await self._object(exchange)
        if isinstance(body, Refusal):
            return await exchange.refuse(body)
        refusal = self.reader.model_refusal(body)
        prompt = body.get("prompt") if "prompt" in body else self.reader.chat_text(body)
        if refusal is not None or isinstance(prompt, Refusal):
            return await exchange.refuse(refusal or prompt)  # type: ignore[arg-type]
        if not isinstance(prompt, str):
            return await exchange.refuse(
                errors.invalid_field(
                    "string_type", "body.prompt", "Input should be a valid string", prompt
                )
            )
        if (refusal := self.reader.too_long(prompt, at_least=_TEXT_CHARS)) is not None:
            return await exchange.refuse(refusal)
        return await exchange.answer(
            200, await self._aside(self._tokenized, prompt, body.get("return_token_strs") is True)
        )

    def _tokenized(self, prompt: str, with_words: bool) -> bytes:
        tokens = self.tokenizer.encode(prompt)
        words = (
            written([self.tokenizer.piece(token) for token in tokens]) if with_words else ("null",)
        )
        about = _text({"count": len(tokens), "max_model_len": self.serving.settings.max_model_len})
        return b"".join(
            text.encode()
            for text in chain(
                (about[:-1], ',"tokens":'), written(tokens), (',"token_strs":',), words, ("}",)
            )
        )

    async def _detokenize(self, exchange: Exchange) -> None:
        body = await self._object(exchange)
        if isinstance(body, Refusal):
            return await exchange.refuse(body)
        if (refusal := self.reader.model_refusal(body)) is not None:
            return await exchange.refuse(refusal)
        tokens = body.get("tokens")
        if tokens is None:
            return await exchange.refuse(
                errors.invalid_field("missing", "body.tokens", "Field required", body)
            )
        found = await self._aside(self._detokenized, tokens)
        return await (
            exchange.refuse(found) if isinstance(found, Refusal) else exchange.answer(200, found)
        )

    def _detokenized(self, tokens: object) -> bytes | Refusal:
        if not isinstance(tokens, list) or not all(
            type(token) is int and token >= 0 for token in tokens
        ):
            return errors.invalid_field(
                "list_type", "body.tokens", "Input should be a valid list", tokens
            )
        return _text({"prompt": self.tokenizer.decode(tokens)}).encode()

    async def _object(self, exchange: Exchange) -> dict[str, Any] | Refusal:
        """The JSON object that was sent."""
        try:
            return await self._aside(self.reader.json_body, await exchange.body())
        finally:
            exchange.let_go()

    async def _completions(self, exchange: Exchange) -> None:
        await self._generate(exchange, await self._read(exchange, self.reader.completion))

    async def _chat(self, exchange: Exchange) -> None:
        await self._generate(exchange, await self._read(exchange, self.reader.chat))

    async def _read(
        self, exchange: Exchange, read: Callable[[bytes | bytearray], T | Refusal]
    ) -> T | Refusal:
        """The parsed request. One thread tokenizes, one request after another, as in vLLM."""
        raw = await exchange.body()
        exchange.arrived_s = time.monotonic()
        if not exchange.states_json:
            return errors.not_json()
        try:
            return await self._aside(read, raw)
        finally:
            exchange.let_go()

    async def _aside(self, work: Callable[..., T], *given: object) -> T:
        """The work, done where it does not hold up the others."""
        return await asyncio.get_running_loop().run_in_executor(self._tokenizing, work, *given)

    async def _generate(self, exchange: Exchange, asked: GenerationRequest | Refusal) -> None:
        """The answer to a request for tokens. A client that goes away aborts it."""
        if isinstance(asked, Refusal):
            return await self._refuse(exchange, asked)
        if self.frontend.dead.is_set():
            return await self._dead(exchange)
        prefix = "chatcmpl" if asked.chat else "cmpl"
        head = Head(
            f"{prefix}-{exchange.headers.get('x-request-id') or uuid.uuid4().hex[:16]}",
            int(time.time()),
            asked.model,
            self._fingerprint,
        )
        return await self._computed(
            exchange,
            head.answer_id,
            asked.prompts,
            asked.wanted,
            lambda sequences: self._choices(exchange, asked, head, sequences),
        )

    async def _choices(
        self, exchange: Exchange, asked: GenerationRequest, head: Head, sequences: list[Running]
    ) -> None:
        if asked.stream:
            await exchange.begin_events()
            await exchange.unless_gone(self._stream(exchange, asked, head, sequences))
        else:
            await exchange.unless_gone(self._whole(exchange, asked, head, sequences))

    async def _computed(
        self,
        exchange: Exchange,
        answer_id: str,
        prompts: tuple[Prompt, ...],
        wanted: tuple[WantedSequence, ...],
        answer: Callable[[list[Running]], Awaitable[None]],
    ) -> None:
        """Put the prompts under way and answer with what comes of them; a client that goes away
        aborts them.
        """
        sequences: list[Running] = []
        self._load += 1
        try:
            refusal = await self._submit(exchange, answer_id, prompts, wanted, sequences)
            if refusal is not None:
                return await exchange.refuse(refusal)
            await answer(sequences)
        finally:
            self._load -= 1
            self.frontend.abort(sequences)
        return None

    async def _submit(
        self,
        exchange: Exchange,
        answer_id: str,
        prompts: tuple[Prompt, ...],
        wanted: tuple[WantedSequence, ...],
        under_way: list[Running],
    ) -> Refusal | None:
        """Put every prompt under way, and among `under_way`; return why one cannot be."""
        for place, (prompt, one) in enumerate(zip(prompts, wanted, strict=True)):
            if self.frontend.in_flight + one.n > SEQUENCES.most:
                return Refusal(
                    503, f"at most {SEQUENCES.most:,} samples at once here", "Service Unavailable"
                )
            if limit := self.frontend.check_admission(one.n):
                return errors.queue_full(limit)
            request_id = f"{answer_id}-{uuid.uuid4().hex[:8]}-{place}"
            await self.frontend.submit(request_id, prompt, one, exchange.arrived_s, under_way)
            if place:
                await asyncio.sleep(0)
        return None

    async def _refuse(self, exchange: Exchange, refusal: Refusal) -> None:
        """Refuse a request; an unknown model is an error in the log."""
        if refusal.kind == "NotFoundError":
            told = (
                f"message={refusal.message!r}, type={refusal.kind!r}, param={refusal.param!r}, "
                f"code={refusal.status}"
            )
            self.frontend.telemetry.log(
                "ERROR", "serving.py:274", f"Error with model error=ErrorInfo({told})"
            )
        await exchange.refuse(refusal)

    async def _dead(self, exchange: Exchange) -> None:
        await exchange.refuse(errors.engine_dead())
        self.frontend.told_of_death.set()

    async def _embeddings(self, exchange: Exchange) -> None:
        await self._embed(exchange, await self._read(exchange, self._vector_reader.embeddings))

    async def _pool(self, exchange: Exchange) -> None:
        await self._embed(exchange, await self._read(exchange, self._vector_reader.pooling))

    async def _embed(self, exchange: Exchange, asked: AskedVectors | Refusal) -> None:
        """Answer a request for vectors once all its prompts are computed."""
        if isinstance(asked, Refusal):
            return await self._refuse(exchange, asked)
        if self.frontend.dead.is_set():
            return await self._dead(exchange)
        prefix = "embd" if asked.api == "embeddings" else "pooling"
        answer_id = (
            exchange.headers.get("x-request-id") or asked.request_id or uuid.uuid4().hex[:16]
        )
        answer = Vectors(
            asked,
            f"{prefix}-{answer_id}",
            int(time.time()),
            self.serving.seed,
            self.serving.embedding_size,
        )
        return await self._computed(
            exchange,
            answer.answer_id,
            asked.prompts,
            asked.wanted,
            lambda sequences: exchange.unless_gone(self._vectors(exchange, answer, sequences)),
        )

    async def _vectors(self, exchange: Exchange, answer: Vectors, sequences: list[Running]) -> None:
        for one in sequences:
            _, reason = await one.arrived()
            if reason == DEAD:
                return await self._dead(exchange)
        body = await self._aside(answer.body)
        if answer.is_json:
            return await exchange.answer(200, body)
        metadata = answer.metadata()
        named = () if metadata is None else ((b"metadata", metadata),)
        return await exchange.answer(200, body, (*named, _BYTES))

    async def _stored_response(self, exchange: Exchange) -> None:
        """Answer for a stored response: there is none, as by default in vLLM."""
        await exchange.refuse(responses.not_found(exchange.path.split("/")[3]))

    async def _responses(self, exchange: Exchange) -> None:
        asked = await self._read(exchange, self._response_reader.read)
        if isinstance(asked, Refusal):
            return await self._refuse(exchange, asked)
        if self.frontend.dead.is_set():
            return await self._dead(exchange)
        return await self._computed(
            exchange,
            asked.answer_id,
            asked.asked.prompts,
            asked.asked.wanted,
            lambda sequences: self._response(exchange, asked, sequences[0]),
        )

    async def _response(self, exchange: Exchange, asked: AskedResponse, one: Running) -> None:
        if asked.asked.stream:
            await exchange.begin_events()
            await exchange.unless_gone(self._stream_response(exchange, asked, one))
        else:
            await exchange.unless_gone(self._whole_response(exchange, asked, one))

    async def _whole_response(self, exchange: Exchange, asked: AskedResponse, one: Running) -> None:
        tokens, reason = await one.whole()
        if reason == DEAD:
            return await self._dead(exchange)
        item = responses.message(responses.new_item_id(), self.tokenizer.decode(tokens))
        status = responses.status_of(reason)
        return await exchange.answer_json(
            200, responses.response(asked, status, [item], self._response_usage(one))
        )

    async def _stream_response(
        self, exchange: Exchange, asked: AskedResponse, one: Running
    ) -> None:
        events = Events(asked)
        for event in events.begin():
            await exchange.event(_text(event), event["type"])
        reason: str | None = None
        while reason is None:
            new, reason = await one.arrived()
            for event in events.piece(self.tokenizer.decode(new)):
                await exchange.event(_text(event), event["type"])
        if reason == DEAD:
            self.frontend.told_of_death.set()
        else:
            for event in events.end(reason, self._response_usage(one)):
                await exchange.event(_text(event), event["type"])
        await exchange.end_events()

    def _response_usage(self, one: Running) -> dict[str, Any]:
        settings = self.serving.settings
        size = settings.hash_tokens
        full = one.prompt_tokens // size * size if settings.prefix_caching else 0
        written = max(0, full - one.cached_tokens)
        return responses.usage(one.prompt_tokens, one.cached_tokens, written, one.tokens)

    async def _whole(
        self, exchange: Exchange, asked: GenerationRequest, head: Head, sequences: list[Running]
    ) -> None:
        said = []
        for index, one in enumerate(sequences):
            tokens, reason = await one.whole()
            if reason == DEAD:
                return await self._dead(exchange)
            text = self.tokenizer.decode(self._shown(asked, one, tokens))
            if index % _AT_ONCE == 0:
                await asyncio.sleep(0)
            said.append(
                AnswerSoFar(index, text, reason, *((tokens, one.prompt) if asked.token_ids else ()))
            )
        used = answers.usage(asked.prompt_tokens, sum(one.tokens for one in sequences))
        return await exchange.answer(200, await self._written(asked, head, said, used))

    async def _written(
        self, asked: GenerationRequest, head: Head, said: list[AnswerSoFar], used: dict[str, Any]
    ) -> bytes:
        """The answer as bytes. A response with many choices is written in pieces, so that other
        requests do not wait for it.
        """
        if len(said) <= _AT_ONCE:
            return _text(answers.whole(asked, head, said, used)).encode()
        return await self._aside(
            lambda: "".join(_WRITER.iterencode(answers.whole(asked, head, said, used))).encode()
        )

    async def _stream(
        self, exchange: Exchange, asked: GenerationRequest, head: Head, sequences: list[Running]
    ) -> None:
        prompt_tokens = asked.prompt_tokens
        if asked.chat:
            for index in range(len(sequences)):
                used = answers.usage(prompt_tokens, 0) if asked.usage_always else None
                await exchange.event(_text(answers.opening(asked, head, index, used)))
                if index % _EVENTS_AT_ONCE == 0:
                    await asyncio.sleep(0)
        # Of many choices each has a turn of its own as far as they are answered at once; the others
        # come behind them.
        turns = [
            self._stream_some(exchange, asked, head, sequences, first)
            for first in range(min(len(sequences), _STREAMS))
        ]
        died = any(await asyncio.gather(*turns))
        if died:
            await exchange.event(json.dumps(errors.engine_dead().body()))
            self.frontend.told_of_death.set()
        elif asked.usage_at_end:
            await exchange.event(
                _text(
                    answers.closing(
                        asked,
                        head,
                        answers.usage(prompt_tokens, sum(one.tokens for one in sequences)),
                    )
                )
            )
        await exchange.event("[DONE]")
        await exchange.end_events()

    async def _stream_some(
        self,
        exchange: Exchange,
        asked: GenerationRequest,
        head: Head,
        sequences: list[Running],
        first: int,
    ) -> bool:
        """Choices are sent in batches; True if the engine died before their end."""
        for index in range(first, len(sequences), _STREAMS):
            await asyncio.sleep(
                0
            )  # what is done already is sent without a pause: others have their turn
            if await self._stream_one(exchange, asked, head, index, sequences[index]):
                return True
        return False

    @staticmethod
    def _shown(asked: GenerationRequest, one: Running, tokens: list[int]) -> list[int]:
        """What a client sees where these are the first tokens: an echo comes with them."""
        return (
            list(one.prompt)
            if asked.prompt_alone
            else [*one.prompt, *tokens]
            if asked.echo
            else tokens
        )

    async def _stream_one(
        self, exchange: Exchange, asked: GenerationRequest, head: Head, index: int, one: Running
    ) -> bool:
        """All pieces of one choice are sent; True if the engine died before its end."""
        sent = 0
        while True:
            new, reason = await one.arrived()
            if reason == DEAD:
                return True
            shown = new if sent else self._shown(asked, one, new)
            sent += len(new)
            said = AnswerSoFar(
                index, self.tokenizer.decode(shown), reason, new if asked.token_ids else None
            )
            used = answers.usage(one.prompt_tokens, sent) if asked.usage_always else None
            await exchange.event(_text(answers.piece(asked, head, said, used)))
            if reason is not None:
                return False


def _route_of(path: str) -> str:
    """Return the route of a path: the path, but for one with the id of a response in it."""
    head, _, rest = path.removeprefix("/v1/responses/").partition("/")
    if head == path or not head or rest not in ("", "cancel") or path.endswith("/"):
        return path
    return _CANCEL if rest else _RESPONSE


def _text(event: dict[str, object]) -> str:
    return json.dumps(event, ensure_ascii=False, separators=(",", ":"))
