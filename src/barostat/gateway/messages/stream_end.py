"""Ends a stream that reached its time limit, so that client libraries see a normal finish with
`length`.

Built from the events sent so far: the first names the answer, the last shows what is open.
"""

from __future__ import annotations

import re
from typing import Any

import orjson

from barostat.gateway.messages.routes import Route

_DATA = re.compile(rb"^data:[ \t]*(\{.*\})[ \t]*\r?$", re.M)


def final_events(
    route: Route, first: bytes, last: bytes, sequences: int, produced_tokens: int
) -> bytes:
    """The events that end this stream, empty if there is no proper end of it (nothing was sent,
    or a route that has none).

    `first`, `last`: bytes of the stream's beginning and of what came last, whole events at their
    end.
    """
    opening = _events(first)
    if not opening:
        return b""
    if route == "audio":
        return _openai("chat", opening[0], 1)
    if route == "chat" or route == "completions":
        return _openai(route, opening[0], sequences)
    if route == "messages":
        return _anthropic(_events(last), produced_tokens)
    if route == "responses":
        return _responses(opening[0], _events(last))
    return b""


def _events(data: bytes) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for match in _DATA.finditer(data):
        try:
            event = orjson.loads(match[1])
        except orjson.JSONDecodeError:
            continue
        if isinstance(event, dict):
            found.append(event)
    return found


def _openai(route: Route, opening: dict[str, Any], sequences: int) -> bytes:
    named = {key: opening[key] for key in ("id", "object", "created", "model") if key in opening}
    piece: dict[str, Any] = {"delta": {}} if route == "chat" else {"text": ""}
    ends = [
        {"index": index, **piece, "logprobs": None, "finish_reason": "length"}
        for index in range(sequences)
    ]
    return (
        b"".join(b"data: %b\n\n" % orjson.dumps({**named, "choices": [end]}) for end in ends)
        + b"data: [DONE]\n\n"
    )


def _anthropic(recent: list[dict[str, Any]], produced_tokens: int) -> bytes:
    events: list[dict[str, Any]] = []
    for event in reversed(recent):
        kind = event.get("type")
        if kind == "content_block_stop":
            break
        if kind in ("content_block_delta", "content_block_start"):
            events.append({"type": "content_block_stop", "index": event.get("index", 0)})
            break
    delta = {"stop_reason": "max_tokens", "stop_sequence": None}
    events.append(
        {"type": "message_delta", "delta": delta, "usage": {"output_tokens": produced_tokens}}
    )
    events.append({"type": "message_stop"})
    return b"".join(_named(event) for event in events)


def _responses(opening: dict[str, Any], recent: list[dict[str, Any]]) -> bytes:
    response = opening.get("response")
    if not isinstance(response, dict):
        return b""
    numbers = [
        event["sequence_number"]
        for event in recent
        if isinstance(event.get("sequence_number"), int)
    ]
    ended = {
        **response,
        "status": "incomplete",
        "incomplete_details": {"reason": "max_output_tokens"},
    }
    number = max(numbers, default=0) + 1
    return _named({"type": "response.incomplete", "sequence_number": number, "response": ended})


def _named(event: dict[str, Any]) -> bytes:
    return b"event: %b\ndata: %b\n\n" % (event["type"].encode(), orjson.dumps(event))
