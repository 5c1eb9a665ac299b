"""More attacks on the gateway, at its state: what a connection, a number, a key or a list can be
that one side reads otherwise. Written from the guide and from vLLM's request classes.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from tests.integration.gateway_attacks import (
    BIG,
    FIN,
    FREE,
    LONG,
    PAID,
    POST,
    RST,
    Rows,
    chat,
    completion,
    sent,
)

CHAT = "POST /v1/chat/completions HTTP/1.1"
BATCH = "POST /v1/chat/completions/batch HTTP/1.1"
RERANK = "POST /v1/rerank HTTP/1.1"
SCORE = "POST /score HTTP/1.1"
EMBED = "POST /v1/embeddings HTTP/1.1"
HI = [{"role": "user", "content": "hi"}]
LONG_TURN = [{"role": "user", "content": LONG}]
GREEDY = completion(max_tokens=BIG)


def asked(line: str, body: bytes = b"", *more: str, key: str = PAID) -> bytes:
    """A request with a key, and with these further fields."""
    return sent("\r\n".join((line, f"Authorization: Bearer {key}", *more)), body)


def plain(line: str, rest: bytes, *more: str) -> bytes:
    """The same without Content-Length: `rest` follows the head as it is."""
    head = "\r\n".join((line, f"Authorization: Bearer {PAID}", *more))
    return sent(head, rest, length=False)


def batch(**fields: Any) -> bytes:
    return chat(messages=[HI, HI], **fields)


def raw(text: str) -> bytes:
    """A completion whose body is not what a serialiser writes."""
    return asked(POST, text.encode())


def _batches() -> Rows:
    for what, body in (
        ("a large limit", batch(max_tokens=BIG)),
        ("no limit", batch(max_tokens=...)),
        ("a large limit in the other parameter", batch(max_completion_tokens=BIG)),
        ("a long conversation in the second place", chat(messages=[HI, LONG_TURN])),
        ("129 conversations", chat(messages=[HI] * 129)),
        ("65 conversations, two answers each", chat(messages=[HI] * 65, n=2)),
        ("documents beside the conversations", batch(documents=[{"text": LONG}])),
        ("tools beside the conversations", batch(tools=[{"function": {"name": LONG}}])),
        ("a text for the template", batch(chat_template_kwargs={"a": LONG})),
        ("one conversation as in a chat", chat(messages=LONG_TURN)),
        ("a conversation of conversations", chat(messages=[[HI, LONG_TURN]])),
    ):
        yield what, asked(BATCH, body)
    yield "an escaped path", asked(BATCH.replace("batch", "%62atch"), batch(max_tokens=BIG))
    yield "a chat with the body of a batch", asked(CHAT, chat(messages=[LONG_TURN]))


def _scores() -> Rows:
    half = LONG[:290]
    for what, line, fields in (
        ("a long query", RERANK, {"query": LONG, "documents": ["a"]}),
        ("a query and a document that fit alone", RERANK, {"query": half, "documents": [half]}),
        ("a long document in the last place", SCORE, {"text_1": "a", "text_2": ["b"] * 9 + [LONG]}),
        ("an instruction", RERANK, {"query": "a", "documents": ["b"], "instruction": LONG}),
        ("two forms", SCORE, {"text_1": "a", "text_2": "b", "queries": LONG, "documents": LONG}),
        ("padding", RERANK, {"query": "a", "documents": ["b"], "padding": "max_length"}),
        ("padding of an embedding", EMBED, {"input": "a", "padding": "max_length"}),
        ("parts", SCORE, {"data_1": "a", "data_2": {"content": [{"type": "text", "text": LONG}]}}),
        ("lists in lists", SCORE, {"queries": ["a"], "items": [[LONG]]}),
    ):
        yield what, asked(line, json.dumps({"model": "m", **fields}).encode())


def _numbers() -> Rows:
    for written in (
        "1e400", "-1e400", "NaN", "Infinity", "1E5", "100000.0", "18446744073709551621", "1e5", "\"1e5\"", "\"100000\"",
        "\"\\uff11\\uff10\\uff10\\uff10\\uff10\\uff10\"", "\" 100000\\n\"", "\"+100000\"", "\"100_000\"", "\"0100000\"", "[100000]",
        "{\"value\":100000}", "-0", "0.0", "\"-0\"", "5e-324", "100000e0", "\"100000.0\"",
    ):  # fmt: skip
        yield (
            f"max_tokens is {written}",
            raw('{"model":"m","prompt":"hi","max_tokens":' + written + "}"),
        )
    for name, value in (("n", "129.0"), ("n", '"129"'), ("best_of", "1.29e2"), ("n", "129e0")):
        yield (
            f"{name} is {value}",
            raw(f'{{"model":"m","prompt":"hi","max_tokens":5,"{name}":{value}}}'),
        )
    for what, fields in (
        ("a beam of 129", {"use_beam_search": True, "n": 129}),
        ("least above most", {"min_tokens": BIG, "ignore_eos": True}),
        ("least above most, no limit", {"min_tokens": BIG, "max_tokens": ...}),
        ("64 answers to each of 3 prompts", {"prompt": ["a", "b", "c"], "n": 64}),
        ("best of 129, one returned", {"n": 1, "best_of": 129}),
    ):
        yield what, asked(POST, completion(**fields))


def _keys_of_json() -> Rows:
    big, small = f'"max_tokens":{BIG}', '"max_tokens":5'
    escaped = f'"max_tok\\u0065ns":{BIG}'
    long = json.dumps(LONG)
    for what, inside in (
        ("an escaped key behind", f'"prompt":"hi",{small},{escaped}'),
        ("an escaped key before", f'"prompt":"hi",{escaped},{small}'),
        ("three of a key", f'"prompt":"hi",{big},{small},{big}'),
        ("null behind", f'"prompt":"hi",{big},"max_tokens":null'),
        ("null before", f'"prompt":"hi","max_tokens":null,{big}'),
        ("a second prompt", f'"prompt":"hi",{small},"prompt":{long}'),
        ("a first prompt", f'"prompt":{long},{small},"prompt":"hi"'),
        ("a key with a null byte", f'"prompt":"hi","max_tokens\\u0000":5,{big}'),
        ("a surrogate in a key", f'"prompt":"hi","\\ud800":1,{big}'),
        ("the limit within an object", f'"prompt":"hi","a":{{{small}}},{big}'),
    ):
        yield what, raw(f'{{"model":"m",{inside}}}')
    text = GREEDY.decode()
    yield "a body in UTF-16", asked(POST, text.encode("utf-16"))
    yield "a body in UTF-32", asked(POST, text.encode("utf-32-le"))
    yield "a byte order mark", asked(POST, b"\xef\xbb\xbf" + GREEDY)
    yield "two objects", asked(POST, completion() + GREEDY)
    yield "an object in a list", asked(POST, b"[" + GREEDY + b"]")
    form = b"--x\r\nContent-Disposition: form-data; name=a\r\n\r\n%b\r\n--x--\r\n" % GREEDY
    yield "a form", asked(POST, form, "Content-Type: multipart/form-data; boundary=x")
    yield "a charset", asked(POST, text.encode("utf-16-be"), "Content-Type: a/b; charset=utf-16be")


def _lists() -> Rows:
    ids = list(range(400))
    for what, prompt in (
        ("ids behind a short list", [[1], ids]),
        ("ids written with points", [float(one) for one in ids]),
        ("truths", [True] * 400),
        ("a text behind ids", [1, LONG]),
        ("a list in a list", [[[LONG]]]),
        ("texts in a list of ids", [[1], LONG]),
        ("an object", {"prompt": LONG}),
        ("objects", [{"prompt_token_ids": ids}]),
        ("129 prompts", ["a"] * 129),
        ("empty texts before a long one", [""] * 9 + [LONG]),
    ):
        yield f"completion: {what}", asked(POST, completion(prompt=prompt))
        yield (
            f"embedding: {what}",
            asked(EMBED, json.dumps({"model": "m", "input": prompt}).encode()),
        )


def _parts_of_messages() -> Rows:
    data = "data:image/png;base64," + "A" * 900
    for what, part in (
        ("a data URL in a text", {"type": "text", "text": "data:," + LONG}),
        ("a text that is called data", {"type": "text", "text": "a", "data": LONG}),
        ("a picture with a long detail", {"image_url": {"url": data, "detail": LONG}}),
        (
            "a text within a picture",
            {"type": "image_url", "image_url": {"url": data}, "text": LONG},
        ),
        ("a picture without a type", {"image_url": data}),
        ("a type that is no text", {"type": ["text"], "text": LONG}),
        ("a null type", {"type": None, "text": LONG}),
        ("parts in parts", {"type": "tool_result", "content": [{"type": "text", "text": LONG}]}),
        ("a document", {"type": "document", "source": {"type": "text", "data": LONG}}),
    ):
        yield what, asked(CHAT, chat(messages=[{"role": "user", "content": [part]}]))
    call = {"type": "function", "id": "a", "function": {"name": "f", "arguments": LONG}}
    for what, fields in (
        ("a long name", {"messages": [{"role": "user", "content": "a", "name": LONG}]}),
        ("a call", {"messages": [*HI, {"role": "assistant", "tool_calls": [call]}]}),
        ("earlier thoughts", {"messages": [*HI, {"role": "assistant", "reasoning": LONG}]}),
        (
            "tools",
            {"tools": [{"type": "function", "function": {"name": "f", "description": LONG}}]},
        ),
        ("documents", {"documents": [{"title": "a", "text": LONG}]}),
    ):
        yield what, asked(CHAT, chat(**fields))


def _connections() -> Rows:
    chunk = b"%x\r\n%b\r\n" % (len(completion()), completion())
    chunked = "Transfer-Encoding: chunked"
    hidden = asked(POST, GREEDY)
    keyless = sent(POST, GREEDY)
    upgrade = ("Connection: Upgrade, HTTP2-Settings", "Upgrade: h2c", "HTTP2-Settings: AAMAAABkAAQ")
    yield "behind a served request", asked(POST, completion()) + hidden
    yield "behind a served request, later", (asked(POST, completion()), 0.2, hidden)
    yield "no key behind a request with one", asked(POST, completion()) + keyless
    yield "h2c", asked(POST, GREEDY, *upgrade)
    yield "behind h2c", asked(POST, completion(), *upgrade) + keyless
    yield (
        "a WebSocket's frames",
        asked("GET /v1/models HTTP/1.1", b"", "Upgrade: websocket") + hidden,
    )
    yield (
        "trailers that are framing",
        plain(
            POST,
            chunk + b"0\r\nContent-Length: 400\r\n\r\n" + hidden,
            chunked,
            "Trailer: Content-Length",
        ),
    )
    yield (
        "a key in the trailers",
        sent(
            f"{POST}\r\n{chunked}", chunk + f"0\r\nX-Api-Key: {PAID}\r\n\r\n".encode(), length=False
        ),
    )
    for what, size in (
        ("an extension with a line end", b"0;a=\n\r\n\r\n"),
        ("an extension with quotes", b'0;a="\r\n\r\n'),
        ("an empty extension", b"0;\r\n\r\n"),
        ("a long zero", b"0" * 40 + b"\r\n\r\n"),
        ("a size with a sign", b"+0\r\n\r\n"),
        ("a size with an underscore", b"0_0\r\n\r\n"),
        ("a size in another base", b"0x0\r\n\r\n"),
        ("a size with space", b" 0 \r\n\r\n"),
        ("a size of 2^64", b"10000000000000000\r\n"),
    ):
        yield f"chunks: {what}", plain(POST, chunk + size + hidden, chunked)
    yield "no body, yet one", asked(POST, b"") + hidden
    yield "a body for GET", asked("GET /v1/models HTTP/1.1", hidden) + keyless
    yield "head by bytes", (*(bytes([one]) for one in hidden[:60]), hidden[60:])
    yield (
        "HTTP/1.0 kept open",
        asked(POST.replace("1.1", "1.0"), completion(), "Connection: keep-alive") + hidden,
    )
    yield "behind the last", asked(POST, completion(), "Connection: close") + hidden
    yield (
        "asks to go on, and does not wait",
        asked(POST, completion(), "Expect: 100-continue") + hidden,
    )


def _fields_of_the_head() -> Rows:
    override = "X-HTTP-Method-Override: POST"
    yield "OPTIONS that overrides", sent(f"{POST.replace('POST', 'OPTIONS')}\r\n{override}", GREEDY)
    for field in (
        "X-HTTP-Method-Override: DELETE",
        "X-Original-URL: /sleep",
        "X-Rewrite-URL: /v1/load_lora_adapter",
        "X-Forwarded-Prefix: /tokenize",
        "X-Barostat-Output-Cap: 100000",
        "X-Barostat-Tenant: paid",
        "X-Barostat-Priority-Class: interactive",
        "X-Data-Parallel-Rank: 0",
        "Content-Encoding: identity",
        "Connection: x-attack, authorization, content-length",
    ):
        yield field, asked(POST, GREEDY, field)


def _without_a_key() -> Rows:
    for what, line, *more in (
        ("in the query", f"POST /v1/completions?api_key={PAID} HTTP/1.1"),
        ("in a cookie", POST, f"Cookie: Authorization=Bearer {PAID}"),
        ("in two schemes", POST, f"Authorization: Basic x, Bearer {PAID}"),
        ("with a space in it", POST, f"Authorization: Bearer {PAID[:5]} {PAID[5:]}"),
        ("proxy", POST, f"Proxy-Authorization: Bearer {PAID}"),
        ("an empty one beside", POST, "X-Api-Key:", "Authorization: Bearer"),
    ):
        yield what, sent("\r\n".join((line, *more)), completion())


def _gone() -> Rows:
    endless = completion(user="endless", stream=True)
    silent = completion(user="endless")
    half = asked(POST, endless)[:-5]
    chunks = b"%x\r\n%b\r\n0\r\nA: b\r\n" % (len(silent), silent)
    yield "a batch", (asked(BATCH, batch(user="endless")), 0.3, RST)
    yield "HTTP/1.0", (asked(POST.replace("1.1", "1.0"), endless), 0.3, FIN)
    yield "the last of a connection", (asked(POST, endless, "Connection: close"), 0.3, FIN)
    yield "two at once", (asked(POST, endless) * 2, 0.3, RST)
    yield "behind an answer", (asked(POST, completion()) + asked(POST, silent), 0.3, FIN)
    yield "half of a second one", (asked(POST, silent) + half, 0.3, FIN)
    yield "trailers not ended", (plain(POST, chunks, "Transfer-Encoding: chunked"), 0.3, RST)
    yield "an upgrade", (asked(POST, silent, "Connection: upgrade", "Upgrade: x"), 0.3, FIN)
    yield "noise behind", (asked(POST, silent) + b"\x16\x03\x01\x02\x00", 0.3, FIN)
    yield "one of a tenant's three", (asked(POST, silent, key=FREE), 0.3, RST)


def state_attacks() -> Iterator[tuple[str, Rows]]:
    """Kinds, each with its attacks."""
    yield "batch", _batches()
    yield "score", _scores()
    yield "number", _numbers()
    yield "json-key", _keys_of_json()
    yield "list", _lists()
    yield "part", _parts_of_messages()
    yield "connection", _connections()
    yield "head", _fields_of_the_head()
    yield "key-2", _without_a_key()
    yield "gone", _gone()
