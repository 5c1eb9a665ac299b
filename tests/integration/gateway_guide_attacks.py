"""Attacks on the gateway at what its guide promises, sentence by sentence: counting of inputs, caps,
audio, priority classes, keys, allow-lists, what pools, pipelines. Written from the guide and the
issue, without a look at the code that decides.
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
    RST,
    Rows,
    completion,
    sent,
)
from tests.support.audio import BOUNDARY, CONTENT_TYPE, form, part, wav

AUTH = f"\r\nAuthorization: Bearer {PAID}"
JSON = "\r\nContent-Type: application/json"
GREEDY = completion(max_tokens=BIG)
SMALL = completion()
HI = [{"role": "user", "content": "hi"}]


def guide_attacks() -> Iterator[tuple[str, Rows]]:
    """(class, [(name, bytes or steps)])."""
    yield "target-2", _targets()
    yield "estimate", _estimates()
    yield "cap", _caps()
    yield "class", _classes()
    yield "key-3", _keys()
    yield "media", _media()
    yield "sound", _sounds()
    yield "pool", _pools()
    yield "pipeline", _pipelines()
    yield "gone-2", _leavers()


def _post(path: str, body: bytes, fields: str = "", auth: str = AUTH) -> bytes:
    return sent(f"POST {path} HTTP/1.1{auth}{JSON}{fields}", body)


def _asked(path: str, **fields: Any) -> bytes:
    return _post(path, json.dumps({"model": "m"} | fields).encode())


def _targets() -> Rows:
    for target in (
        *("/v1/completions%23", "/v1/completions%3f", "/v1/completions;a=b", "/v1/completions/."),
        *("/v1/completions/%2e", "/./v1/completions", "/v1/../sleep", "/v1/..%2fsleep", "/v1/%2e%2e/sleep"),
        *("//sleep", "/sleep?/v1/completions", "/v1/models/../../sleep", "/V1/COMPLETIONS", "/v1/completions%00"),
        *("/v1\\completions", "/v1/comple%74ions", "http://127.0.0.1/sleep", "http://x@y/v1/completions"),
        *("/v1/messages/count_tokens/../../completions", "/health/../sleep", "/v1/completions%0d%0aA: b"),
    ):  # fmt: skip
        yield target, _post(target, GREEDY)


def _estimates() -> Rows:
    texts = {
        "byte order marks": "\ufeff" * 200,
        "letters and marks": "e\u0301\u0323" * 90,
        "flags": "\U0001f1e9\U0001f1ea" * 60,
        "private use": "\ue000" * 150,
        "ligatures that grow": "\ufdfa" * 120,
        "lone surrogates": "\ud800" * 150,
        "blanks": " " * 400,
        "line breaks": "\r\n" * 200,
        "tabs and zero width": "\t\u200b" * 120,
        "digits": "7" * 400,
        "hexadecimal": "0f" * 200,
    }
    for name, text in texts.items():
        yield name, _asked("/v1/completions", prompt=text, max_tokens=5)
    yield (
        "names of members",
        _asked(
            "/v1/chat/completions",
            messages=HI,
            max_tokens=5,
            tools=[
                {
                    "type": "function",
                    "function": {"name": "f", "parameters": {"properties": {"a" * 400: {}}}},
                }
            ],
        ),
    )
    yield (
        "keys of arguments",
        _asked(
            "/v1/chat/completions",
            messages=HI,
            max_tokens=5,
            chat_template_kwargs={"k" * 400: 1, "v": "w" * 400},
        ),
    )
    yield (
        "a role of 400 letters",
        _asked(
            "/v1/chat/completions", messages=[{"role": "r" * 400, "content": "hi"}], max_tokens=5
        ),
    )


def _caps() -> Rows:
    for value in (
        BIG,
        float(BIG),
        f"{BIG}.0",
        f"{BIG}e0",
        -1,
        -BIG,
        2**31,
        2**63,
        2**64,
        True,
        [BIG],
        {"a": BIG},
    ):
        for path, field in (
            ("/v1/completions", "max_tokens"),
            ("/v1/responses", "max_output_tokens"),
        ):
            yield f"{field} {value!r}"[:40], _asked(path, prompt="hi", input="hi", **{field: value})
    yield (
        "null and a default",
        _asked("/v1/chat/completions", messages=HI, max_tokens=None, max_completion_tokens=None),
    )
    yield "echo on chat", _asked("/v1/chat/completions", messages=HI, max_tokens=0, echo=True)
    yield "echo as text", _asked("/v1/completions", prompt="hi", max_tokens=0, echo="true")
    yield "echo as number", _asked("/v1/completions", prompt="hi", max_tokens=0, echo=1)
    yield "128 answers and one", _asked("/v1/completions", prompt=["hi"] * 43, n=3, max_tokens=5)


def _classes() -> Rows:
    name = "X-Barostat-Priority-Class"
    for value in (
        "interactive",
        "0",
        "-1",
        "",
        "batch, interactive",
        "interactive\x00",
        "*",
        "../a",
        "a" * 5000,
    ):
        yield f"class {value[:20]!r}", _post("/v1/completions", GREEDY, f"\r\n{name}: {value}")
    yield "class twice", _post("/v1/completions", GREEDY, f"\r\n{name}: a\r\n{name}: b")


def _keys() -> Rows:
    for auth in (
        "", "\r\nAuthorization: Bearer ", f"\r\nAuthorization: Basic {PAID}", f"\r\nAuthorization: Bearer {PAID} x",
        f"\r\nAuthorization: Bearer  x{PAID}", f"\r\nAuthorization: {PAID}", f"\r\nX-Api-Key: {PAID}, x", f"\r\nCookie: key={PAID}",
        f"\r\nProxy-Authorization: Bearer {PAID}", f"\r\nX-Api-Key: {PAID[:-1]}", f"\r\nX-Api-Key: {PAID.upper()}",
        f"\r\nX_Api_Key: {PAID}", f"\r\nAuthorization: Bearer {PAID}%00", f"\r\nAuthorization: Bearer {PAID}:{FREE}",
    ):  # fmt: skip
        yield f"key {auth[:50]!r}", _post("/v1/completions", SMALL, auth=auth)
    yield "a key in the query", _post(f"/v1/completions?api_key={PAID}", SMALL, auth="")
    yield "a key in the body", _post("/v1/completions", completion(api_key=PAID), auth="")


def _media() -> Rows:
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
    for name, piece in (
        ("a picture", picture), ("a picture without a type", {"image_url": "http://x/a.png"}),
        ("a video", {"type": "video_url", "video_url": {"url": "http://x/a.mp4"}}),
        ("a sound", {"type": "input_audio", "input_audio": {"data": "AAAA", "format": "wav"}}),
        ("a file", {"type": "file", "file": {"file_id": "f"}}), ("a type in capitals", {**picture, "type": "IMAGE_URL"}),
        ("two types", {"type": "text", "text": "hi", "image_url": "http://x/a.png"}),
        ("embeds", {"type": "image_embeds", "image_embeds": "A" * 4000}),
    ):  # fmt: skip
        content = [{"role": "user", "content": [piece]}]
        yield name, _asked("/v1/chat/completions", messages=content, max_tokens=5)
        yield f"{name}, embedded", _asked("/v1/embeddings", messages=content)


def _sounds() -> Rows:
    def post(body: bytes, content_type: bytes = CONTENT_TYPE) -> bytes:
        head = (
            f"POST /v1/audio/transcriptions HTTP/1.1{AUTH}\r\nContent-Type: {content_type.decode()}"
        )
        return sent(head, body)

    yield "a rate that is a lie", post(form(wav(60, 192_000), model="m"))
    yield "many clips", post(form(wav(200), model="m"))
    yield "no length in its head", post(form(wav(60).replace(b"data", b"LIST", 1), model="m"))
    yield "no sound", post(form(b"\0" * 5000, model="m"))
    yield "a long prompt", post(form(wav(1), model="m", prompt="word " * 400))
    yield "hotwords", post(form(wav(1), model="m", hotwords="word " * 400))
    yield "two files", post(part("file", wav(1), '; filename="b"') + form(wav(90), model="m"))
    yield (
        "boundary with a blank",
        post(form(wav(90)), b"multipart/form-data; boundary=" + BOUNDARY + b" "),
    )
    yield "n", post(form(wav(1), model="m", n=1000))


def _pools() -> Rows:
    for path, left, right in (
        ("/score", "text_1", "text_2"), ("/score", "data_1", "data_2"), ("/v1/score", "queries", "documents"),
        ("/v1/score", "queries", "items"), ("/rerank", "query", "documents"), ("/v2/rerank", "query", "documents"),
    ):  # fmt: skip
        yield (
            f"{path} {left} {right} half and half",
            _asked(path, **{left: "a " * 130, right: ["b " * 130]}),
        )
        yield (
            f"{path} {left} {right} parts",
            _asked(path, **{left: "hi", right: {"content": [{"type": "text", "text": LONG}]}}),
        )
        yield (
            f"{path} {left} {right} both swapped",
            _asked(path, **{left: ["hi", LONG], right: "hi"}),
        )
    yield "dimensions", _asked("/v1/embeddings", input=LONG, dimensions=1, truncate_prompt_tokens=0)
    yield "pooled pad", _asked("/pooling", input="hi", padding="max_length")
    yield (
        "classified prompt",
        _asked("/classify", prompt=LONG, input="hi", messages=[{"role": "user", "content": LONG}]),
    )


def _pipelines() -> Rows:
    good = _post("/v1/completions", SMALL)
    yield "forty, the last greedy", (good * 40 + _post("/v1/completions", GREEDY),)
    yield "a refused one, then an admin's", (_post("/sleep", b"{}") + _post("/collective_rpc", b"{}"),)  # fmt: skip
    yield "body of the next in pieces", (good + _post("/v1/completions", GREEDY)[:-20], 0.2, GREEDY[-20:])  # fmt: skip
    yield "refused by its head, its body is a request", _post("/nothing", _post("/v1/completions", GREEDY))  # fmt: skip
    yield "key dropped on the second", (good + _post("/sleep", b"{}", auth=""),)


def _leavers() -> Rows:
    for path, fields in (
        ("/v1/completions", {"prompt": "hi"}), ("/v1/chat/completions", {"messages": HI}),
        ("/v1/responses", {"input": "hi"}), ("/v1/messages", {"messages": HI}),
    ):  # fmt: skip
        for stream in (True, False):
            limit = "max_output_tokens" if "responses" in path else "max_tokens"
            asked = _asked(path, **fields, **{limit: 5}, user="endless", stream=stream)
            yield f"{path} stream {stream} FIN", (asked, 0.3, FIN)
            yield f"{path} stream {stream} RST", (asked, 0.3, RST)
