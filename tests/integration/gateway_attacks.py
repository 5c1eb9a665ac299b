"""Attacks on the gateway, by class, as the bytes that a client sends. Written from the guide, without
the gateway's code.

The limits that they try to pass are those of `LIMITS`; the keys are those of `KEYS`.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

MAX_INPUT, MAX_OUTPUT = 300, 50
LIMITS = f"""request: {{maxInputTokens: {MAX_INPUT}, maxOutputTokens: {MAX_OUTPUT}, maxStreamSeconds: 60}}
tenants:
- {{name: free, share: 0.25, maxConcurrency: 3}}
- {{name: paid, share: 0.75}}"""
PAID, FREE, STRANGER = "paid-key-91cc2", "free-key-33b17", "stranger-key-55d0e"
KEYS = f"paid: {PAID}\nfree: {FREE}\nstranger: {STRANGER}\n"
FIN, RST = "FIN", "RST"
MARK = "name-of-attack--"
"""Replaced by the name of the attack, of the same length."""
LISTED = frozenset(
    {
        "/v1/chat/completions", "/v1/chat/completions/batch", "/v1/completions", "/v1/responses", "/v1/embeddings", "/classify",
        "/pooling", "/v1/messages", "/v1/models", "/score", "/v1/score", "/rerank", "/v1/rerank", "/v2/rerank",
    }
)  # fmt: skip
BIG = 100_000
LONG = "word " * 100


@dataclass(frozen=True)
class Attack:
    """What a client sends, step by step: bytes, a pause in seconds, `FIN` or `RST`."""

    kind: str
    mark: str
    name: str
    steps: tuple[bytes | float | str, ...]


def sent(head: str, body: bytes = b"", *, length: bool = True, mark: str = MARK) -> bytes:
    """A request: first line and fields (lines), with the mark of its attack."""
    lines = [head.strip("\n"), "Host: gateway", f"X-Attack: {mark}"]
    lines += [f"Content-Length: {len(body)}"] if length else []
    return "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + body


def _auth(key: str = PAID) -> str:
    return f"\r\nAuthorization: Bearer {key}"


def chat(**fields: Any) -> bytes:
    """A chat request that is within the limits but for these fields."""
    asked = {
        "model": "m",
        "max_tokens": 5,
        "messages": [{"role": "user", "content": "hi"}],
    } | fields
    return json.dumps({name: one for name, one in asked.items() if one is not ...}).encode()


def completion(**fields: Any) -> bytes:
    """The same for a completion."""
    asked = {"model": "m", "max_tokens": 5, "prompt": "hi"} | fields
    return json.dumps({name: one for name, one in asked.items() if one is not ...}).encode()


GREEDY = completion(max_tokens=BIG)
POST = "POST /v1/completions HTTP/1.1"


Step = bytes | float | str
Rows = Iterator[tuple[str, bytes | tuple[Step, ...]]]


def _framing() -> Rows:
    hidden = "POST /v1/completions HTTP/1.1" + _auth()

    inner = sent(hidden, GREEDY)
    zero_then = b"0\r\n\r\n" + inner
    both = completion() + inner

    def fields(lines: str, body: bytes) -> bytes:
        return sent(POST + _auth() + "\r\n" + lines, body, length=False)

    size = len(completion())
    for what, lines, body in (
        ("length and chunked", f"Content-Length: {size}\r\nTransfer-Encoding: chunked", zero_then),
        ("chunked and length", "Transfer-Encoding: chunked\r\nContent-Length: 6", zero_then),
        (
            "two lengths",
            f"Content-Length: {size}\r\nContent-Length: 0",
            both,
        ),
        (
            "two lengths, small first",
            f"Content-Length: 0\r\nContent-Length: {size}",
            inner,
        ),
        ("a list of lengths", f"Content-Length: {size}, 0", both),
        ("equal lengths", f"Content-Length: {size}, {size}", both),
        ("length with plus", f"Content-Length: +{size}", both),
        ("negative length", "Content-Length: -1", inner),
        ("length in hex", "Content-Length: 0x10", inner),
        ("length with underscore", "Content-Length: 1_0", inner),
        ("length with a point", f"Content-Length: {size}.0", both),
        ("length of other digits", "Content-Length: \xb2\xb3", inner),
        ("length beyond 64 bits", "Content-Length: 18446744073709551616", inner),
        ("empty length", "Content-Length: ", inner),
        ("length with tab", f"Content-Length:\t{size}", both),
        ("space before colon", "Content-Length : 0", inner),
        ("folded length", f"Content-Length:\r\n {size}", both),
        ("folded encoding", "Transfer-Encoding:\r\n chunked", zero_then),
        ("xchunked", "Transfer-Encoding: xchunked", zero_then),
        ("chunked, identity", "Transfer-Encoding: chunked, identity", zero_then),
        ("identity, chunked", "Transfer-Encoding: identity, chunked", zero_then),
        ("gzip, chunked", "Transfer-Encoding: gzip, chunked", zero_then),
        ("chunked twice", "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked", zero_then),
        (
            "chunked and identity fields",
            "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity",
            zero_then,
        ),
        ("quoted chunked", 'Transfer-Encoding: "chunked"', zero_then),
        ("vertical tab", "Transfer-Encoding: \x0bchunked", zero_then),
        ("NUL in encoding", "Transfer-Encoding: chunked\x00", zero_then),
        ("space in name", "Transfer Encoding: chunked", zero_then),
        ("underscore for hyphen", "Transfer_Encoding: chunked", zero_then),
        ("capitals", "TRANSFER-ENCODING: CHUNKED", zero_then),
        ("empty encoding", "Transfer-Encoding: ", zero_then),
        (
            "connection drops length",
            f"Connection: content-length\r\nContent-Length: {size}",
            both,
        ),
        (
            "connection drops encoding",
            "Connection: transfer-encoding\r\nTransfer-Encoding: chunked",
            zero_then,
        ),
        (
            "connection drops host",
            f"Connection: host, x-attack\r\nContent-Length: {size}",
            both,
        ),
        (
            "connection drops authorization",
            f"Connection: authorization\r\nContent-Length: {size}",
            both,
        ),
        (
            "TE trailers",
            f"TE: trailers\r\nConnection: TE\r\nContent-Length: {size}",
            both,
        ),
        (
            "upgrade to h2c",
            f"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\nContent-Length: {size}",
            both,
        ),
        (
            "upgrade to websocket",
            "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nContent-Length: 0",
            inner,
        ),
        (
            "expect continue",
            f"Expect: 100-continue\r\nContent-Length: {size}",
            both,
        ),
        (
            "expect something else",
            f"Expect: 200-ok\r\nContent-Length: {size}",
            both,
        ),
        ("no length, with a body", "X-Empty: 1", inner),
        ("bare LF in fields", f"X-A: b\nContent-Length: {size}", both),
        (
            "bare CR in a field",
            f"X-A: b\rContent-Length: 0\r\nContent-Length: {size}",
            both,
        ),
        ("NUL in a field", f"X-A: b\x00c\r\nContent-Length: {size}", both),
        ("empty name", f": value\r\nContent-Length: {size}", both),
        ("a line without colon", f"Content-Length {size}", inner),
    ):
        yield what, fields(lines, body)
    for what, chunked in (
        ("chunk size in upper hex", f"{size:X}\r\n"),
        ("chunk size with leading zeros", f"{size:0100x}\r\n"),
        ("chunk size with 0x", f"0x{size:x}\r\n"),
        ("chunk size with sign", f"+{size:x}\r\n"),
        ("chunk size with space", f"{size:x} \r\n"),
        ("chunk size and LF", f"{size:x}\n"),
        ("chunk size beyond 64 bits", "ffffffffffffffff1\r\n"),
        ("chunk size wraps", f"1{size:016x}\r\n"),
        ("chunk extension", f"{size:x};a=b\r\n"),
        ("chunk extension with quotes", f'{size:x};a="\n0\n"\r\n'),
        ("chunk extension with LF", f"{size:x};a\nb\r\n"),
        ("chunk size empty", "\r\n"),
        ("chunk size negative", "-1\r\n"),
        ("chunk too short", "2\r\n"),
    ):  # fmt: skip
        yield (
            what,
            fields(
                "Transfer-Encoding: chunked",
                chunked.encode() + completion() + b"\r\n0\r\n\r\n" + inner,
            ),
        )
    for what, tail in (
        ("trailer sets length", b"0\r\nContent-Length: 5\r\n\r\n"),
        ("trailer sets key", b"0\r\nAuthorization: Bearer x\r\n\r\n"),
        ("trailer has LF", b"0\r\nA: b\n\n"),
        ("trailer of a request line", b"0\r\nPOST /v1/completions HTTP/1.1\r\n\r\n"),
        ("last chunk with extension", b"0;x\r\n\r\n"),
        ("last chunk 00", b"00\r\n\r\n"),
    ):
        yield (
            what,
            fields(
                "Transfer-Encoding: chunked",
                b"%x\r\n%b\r\n" % (size, completion()) + tail + inner,
            ),
        )
    for what, before in (
        ("HTTP/1.0 with chunked", "POST /v1/completions HTTP/1.0"),
        ("HTTP/0.9", "POST /v1/completions"),
        ("HTTP/2.0", "POST /v1/completions HTTP/2.0"),
        ("HTTP/1.2", "POST /v1/completions HTTP/1.2"),
        ("HTTP/1.10", "POST /v1/completions HTTP/1.10"),
        ("http in small letters", "POST /v1/completions http/1.1"),
        ("two spaces", "POST  /v1/completions HTTP/1.1"),
        ("tab for space", "POST\t/v1/completions\tHTTP/1.1"),
        ("space at the end", "POST /v1/completions HTTP/1.1 "),
        ("empty lines first", "\r\n\r\nPOST /v1/completions HTTP/1.1"),
        ("PRI", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\nPOST /v1/completions HTTP/1.1"),
    ):
        yield (
            what,
            sent(before + _auth() + "\r\nTransfer-Encoding: chunked", zero_then, length=False),
        )


def _targets() -> Rows:
    generating = (
        "/v1/completions#", "/v1/completions#a?b", "/v1/completions?", "/v1/completions?a=b#c",
        "/v1/completions%23", "/v1/completions%3F", "/v1/completions;a", "/v1/completions/",
        "//v1/completions", "/v1//completions", "/./v1/completions", "/v1/./completions",
        "/v1/x/../completions", "/../v1/completions", "/v1/%2e%2e/v1/completions",
        "/v1%2fcompletions", "/v1%2Fcompletions", "/v1/%63ompletions", "/v1/completion%73",
        "/%76%31/completions", "/v1/%2563ompletions", "/v1/Completions", "/V1/completions",
        "/v1/completions%00", "/v1/completions%20", "/v1/completions%0d%0a", "/v1/completions\x80",
        "/v1\\completions", "/v1/%c0%afcompletions", "/v1/completions%", "/v1/completions%zz",
        "http://gateway/v1/completions", "http://other/v1/completions#", "HTTP://GATEWAY/v1/completions",
        "http:/v1/completions", "http:///v1/completions", "https://gateway/v1/completions",
        "ws://gateway/v1/completions", "http://a@gateway/v1/completions", "http://gateway?/v1/completions",
        "http://gateway#/v1/completions", "http://gateway/#/../v1/completions",
        "/v1/chat/completions/../../completions", "v1/completions", "*", "", "/", "?/v1/completions",
        "#/v1/completions", "/v1/models/../completions", "/v1/models?/../completions",
        "/v1/models#/../completions", "/health/../v1/completions", "/v1/completions?#",
    )  # fmt: skip
    for target in generating:
        yield (
            f"generates at {target!r}",
            sent(f"POST {target} HTTP/1.1" + _auth(), GREEDY),
        )
    for target in (
        "/v1/chat/completions/batch", "/invocations", "/inference/v1/generate", "/generate", "/v2/chat",
        "/cohere/v2/chat", "/v1/audio/transcriptions", "/v1/audio/translations", "/v1/audio/speech",
        "/score", "/v1/score", "/rerank", "/v1/rerank", "/v2/rerank", "/pooling", "/classify",
        "/v1/chat/completions/render", "/v1/completions/render", "/v1/realtime", "/v1/messages/batches",
        "/v1/batches", "/v1/files", "/v1/images/generations", "/v1/videos", "/api/generate", "/api/chat",
        "/ping", "/version", "/load", "/v1/responses/resp_1/cancel", "/sleep", "/wake_up",
        "/is_sleeping", "/collective_rpc", "/v1/load_lora_adapter", "/v1/unload_lora_adapter",
        "/update_weights", "/reset_prefix_cache", "/reset_mm_cache", "/reset_encoder_cache",
        "/start_profile", "/stop_profile", "/scale_elastic_ep", "/pause", "/resume",
        "/init_weights_update_group", "/server_info", "/abort_requests", "/tokenize", "/detokenize",
        "/tokenizer_info", "/docs", "/openapi.json", "/redoc", "/metrics", "/metrics/", "/server_info?",
    ):  # fmt: skip
        yield (
            f"reaches {target}",
            sent(f"POST {target} HTTP/1.1" + _auth(), GREEDY),
        )
    for target in (
        "/metrics", "/server_info", "/docs", "/openapi.json", "/load", "/version", "/metrics#", "//metrics",
        "/v1/models/../../metrics", "/%6detrics", "/v1/responses/resp_1", "/v1/models%2f..%2f..%2fmetrics",
        "http://gateway/metrics",
    ):  # fmt: skip
        yield f"reads {target}", sent(f"GET {target} HTTP/1.1" + _auth())


def _methods() -> Rows:
    for method in (
        "GET", "PUT", "PATCH", "DELETE", "HEAD", "TRACE", "PURGE", "QUERY", "REPORT", "LINK", "post", "Post", "POSTS",
        "OPTIONS", "PROPFIND", "MKCOL", "SEARCH", "M-SEARCH", "SOURCE", "PO\x00ST", "P", "",
    ):  # fmt: skip
        yield (
            f"{method!r} generates",
            sent(f"{method} /v1/completions HTTP/1.1" + _auth(), GREEDY),
        )
    for path in ("/sleep", "/v1/load_lora_adapter", "/metrics", "/v1/responses/x", "/v1/files/x"):
        for method in ("OPTIONS", "DELETE", "HEAD"):
            yield (
                f"{method} {path}",
                sent(f"{method} {path} HTTP/1.1" + _auth()),
            )
    yield (
        "CONNECT engine",
        (sent("CONNECT 127.0.0.1:8000 HTTP/1.1" + _auth()) + sent(POST + _auth(), GREEDY)),
    )
    yield (
        "method override",
        sent(
            "GET /v1/models HTTP/1.1"
            + _auth()
            + "\r\nX-HTTP-Method-Override: POST\r\nX-Original-URL: /v1/completions",
            GREEDY,
        ),
    )
    yield (
        "original URL",
        sent(
            POST
            + _auth()
            + "\r\nX-Original-URL: /sleep\r\nX-Rewrite-URL: /sleep\r\nX-Forwarded-Prefix: /sleep",
            completion(),
        ),
    )


def _encodings() -> Rows:
    for coding in ("gzip", "deflate", "br", "zstd", "identity", "x-gzip", "gzip, identity", "GZIP"):
        packed = (
            zlib.compress(GREEDY, wbits=31) if "gzip" in coding.lower() else zlib.compress(GREEDY)
        )
        data = GREEDY if coding == "identity" else packed
        yield (
            f"content-encoding {coding}",
            sent(POST + _auth() + f"\r\nContent-Encoding: {coding}", data),
        )
    text = GREEDY.decode()
    for codec in (
        "utf-16",
        "utf-16-le",
        "utf-16-be",
        "utf-32",
        "utf-32-le",
        "utf-32-be",
        "utf-8-sig",
        "utf-7",
    ):
        yield (
            f"body in {codec}",
            sent(
                POST + _auth() + f"\r\nContent-Type: application/json; charset={codec}",
                text.encode(codec),
            ),
        )
    for kind in (
        "text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "application/json; charset=utf-16",
        "application/octet-stream", "application/jsonl", "APPLICATION/JSON", "application/vnd.api+json", "", "application/msgpack",
    ):  # fmt: skip
        yield (
            f"content type {kind!r}",
            sent(POST + _auth() + f"\r\nContent-Type: {kind}", GREEDY),
        )


def _output_bodies() -> Rows:
    def at(path: str, body: bytes) -> bytes:
        return sent(f"POST {path} HTTP/1.1" + _auth(), body)

    chats, texts = "/v1/chat/completions", "/v1/completions"
    values: tuple[Any, ...] = (
        BIG, -1, 0, "100000", 1e5, 1e300, "1e5", "1_00_000", " 100000 ", "１０００００", True, [100000], {"value": 100000},
        None, 2**31, 2**63, 2**64, 10**30, "", "null", 51,
    )  # fmt: skip
    for value in values:
        yield f"chat max_tokens {value!r}", at(chats, chat(max_tokens=value))
        yield f"chat max_completion_tokens {value!r}", at(chats, chat(max_completion_tokens=value))
    for value in (BIG, 0, -1, "100000", 1e5, None, 10**30, 51):
        yield f"text max_tokens {value!r}", at(texts, completion(max_tokens=value))
        yield f"messages max_tokens {value!r}", at("/v1/messages", chat(max_tokens=value))
        yield (
            f"responses max_output_tokens {value!r}",
            at(
                "/v1/responses",
                completion(max_tokens=..., prompt=..., input="hi", max_output_tokens=value),
            ),
        )
    yield "chat without a limit", at(chats, chat(max_tokens=...))
    yield "messages without a limit", at("/v1/messages", chat(max_tokens=...))
    yield "responses without a limit", at("/v1/responses", b'{"model":"m","input":"hi"}')
    yield "zero beside a large one", at(chats, chat(max_completion_tokens=0, max_tokens=BIG))
    yield "null beside a large one", at(chats, chat(max_completion_tokens=None, max_tokens=BIG))
    yield "small beside a large one", at(chats, chat(max_completion_tokens=5, max_tokens=BIG))
    yield "large beside a small one", at(chats, chat(max_completion_tokens=BIG, max_tokens=5))
    yield "echo and zero beside a list", at(texts, completion(echo=True, max_tokens=-1))
    yield "echo as a string", at(texts, completion(echo="true", max_tokens=0))
    yield "echo in chat and zero", at(chats, chat(echo=True, max_tokens=0))
    for one, two in ((5, BIG), (BIG, 5)):
        yield (
            f"max_tokens twice, {one} then {two}",
            at(texts, b'{"model":"m","prompt":"hi","max_tokens":%d,"max_tokens":%d}' % (one, two)),
        )
    for what, raw in (
        ("escaped name", rb'{"model":"m","prompt":"hi","max\u005ftokens":100000}'),
        (
            "escaped name twice",
            rb'{"model":"m","prompt":"hi","max_tokens":5,"max\u005ftokens":100000}',
        ),
        ("capital name", b'{"model":"m","prompt":"hi","Max_Tokens":100000}'),
        ("number with exponent", b'{"model":"m","prompt":"hi","max_tokens":1e5}'),
        ("number with a fraction of zero", b'{"model":"m","prompt":"hi","max_tokens":100000.0}'),
        ("minus zero", b'{"model":"m","prompt":"hi","max_tokens":-0}'),
        ("Infinity", b'{"model":"m","prompt":"hi","max_tokens":Infinity}'),
        ("NaN", b'{"model":"m","prompt":"hi","max_tokens":NaN}'),
        ("1e999", b'{"model":"m","prompt":"hi","max_tokens":1e999}'),
        ("5000 digits", b'{"model":"m","prompt":"hi","max_tokens":' + b"9" * 5000 + b"}"),
        ("leading zeros", b'{"model":"m","prompt":"hi","max_tokens":000100000}'),
        ("comment", b'{"model":"m","prompt":"hi",/*"*/"max_tokens":100000/*"*/}'),
        ("comma at the end", b'{"model":"m","prompt":"hi","max_tokens":100000,}'),
        ("a list around it", b'[{"model":"m","prompt":"hi","max_tokens":100000}]'),
        ("a string of JSON", json.dumps(GREEDY.decode()).encode()),
        ("white space first", b" \r\n\t" + GREEDY),
        ("two documents", completion() + GREEDY),
        ("lines of JSON", completion() + b"\n" + GREEDY),
        ("a NUL at the end", GREEDY + b"\x00"),
        ("a NUL first", b"\x00" + GREEDY),
        ("a lone surrogate", rb'{"model":"m","prompt":"\ud800","max_tokens":100000}'),
        ("bytes that are not UTF-8", b'{"model":"m","prompt":"\xff","max_tokens":100000}'),
        ("an overlong slash", b'{"model":"m","prompt":"\xc0\xaf","max_tokens":100000}'),
        ("control characters in a string", b'{"model":"m","prompt":"\x01","max_tokens":100000}'),
        (
            "deep nesting",
            b'{"model":"m","max_tokens":100000,"prompt":"hi","x":'
            + b"[" * 50000
            + b"]" * 50000
            + b"}",
        ),
        (
            "nesting below a bound",
            b'{"model":"m","max_tokens":100000,"prompt":"hi","x":' + b"[" * 500 + b"]" * 500 + b"}",
        ),
        ("empty", b""),
        ("null", b"null"),
        ("true", b"true"),
    ):
        yield what, at(texts, raw)
    for answers in (129, 10**6, "1000", 1e3, -1, 0, "129 "):
        yield f"n {answers!r}", at(texts, completion(n=answers))
        yield f"best_of {answers!r}", at(texts, completion(best_of=answers))
    yield "n of a list of prompts", at(texts, completion(prompt=["a"] * 64, n=64))
    yield "a thousand prompts", at(texts, completion(prompt=["a"] * 1000))
    yield "many lists of tokens", at(texts, completion(prompt=[[1]] * 1000))
    yield "beam search", at(texts, completion(use_beam_search=True, n=500, max_tokens=5))
    yield "min_tokens", at(texts, completion(min_tokens=BIG, max_tokens=BIG))
    yield "extra_body", at(texts, completion(extra_body={"max_tokens": BIG}, max_tokens=BIG))


def _input_bodies() -> Rows:
    def at(path: str, body: bytes) -> bytes:
        return sent(f"POST {path} HTTP/1.1" + _auth(), body)

    chats, texts, answers = "/v1/chat/completions", "/v1/completions", "/v1/responses"

    def said(content: Any, role: str = "user", **more: Any) -> bytes:
        return chat(messages=[{"role": role, "content": content, **more}])

    def response(items: Any, **more: Any) -> bytes:
        asked = {"model": "m", "input": items, "max_output_tokens": 5} | more
        return json.dumps(asked).encode()

    tool = {"type": "function", "function": {"name": "f", "description": LONG, "parameters": {}}}
    for what, path, body in (
        ("chat, a long content", chats, said(LONG)),
        ("chat, parts", chats, said([{"type": "text", "text": LONG}])),
        ("chat, many parts", chats, said([{"type": "text", "text": "word "}] * 100)),
        ("chat, a part of unknown type", chats, said([{"type": "thinking", "thinking": LONG}])),
        ("chat, a refusal part", chats, said([{"type": "refusal", "refusal": LONG}], "assistant")),
        ("chat, many messages", chats, chat(messages=[{"role": "user", "content": "word"}] * 100)),
        ("chat, a name", chats, said("hi", name=LONG)),
        ("chat, reasoning", chats, said("hi", "assistant", reasoning_content=LONG)),
        (
            "chat, tool calls",
            chats,
            said(
                None,
                "assistant",
                tool_calls=[
                    {
                        "id": "1",
                        "type": "function",
                        "function": {"name": "f", "arguments": json.dumps({"x": LONG})},
                    }
                ],
            ),
        ),
        ("chat, a tool's answer", chats, said(LONG, "tool", tool_call_id="1")),
        ("chat, a role of its own", chats, said(LONG, "critic")),
        ("chat, a role that is long", chats, said("hi", LONG)),
        ("chat, tools", chats, chat(tools=[tool])),
        ("chat, functions", chats, chat(functions=[tool["function"]])),
        ("chat, documents", chats, chat(documents=[{"title": "t", "text": LONG}])),
        ("chat, template arguments", chats, chat(chat_template_kwargs={"x": LONG})),
        ("chat, template arguments nested", chats, chat(chat_template_kwargs={"x": {"y": [LONG]}})),
        ("chat, a template", chats, chat(chat_template=LONG)),
        (
            "chat, a template that loops",
            chats,
            chat(chat_template="{% for i in range(100000) %}a{% endfor %}" + LONG),
        ),
        (
            "chat, an image",
            chats,
            said([{"type": "image_url", "image_url": {"url": "data:image/png;base64,aaaa"}}]),
        ),
        ("chat, an image by another name", chats, said([{"image": "data:image/png;base64,aaaa"}])),
        (
            "chat, an image without a type",
            chats,
            said([{"image_url": {"url": "data:image/png;base64,aaaa"}}]),
        ),
        ("chat, embeddings of an image", chats, said([{"type": "text", "image_embeds": "aaaa"}])),
        (
            "chat, audio",
            chats,
            said([{"type": "input_audio", "input_audio": {"data": "aaaa", "format": "wav"}}]),
        ),
        (
            "chat, audio by URL",
            chats,
            said([{"type": "audio_url", "audio_url": {"url": "http://x/a"}}]),
        ),
        ("chat, video", chats, said([{"type": "video_url", "video_url": {"url": "http://x/a"}}])),
        ("chat, a file", chats, said([{"type": "file", "file": {"file_id": "x"}}])),
        ("chat, a prompt as well", chats, chat(prompt=LONG)),
        ("chat, prompt_embeds", chats, chat(prompt_embeds="A" * 500)),
        ("text, a long prompt", texts, completion(prompt=LONG)),
        ("text, tokens", texts, completion(prompt=[1] * 301)),
        ("text, a list of prompts", texts, completion(prompt=["a", LONG])),
        ("text, a list of tokens", texts, completion(prompt=[[1], [1] * 301])),
        ("text, prompt_embeds", texts, completion(prompt_embeds="A" * 500)),
        ("text, no prompt but embeds", texts, completion(prompt=..., prompt_embeds=["A" * 500])),
        ("text, a suffix", texts, completion(suffix=LONG)),
        (
            "text, messages",
            texts,
            completion(prompt=..., messages=[{"role": "user", "content": LONG}]),
        ),
        ("text, an object", texts, completion(prompt={"prompt_token_ids": [1] * 400})),
        ("text, characters of four bytes", texts, completion(prompt="\U0001f600" * 76)),
        ("text, what NFKC makes longer", texts, completion(prompt="\ufdfa" * 101)),
        (
            "text, escaped letters",
            texts,
            b'{"model":"m","max_tokens":5,"prompt":"' + rb"\u0061" * 301 + b'"}',
        ),
        (
            "text, prompt twice",
            texts,
            b'{"model":"m","max_tokens":5,"prompt":"a","prompt":"' + b"a" * 301 + b'"}',
        ),
        (
            "text, prompt twice, long first",
            texts,
            b'{"model":"m","max_tokens":5,"prompt":"'
            + b"a" * 301
            + b'","prompt":["'
            + b"a" * 301
            + b'"]}',
        ),
        ("text, cut by the engine", texts, completion(prompt=LONG, truncate_prompt_tokens=100_000)),
        ("text, cut to minus one", texts, completion(prompt=LONG, truncate_prompt_tokens=-1)),
        (
            "text, kv_transfer_params",
            texts,
            completion(kv_transfer_params={"prompt_token_ids": [1] * 400}, prompt=[1] * 301),
        ),
        ("responses, a long input", answers, response(LONG)),
        ("responses, instructions", answers, response("hi", instructions=LONG)),
        ("responses, a message", answers, response([{"role": "user", "content": LONG}])),
        (
            "responses, input_text",
            answers,
            response([{"role": "user", "content": [{"type": "input_text", "text": LONG}]}]),
        ),
        (
            "responses, function_call_output",
            answers,
            response([{"type": "function_call_output", "call_id": "1", "output": LONG}]),
        ),
        (
            "responses, function_call",
            answers,
            response([{"type": "function_call", "call_id": "1", "name": "f", "arguments": LONG}]),
        ),
        (
            "responses, input_file",
            answers,
            response(
                [
                    {
                        "role": "user",
                        "content": [{"type": "input_file", "file_data": LONG, "file": 1}],
                    }
                ]
            ),
        ),
        (
            "responses, reasoning",
            answers,
            response(
                [
                    {
                        "type": "reasoning",
                        "id": "1",
                        "summary": [],
                        "content": [{"type": "reasoning_text", "text": LONG}],
                    }
                ]
            ),
        ),
        (
            "responses, encrypted reasoning",
            answers,
            response([{"type": "reasoning", "encrypted_content": LONG}]),
        ),
        (
            "responses, tools",
            answers,
            response("hi", tools=[{"type": "function", "name": "f", "description": LONG}]),
        ),
        (
            "responses, a stored prompt",
            answers,
            response("hi", prompt={"id": "p", "variables": {"x": LONG}}),
        ),
        ("responses, previous response", answers, response(LONG, previous_response_id="resp_1")),
        ("responses, background", answers, response(LONG, background=True)),
        (
            "responses, earlier messages",
            answers,
            response("hi", previous_input_messages=[{"role": "user", "content": LONG}]),
        ),
        (
            "embeddings, a long input",
            "/v1/embeddings",
            completion(prompt=..., max_tokens=..., input=LONG),
        ),
        (
            "embeddings, tokens",
            "/v1/embeddings",
            completion(prompt=..., max_tokens=..., input=[1] * 301),
        ),
        (
            "embeddings, one long of many",
            "/v1/embeddings",
            completion(prompt=..., max_tokens=..., input=["a"] * 20 + [LONG]),
        ),
        (
            "embeddings, messages",
            "/v1/embeddings",
            completion(prompt=..., max_tokens=..., messages=[{"role": "user", "content": LONG}]),
        ),
        (
            "embeddings, an image",
            "/v1/embeddings",
            completion(
                prompt=...,
                max_tokens=...,
                messages=[
                    {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "x"}}]}
                ],
            ),
        ),
        ("pooling, a long input", "/pooling", json.dumps({"model": "m", "input": LONG}).encode()),
        ("pooling, data", "/pooling", json.dumps({"model": "m", "data": LONG}).encode()),
        ("pooling, messages", "/pooling", said(LONG)),
        ("classify, a long input", "/classify", json.dumps({"input": ["a", LONG]}).encode()),
        ("messages, a long content", "/v1/messages", said(LONG)),
        ("messages, system", "/v1/messages", chat(system=LONG)),
        ("messages, system blocks", "/v1/messages", chat(system=[{"type": "text", "text": LONG}])),
        (
            "messages, tools",
            "/v1/messages",
            chat(tools=[{"name": "f", "description": LONG, "input_schema": {}}]),
        ),
        (
            "messages, a tool result",
            "/v1/messages",
            said([{"type": "tool_result", "tool_use_id": "1", "content": LONG}]),
        ),
        (
            "messages, a tool use",
            "/v1/messages",
            said([{"type": "tool_use", "id": "1", "name": "f", "input": {"x": LONG}}], "assistant"),
        ),
        (
            "messages, thinking",
            "/v1/messages",
            said([{"type": "thinking", "thinking": LONG}], "assistant"),
        ),
        (
            "messages, a document",
            "/v1/messages",
            said([{"type": "document", "source": {"type": "text", "data": LONG}}]),
        ),
        (
            "messages, an image",
            "/v1/messages",
            said([{"type": "image", "source": {"type": "base64", "data": "aaaa"}, "image": 1}]),
        ),
    ):
        yield what, at(path, body)


def _fields() -> Rows:
    def with_fields(lines: str) -> bytes:
        return sent(POST + _auth() + "\r\n" + lines, GREEDY)

    for lines in (
        "X-Request-Id: a\r\n\tb", "Host: second", "Forwarded: for=127.0.0.1", "X-Forwarded-For: 127.0.0.1", "X-Real-Ip: 127.0.0.1",
        "X-Barostat-Tenant: paid", "X-Barostat-Shadow: true", "X-Barostat-Limits: none", "X-Data-Parallel-Rank: 0",
        "Authorization: Bearer other", "X-Api-Key: other", "Cookie: a=b", "Range: bytes=0-1", "Content-Range: bytes 0-1/2",
        "A" * 70_000 + ": b", "A: " + "b" * 70_000, "Proxy-Connection: close", "Keep-Alive: timeout=9", "Content-Length:0x0",
        "Max-Forwards: 0", "Via: 1.1 a", "X-Forwarded-Proto: https", "A: \x7f", "A\x7f: b", "\xc0: b", "A: \xff", "@: b", "A(b): c",
    ):  # fmt: skip
        yield f"field {lines[:40]!r}", with_fields(lines)
    yield "two thousand fields", with_fields("\r\n".join(f"A{number}: b" for number in range(2000)))
    yield (
        "no host",
        (
            f"{POST}{_auth()}\r\nX-Attack: {MARK}\r\nContent-Length: {len(GREEDY)}\r\n\r\n".encode()
            + GREEDY
        ),
    )


def _keys() -> Rows:
    def with_key(lines: str) -> bytes:
        return sent(POST + lines, completion())

    for what, lines in (
        ("no key", ""),
        ("an empty bearer", "\r\nAuthorization: Bearer "),
        ("a bearer alone", "\r\nAuthorization: Bearer"),
        ("basic", f"\r\nAuthorization: Basic {PAID}"),
        ("a key without scheme", f"\r\nAuthorization: {PAID}"),
        ("the tenant's name", "\r\nAuthorization: Bearer paid"),
        ("a beginning of a key", f"\r\nAuthorization: Bearer {PAID[:-1]}"),
        ("a key and more", f"\r\nAuthorization: Bearer {PAID}x"),
        ("a key in capitals", f"\r\nAuthorization: Bearer {PAID.upper()}"),
        ("a key with NUL", f"\r\nAuthorization: Bearer {PAID}\x00"),
        ("a key in quotes", f'\r\nAuthorization: Bearer "{PAID}"'),
        ("a key, then another", f"\r\nAuthorization: Bearer {PAID}, Bearer x"),
        ("another, then a key", f"\r\nAuthorization: Bearer x\r\nAuthorization: Bearer {PAID}"),
        ("the engine's key guessed", "\r\nAuthorization: Bearer EMPTY"),
        ("a key in the cookie", f"\r\nCookie: key={PAID}"),
        ("a key in proxy-authorization", f"\r\nProxy-Authorization: Bearer {PAID}"),
        ("a key folded", f"\r\nAuthorization: Bearer\r\n {PAID}x"),
        ("a key in the line of keys", f"\r\nAuthorization: Bearer paid: {PAID}"),
        ("the key of a tenant not listed", f"\r\nAuthorization: Bearer {STRANGER}"),
        ("a star", "\r\nAuthorization: Bearer *"),
        ("a thousand keys", "".join(f"\r\nAuthorization: Bearer {number}" for number in range(50))),
        ("not ASCII", "\r\nAuthorization: Bearer \xe9"),
        ("an empty x-api-key", "\r\nX-Api-Key: "),
    ):  # fmt: skip
        yield what, with_key(lines)
    yield (
        "a key in the query",
        sent(f"POST /v1/completions?key={PAID}&api_key={PAID} HTTP/1.1", completion()),
    )
    yield (
        "a key in userinfo",
        sent(f"POST http://x:{PAID}@gateway/v1/completions HTTP/1.1", completion()),
    )
    yield (
        "a pipelined request without",
        sent(POST + _auth(), completion(), mark="") + sent(POST, completion()),
    )
    yield (
        "OPTIONS without a key and a body",
        (sent("OPTIONS /v1/completions HTTP/1.1", mark="") + sent(POST, completion())),
    )
    yield "GET models without a key", sent("GET /v1/models HTTP/1.1")
    yield (
        "GET health, then a body",
        sent("GET /health HTTP/1.1", GREEDY) + sent(POST, completion()),
    )


def _hang_ups() -> Rows:
    """Clients that leave, at every stage. Their answers end only when the gateway closes them."""
    whole = completion(user="endless", stream=False)
    streamed = completion(user="endless", stream=True)
    spoken = chat(user="endless", stream=True)

    def asks(body: bytes, path: str = "/v1/completions") -> bytes:
        return sent(f"POST {path} HTTP/1.1" + _auth(), body)

    for end in (FIN, RST):
        for what, body, path in (
            ("an answer", whole, "/v1/completions"),
            ("a stream", streamed, "/v1/completions"),
            ("a chat", spoken, "/v1/chat/completions"),
            ("messages", spoken, "/v1/messages"),
            (
                "a response",
                b'{"model":"m","input":"hi","max_output_tokens":5,"stream":true,"user":"endless"}',
                "/v1/responses",
            ),
        ):
            for wait in (0.0, 0.3):
                yield (
                    f"{end} of {what} after {wait} s",
                    (asks(body, path), wait, end),
                )
        for what, more in (
            ("a second request", asks(completion())),
            ("ten requests", asks(completion()) * 10),
            ("half a head", b"POST /v1/completions HTTP/1.1\r\nHost"),
            ("half a body", asks(completion())[:-5]),
            ("a large body", sent(POST + _auth(), b"x" * 400_000)),
            ("nonsense", b"\x00\x01\x02" * 100),
            ("a health check", sent("GET /health HTTP/1.1")),
            ("empty lines", b"\r\n" * 50),
        ):
            for body in (whole, streamed):
                which = "stream" if body is streamed else "answer"
                yield (
                    f"{end} after {which} and {what} in one write",
                    (asks(body) + more, 0.1, end),
                )
                yield (
                    f"{end} after {which}, then {what}",
                    (asks(body), 0.2, more, 0.1, end),
                )
        yield f"{end} in the head", (asks(whole)[:40], 0.1, end)
        yield f"{end} in the body", (asks(whole)[:-3], 0.1, end)
        yield (
            f"{end} in a chunk",
            (
                sent(POST + _auth() + "\r\nTransfer-Encoding: chunked", b"5\r\nab", length=False),
                0.1,
                end,
            ),
        )
        yield (
            f"{end} while waiting for 100",
            (
                sent(
                    POST + _auth() + "\r\nExpect: 100-continue\r\nContent-Length: 50",
                    length=False,
                ),
                0.1,
                end,
            ),
        )


def attacks() -> list[Attack]:
    """All of them; the name of each is unique."""
    return marked(
        (
            ("framing", _framing()), ("target", _targets()), ("method", _methods()), ("encoding", _encodings()),
            ("output", _output_bodies()), ("input", _input_bodies()), ("field", _fields()), ("key", _keys()),
            ("hang-up", _hang_ups()),
        )
    )  # fmt: skip


def marked(kinds: Iterable[tuple[str, Rows]]) -> list[Attack]:
    """The attacks of these kinds, each with its mark in what it sends."""
    made: list[Attack] = []
    for kind, rows in kinds:
        for at, (what, steps) in enumerate(rows):
            mark = f"{kind}-{at}".ljust(len(MARK), "_").encode()
            several = (steps,) if isinstance(steps, bytes) else steps
            named = [
                one.replace(MARK.encode(), mark) if isinstance(one, bytes) else one
                for one in several
            ]
            made.append(Attack(kind, f"{kind}-{at}", what, tuple(named)))
    return made
