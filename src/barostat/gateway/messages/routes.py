"""The paths that the gateway understands, and what a body on them asks for: sizes and names, never
its text.

Shapes: OpenAI chat completions, completions, responses and embeddings, Anthropic messages.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Literal

import orjson

from barostat.gateway.messages.structure import too_much_of

Route = Literal["chat", "completions", "responses", "messages", "embeddings", "models", "other"]
ROUTES: tuple[Route, ...] = (
    "chat",
    "completions",
    "responses",
    "messages",
    "embeddings",
    "models",
    "other",
)
_POSTED = frozenset({b"POST", b"OPTIONS"})
_GOT = frozenset({b"GET", b"HEAD", b"OPTIONS"})
LISTED: dict[bytes, tuple[Route, frozenset[bytes]]] = {
    b"/v1/chat/completions": ("chat", _POSTED),
    b"/v1/completions": ("completions", _POSTED),
    b"/v1/responses": ("responses", _POSTED),
    b"/v1/messages": ("messages", _POSTED),
    b"/v1/embeddings": ("embeddings", _POSTED),
    b"/v1/models": ("models", _GOT),
    b"/health": ("other", _GOT),
    b"/livez": ("other", _GOT),
    b"/readyz": ("other", _GOT),
}
"""The paths that pass, and by which methods. The last three are answered here."""
GENERATING: frozenset[Route] = frozenset({"chat", "completions", "responses", "messages"})
READ: frozenset[Route] = GENERATING | {"embeddings"}
OUTPUT_PARAMETERS: dict[Route, tuple[str, ...]] = {
    "chat": ("max_completion_tokens", "max_tokens"),
    "completions": ("max_tokens",),
    "responses": ("max_output_tokens",),
    "messages": ("max_tokens",),
}
"""By route, what states the output limit; the first that is there is the one the engine goes by."""
WRITTEN_WHERE_ABSENT: dict[Route, str] = {
    "chat": "max_tokens",
    "completions": "max_tokens",
    "responses": "max_output_tokens",
    "messages": "max_tokens",
}
"""The parameter that is written where none is stated: of chat's two the one that every engine
knows.
"""
_COMPLETIONS_DEFAULT_TOKENS = 16  # OpenAI's, and vLLM's, where a completion states no limit
_MOST = 1 << 20
_GZIP, _ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"
_WRITTEN = re.compile(r"\s*[-+]?[0-9]{1,18}\s*", re.ASCII)
_WORTH_KEEPING_BYTES = 1024
_OPENING = 512
"""Characters that tell one conversation from another: of its first two messages, the system's and
the user's first. A short one is computed anywhere as fast.
"""


@dataclass
class Shape:
    """What a request asks for. `media`: parts whose tokens their bytes say nothing of.
    `text_bytes`: of the body without those.

    `plain`: known to be ASCII without an escaped character. `opening`: equal for requests that
    begin alike. `tools`: it brings tools, whose descriptions the template repeats. `limit_named`:
    the parameter that states the output limit. `prompt_ids`: tokens of prompts that come as ids.
    `longest`: the longest of several prompts, in bytes or ids. `estimate`, `bound`: of its input
    tokens, once they were asked for.
    """

    route: Route
    text_bytes: int
    messages: int = 1
    media: int = 0
    tools: bool = False
    output_limit: int | None = None
    least_output_tokens: int = 0
    prompts: int = 1
    sequences: int = 1
    stream: bool = False
    priority: int = 0
    model: str = ""
    limit_named: str = ""
    prompt_ids: int = 0
    longest: int = 0
    plain: bool = False
    opening: int = 0
    estimate: int = 0
    bound: int = 0


@dataclass(frozen=True)
class Malformed:
    """A body that no engine would take; why, for the client."""

    message: str
    parameter: str | None = None


def is_plain(body: bytes) -> bool:
    """The body is ASCII, and no character of its texts is escaped by its number: what it says is as
    long as it is.
    """
    return body.isascii() and (b"\\" not in body or b"\\u" not in body)


def shape_of(route: Route, body: bytes) -> Shape | Malformed:
    """What this body asks for on this route. What has a type that the engine will complain about is
    left to the engine, where it cannot make a difference to what is held; a number that would is
    refused here.
    """
    if most := too_much_of(body):
        return Malformed(f"The request body has more than {most}.")
    try:
        document = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        if body[:2] == _GZIP or body[:4] == _ZSTD:
            return Malformed(
                "The request body is compressed: send it as it is, without a Content-Encoding."
            )
        return Malformed(
            f"The request body is not valid JSON: {error}."
            if body
            else "The request has no body; a JSON object was expected."
        )
    if type(document) is not dict:
        return Malformed("The request body must be a JSON object.")
    shape = Shape(route, len(body), stream=document.get("stream") is True)
    model = document.get("model")
    if type(model) is str:
        shape.model = model
    if route in GENERATING:
        wrong = _output(shape, document)
        if wrong is not None:
            return wrong
    if route == "chat" or route == "messages":
        _messages(shape, document)
    elif route == "responses":
        _responses(shape, document)
    else:
        _prompts(shape, document.get("input" if route == "embeddings" else "prompt"))
    return shape if "n" not in document and "best_of" not in document else _copies(shape, document)


def _output(shape: Shape, document: dict[str, Any]) -> Malformed | None:
    for name in OUTPUT_PARAMETERS[shape.route]:
        value = document.get(name)
        if value is not None:
            value = whole(value)
            if value is None or value < 0:
                return Malformed(f"{name} must be a positive whole number.", name)
            shape.limit_named = name
            shape.output_limit = max(
                1, min(value, _MOST)
            )  # of 0 the engine makes one, to echo the prompt, or nothing at all
            break
    else:
        if shape.route == "completions":
            shape.output_limit = _COMPLETIONS_DEFAULT_TOKENS
    least = document.get("min_tokens")
    if least is not None and (least := whole(least)) is not None:
        shape.least_output_tokens = max(0, min(least, _MOST))
    priority = document.get("priority")
    if type(priority) is int:
        shape.priority = max(-_MOST, min(priority, _MOST))
    return None


def whole(value: Any) -> int | None:
    """The whole number as which the engine takes this value: 5, 5.0, "5"; None for none."""
    if type(value) is str and _WRITTEN.fullmatch(value):
        return int(value)
    if type(value) is float and value.is_integer():
        return int(value)
    return value if type(value) is int else None


def _copies(shape: Shape, document: dict[str, Any]) -> Shape | Malformed:
    copies = 1
    for name in ("n", "best_of"):
        value = document.get(name)
        if value is not None:
            value = whole(value)
            if value is None or not 1 <= value <= _MOST:
                return Malformed(f"{name} must be a positive whole number.", name)
            copies = max(copies, value)
    if shape.route in ("chat", "completions"):
        shape.sequences = shape.prompts * copies
    return shape


def _messages(shape: Shape, document: dict[str, Any]) -> None:
    messages = document.get("messages")
    if type(messages) is list:
        shape.messages = len(messages) + 1
        for message in messages:
            if type(message) is dict and type(content := message.get("content")) is list:
                _media(shape, content)
        if shape.text_bytes >= _WORTH_KEEPING_BYTES:
            shape.opening = hash("".join(_text(one)[:_OPENING] for one in messages[:2]))
    shape.tools = bool(document.get("tools"))


def _text(message: Any) -> str:
    """The text of a message, where it is one piece."""
    content = message.get("content") if type(message) is dict else None
    return content if type(content) is str else ""


def _media(shape: Shape, parts: list[Any]) -> None:
    """The parts that are no text are counted, and what they bring within the body is no text."""
    for part in parts:
        kind = part.get("type") if type(part) is dict else None
        if kind == "tool_result" and type(part.get("content")) is list:
            _media(shape, part["content"])
        elif kind not in (
            "text",
            "input_text",
            "output_text",
            "refusal",
            "thinking",
            "tool_use",
            "tool_result",
            "summary_text",
            None,
        ):
            shape.media += 1
            for value in part.values():
                shape.text_bytes -= _inline_bytes(value)


def _inline_bytes(value: Any) -> int:
    """Bytes of a picture, a sound or a film that stands in the body itself: a data URL, or `data`
    beside what says of which kind it is.
    """
    if type(value) is str:
        return len(value) if value.startswith("data:") else 0
    if type(value) is not dict:
        return 0
    data = value.get("data")
    if type(data) is str and value.get("type") != "text":
        return len(data)
    return _inline_bytes(value["url"]) if type(value.get("url")) is str else 0


def _opening(text: str) -> int:
    return hash(text[:_OPENING]) if len(text) >= _WORTH_KEEPING_BYTES else 0


def _responses(shape: Shape, document: dict[str, Any]) -> None:
    items = document.get("input")
    if type(items) is list:
        shape.messages = len(items) + 1
        for item in items:
            if type(item) is dict and type(item.get("content")) is list:
                _media(shape, item["content"])
    elif type(items) is str:
        shape.opening = _opening(items)
    shape.tools = bool(document.get("tools"))


def _prompts(shape: Shape, prompt: Any) -> None:
    if type(prompt) is str:
        shape.opening = _opening(prompt)
    elif type(prompt) is list and prompt:
        kind = type(prompt[0])
        if kind is int:
            shape.prompt_ids = len(prompt)
        else:
            shape.prompts = shape.sequences = shape.messages = len(prompt)
            shape.longest = max(
                len(one.encode()) if type(one) is str else len(one) if type(one) is list else 0
                for one in prompt
            )
            if kind is list:
                shape.prompt_ids = sum(len(one) for one in prompt if type(one) is list)
