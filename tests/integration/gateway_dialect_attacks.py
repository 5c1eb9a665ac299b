"""Attacks by what a body, a version or a feature is taken for: charsets, forms, dialects of JSON,
upgrades, trailers, overrides, parameters that multiply the work.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from tests.integration.gateway_attacks import BIG, LONG, PAID, Rows, completion, sent

AUTH = f"\r\nAuthorization: Bearer {PAID}"
JSON = "\r\nContent-Type: application/json"
COMPLETIONS = "POST /v1/completions HTTP/1.1"
CHAT = "POST /v1/chat/completions HTTP/1.1"
GREEDY = completion(max_tokens=BIG)
SMALL = completion()
INNER = sent(f"{COMPLETIONS}{AUTH}{JSON}", GREEDY)


def dialect_attacks() -> Iterator[tuple[str, Rows]]:
    """(class, [(name, bytes or steps)])."""
    yield "charset", _charsets()
    yield "form", _forms()
    yield "dialect", _dialects()
    yield "upgrade", _upgrades()
    yield "trailer", _trailers()
    yield "override", _overrides()
    yield "version", _versions()
    yield "multiply", _multipliers()
    yield "agent", _agents()
    yield "conditional", _conditions()


def _post(body: bytes, head: str = COMPLETIONS, fields: str = JSON) -> bytes:
    return sent(f"{head}{AUTH}{fields}", body)


def _chat(**fields: Any) -> bytes:
    asked = {"model": "m", "max_tokens": 5, "messages": [{"role": "user", "content": "hi"}]}
    return json.dumps(asked | fields).encode()


def _charsets() -> Rows:
    text = GREEDY.decode()
    for charset in ("utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-be", "utf-8-sig"):
        yield f"body in {charset}", _post(text.encode(charset))
        said = f"\r\nContent-Type: application/json; charset={charset}"
        yield f"body in {charset}, said", _post(text.encode(charset), fields=said)
    utf7 = text.replace('"', "+ACI-").encode()
    yield "utf-7", _post(utf7, fields="\r\nContent-Type: application/json; charset=utf-7")
    overlong = GREEDY.replace(b"_", b"\xc1\x9f")
    yield "overlong underscore", _post(overlong)
    wide = text.replace("max_tokens", "ｍａｘ_ｔｏｋｅｎｓ").encode()
    yield "full width name", _post(wide)


def _forms() -> Rows:
    pairs = f"model=m&prompt=hi&max_tokens={BIG}".encode()
    form = "\r\nContent-Type: application/x-www-form-urlencoded"
    yield "url-encoded", _post(pairs, fields=form)
    yield "url-encoded, json inside", _post(GREEDY, fields=form)
    yield "text/plain", _post(GREEDY, fields="\r\nContent-Type: text/plain")
    yield (
        "json with parameters",
        _post(GREEDY, fields="\r\nContent-Type: application/vnd.api+json; v=1"),
    )
    yield "no content type", _post(GREEDY, fields="")
    yield "two content types", _post(GREEDY, fields=f"{form}{JSON}")
    yield "content type of 4 KiB", _post(GREEDY, fields=f"{JSON}; a={'x' * 4096}")
    parts = {"model": "m", "prompt": "hi", "max_tokens": str(BIG)}
    for name, boundary in (("multipart", "b"), ("multipart, quoted boundary", "b c")):
        body = b"".join(
            f'--{boundary}\r\nContent-Disposition: form-data; name="{key}"\r\n\r\n{value}\r\n'.encode()
            for key, value in parts.items()
        )
        body += f"--{boundary}--\r\n".encode()
        yield (
            name,
            _post(body, fields=f'\r\nContent-Type: multipart/form-data; boundary="{boundary}"'),
        )
    yield (
        "msgpack",
        _post(
            b"\x83\xa5model\xa1m\xa6prompt\xa2hi\xaamax_tokens\xce\x00\x01\x86\xa0",
            fields="\r\nContent-Type: application/msgpack",
        ),
    )


def _dialects() -> Rows:
    text = GREEDY.decode()
    yield "single quotes", _post(text.replace('"', "'").encode())
    yield "trailing comma", _post(text.replace("}", ",}").encode())
    yield "comment hides the limit", _post(text.replace("{", '{/*"max_tokens": 5,*/', 1).encode())
    yield "line comment", _post(b'{//"max_tokens": 5\n' + GREEDY[1:])
    yield "guard before", _post(b")]}'\n" + GREEDY)
    yield "two documents, small first", _post(SMALL + b"\n" + GREEDY)
    yield "two documents, small last", _post(GREEDY + b"\n" + SMALL)
    yield "record separator", _post(b"\x1e" + SMALL + b"\n\x1e" + GREEDY)
    yield "NUL behind", _post(SMALL + b"\0" + GREEDY)
    yield "in a list", _post(b"[" + GREEDY + b"]")
    yield "a text of JSON", _post(json.dumps(text).encode())
    yield "name without quotes", _post(text.replace('"max_tokens"', "max_tokens").encode())
    yield "vertical tab as blank", _post(text.replace(": ", ":\x0b").encode())
    yield "no-break space as blank", _post(text.replace(": ", ":\u00a0").encode())
    yield "NaN as prompt ids", _post(b'{"model":"m","max_tokens":5,"prompt":[NaN,Infinity]}')
    yield "plus sign", _post(text.replace(str(BIG), f"+{BIG}").encode())
    yield "hexadecimal", _post(text.replace(str(BIG), "0x186A0").encode())
    yield "digits of another script", _post(text.replace(str(BIG), "١٠٠٠٠٠").encode())
    yield "digits of another script in quotes", _post(text.replace(str(BIG), '"١٠٠٠٠٠"').encode())
    yield "underscores in quotes", _post(text.replace(str(BIG), '"100_000"').encode())
    yield "blank in quotes", _post(text.replace(str(BIG), f'" {BIG} "').encode())
    yield "exponent in quotes", _post(text.replace(str(BIG), '"1e5"').encode())
    yield "nested in a model's name", _post(completion(model={"max_tokens": BIG}, max_tokens=...))


def _upgrades() -> Rows:
    for protocol in ("websocket", "h2c", "TLS/1.0", "HTTP/2.0"):
        fields = f"\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: {protocol}\r\nHTTP2-Settings: AAMAAABk"
        yield f"{protocol} on a completion, one more behind", (
            _post(SMALL, fields=f"{JSON}{fields}"), 0.1, INNER,
        )  # fmt: skip
        yield f"{protocol} on /v1/realtime", sent(f"GET /v1/realtime HTTP/1.1{AUTH}{fields}")
    yield "preface of HTTP/2", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes(9) + INNER
    yield "CONNECT and a request in it", (
        sent(f"CONNECT 127.0.0.1:80 HTTP/1.1{AUTH}"), 0.1, INNER.replace(b"/v1/completions", b"/sleep"),
    )  # fmt: skip
    yield "100-continue, body and a second request", (
        sent(f"{COMPLETIONS}{AUTH}{JSON}\r\nExpect: 100-continue", SMALL), INNER,
    )  # fmt: skip
    yield "unknown expectation", _post(GREEDY, fields=f"{JSON}\r\nExpect: 200-ok")


def _chunked(body: bytes, trailer: bytes, extension: bytes = b"") -> bytes:
    head = f"{COMPLETIONS}{AUTH}{JSON}\r\nTransfer-Encoding: chunked\r\nTrailer: X-A"
    chunk = b"%x%b\r\n%b\r\n0\r\n%b\r\n" % (len(body), extension, body, trailer)
    return sent(head, length=False) + chunk


def _trailers() -> Rows:
    yield "a length in the trailer", _chunked(SMALL, b"Content-Length: 999\r\n") + INNER
    yield "an encoding in the trailer", _chunked(GREEDY, b"Content-Encoding: identity\r\n")
    yield "a key in the trailer", _chunked(SMALL, b"Authorization: Bearer x\r\n") + INNER
    yield "a path in the trailer", _chunked(GREEDY, b"X-Original-URL: /sleep\r\n")
    yield "a trailer of a request", _chunked(SMALL, INNER.replace(b"\r\n\r\n", b"\r\n"))
    yield "extension with a quote", _chunked(GREEDY, b"", b';a="\\"x"')
    yield "extension of 8 KiB", _chunked(GREEDY, b"", b";a=" + b"x" * 8192)
    yield "extension with a request", _chunked(GREEDY, b"", b";a=POST /sleep HTTP/1.1")
    yield "folded trailer", _chunked(GREEDY, b"X-A: 1\r\n 2\r\n")
    yield "trailer without a colon", _chunked(GREEDY, b"nothing\r\n")


def _overrides() -> Rows:
    for name in (
        *("X-HTTP-Method-Override", "X-HTTP-Method", "X-Method-Override"),
        *("X-Original-URL", "X-Rewrite-URL", "X-Forwarded-Uri", "X-Forwarded-Prefix"),
        *("X-Original-Host", "X-Forwarded-Host", "Forwarded", "X-Envoy-Original-Path"),
        *("Destination", "Content-Location", "X-Accel-Redirect"),
    ):
        value = "DELETE" if "Method" in name else "/collective_rpc"
        yield f"{name}", _post(GREEDY, fields=f"{JSON}\r\n{name}: {value}")
    for name in ("max_tokens", "X-Max-Tokens", "X-Tenant", "X-Api-Key", "OpenAI-Organization"):
        yield f"{name} as a field", _post(GREEDY, fields=f"{JSON}\r\n{name}: paid")


def _versions() -> Rows:
    for version in (
        *("", "HTTP/0.9", "HTTP/1.0", "HTTP/1.2", "HTTP/1.10", "HTTP/2.0", "HTTP/3"),
        *("http/1.1", "HTTP/01.1", "HTTP /1.1", "HTTPS/1.1", "RTSP/1.0"),
    ):
        head = f"POST /v1/completions {version}".rstrip()
        yield f"version {version!r}", _post(GREEDY, head=head)


def _multipliers() -> Rows:
    fields: dict[str, Any]
    for fields in (
        {"n": 1000}, {"n": "1000"}, {"n": 1e3}, {"best_of": 1000}, {"use_beam_search": True, "n": 1000},
        {"n": 1000, "stream": True}, {"min_tokens": BIG, "max_tokens": None}, {"echo": True, "prompt": LONG, "max_tokens": 0},
        {"prompt": ["hi"] * 1000}, {"prompt": [[1, 2]] * 1000}, {"n": 40, "prompt": ["hi"] * 40},
        {"prompt": "hi", "suffix": LONG}, {"prompt": None, "prompt_embeds": ["A" * 4000] * 10},
        {"repetition_penalty": 1, "ignore_eos": True, "max_tokens": None},
        {"truncate_prompt_tokens": 5, "prompt": LONG}, {"truncate_prompt_tokens": -1, "prompt": LONG},
        {"vllm_xargs": {"max_tokens": BIG}, "max_tokens": None},
        {"extra_body": {"max_tokens": BIG}, "max_tokens": ...},
        {"max_new_tokens": BIG, "max_tokens": ...}, {"max_length": BIG, "max_tokens": ...},
    ):  # fmt: skip
        yield json.dumps(fields, default=str)[:99], _post(completion(**fields))
    for fields in (
        {"n": 1000, "stream": True}, {"documents": [{"text": LONG}]}, {"tools": [_function(description=LONG)]},
        {"response_format": {"type": "json_schema", "json_schema": {"name": "a", "schema": {"description": LONG}}}},
        {"messages": [{"role": "user", "content": [{"type": "text", "text": "word "}] * 400}]},
        {"messages": [{"role": "user", "name": LONG, "content": "hi"}]},
        {"messages": [{"role": "assistant", "reasoning_content": LONG, "content": "hi"}] * 2},
        {"messages": [{"role": "assistant", "refusal": LONG, "content": "hi"}] * 2},
        {"messages": [{"role": "assistant", "tool_calls": [{"id": "a"} | _function(arguments=LONG)]}]},
        {"max_tokens": BIG, "max_completion_tokens": 5}, {"max_tokens": 5, "max_completion_tokens": BIG},
    ):  # fmt: skip
        yield f"chat {json.dumps(fields)[:99]}", _post(_chat(**fields), head=CHAT)


def _function(**fields: str) -> dict[str, Any]:
    return {"type": "function", "function": {"name": "f"} | fields}


def _agents() -> Rows:
    fields: dict[str, Any]
    responses = "POST /v1/responses HTTP/1.1"
    messages = "POST /v1/messages HTTP/1.1"
    for fields in (
        {"reasoning": {"max_tokens": BIG}}, {"background": True, "store": True}, {"conversation": "c"}, {"prompt": {"id": "p"}},
        {"previous_response_id": "r"}, {"max_tool_calls": BIG, "tools": [{"type": "web_search"}]}, {"max_tokens": BIG},
        {"max_output_tokens": BIG}, {"instructions": LONG}, {"input": [{"type": "item_reference", "id": "i"}]},
    ):  # fmt: skip
        asked = {"model": "m", "input": "hi"} | fields
        yield f"responses {json.dumps(fields)[:99]}", _post(json.dumps(asked).encode(), responses)
    for fields in (
        {"thinking": {"type": "enabled", "budget_tokens": BIG}}, {"max_tokens": BIG}, {"system": [{"type": "text", "text": LONG}]},
        {"max_tokens": 5, "max_completion_tokens": BIG}, {"mcp_servers": [{"url": "http://x"}]},
        {"messages": [{"role": "user", "content": [{"type": "document", "source": {"type": "text", "data": LONG}}]}]},
        {"messages": [{"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": LONG}]}]},
        {"messages": [{"role": "user", "content": [{"type": "search_result", "source": "s", "title": LONG, "content": []}]}]},
    ):  # fmt: skip
        asked = {
            "model": "m", "max_tokens": 5, "messages": [{"role": "user", "content": "hi"}],
        } | fields  # fmt: skip
        yield f"messages {json.dumps(fields)[:99]}", _post(json.dumps(asked).encode(), messages)


def _conditions() -> Rows:
    for field in (
        *("Range: bytes=0-9", "If-Match: *", "If-None-Match: *", "TE: trailers, chunked"),
        *("Cache-Control: only-if-cached", "Max-Forwards: 0", "Prefer: respond-async"),
    ):
        yield field, _post(GREEDY, fields=f"{JSON}\r\n{field}")
    for method in ("HEAD", "GET", "OPTIONS", "QUERY", "PUT"):
        yield f"{method} with a body", _post(GREEDY, head=f"{method} /v1/completions HTTP/1.1")
