"""What a request body asks for: sizes and names, never its text.

Shapes: OpenAI chat completions (also in batches), completions, responses and embeddings, scores and
rankings, Anthropic messages, forms with audio.
Source: vLLM 0.6 to 0.32, the request classes of entrypoints/openai, anthropic, pooling and
speech_to_text.
"""

from __future__ import annotations

import re
from collections.abc import Sequence, Set
from dataclasses import dataclass
from typing import Any

import orjson

from barostat.gateway.messages.form import read_form, states_boundary
from barostat.gateway.messages.guarded import GUARDED_PARAMETERS
from barostat.gateway.messages.routes import GENERATING, OUTPUT_PARAMETERS, POOLING, Route
from barostat.gateway.messages.score_pairs import MOST_PAIRS, score_pairs
from barostat.gateway.messages.structure import too_much_of
from barostat.gateway.messages.wav import wav_seconds

_COMPLETIONS_DEFAULT_TOKENS = 16  # OpenAI's and vLLM's, where a completion does not name the limit
_MOST = 1 << 20
_GZIP, _ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"
_WRITTEN = re.compile(r"\s*[-+]?[0-9]{1,18}\s*", re.ASCII)
_WORTH_KEEPING_BYTES = 1024
_OPENING = 512
"""Characters that tell one conversation from another: of its first two messages, the system's and
the user's first. A short one is computed anywhere as fast.
"""
_GUARDED = frozenset(GUARDED_PARAMETERS) | {"chat_template_kwargs"}
_TEMPLATE_ARGUMENTS = frozenset({"chat_template", "tokenize"})
_SHORT_ARGUMENT = 64
_IMAGE_PARTS = frozenset({"image_url", "input_image", "image"})
_MEDIA_KEYS = frozenset(
    {
        "audio_embeds", "audio_url", "image_embeds", "image_pil", "image_url", "input_audio", "prompt_embeds", "video_embeds",
        "video_url",
    }
)  # fmt: skip
"""Members that make a part a medium for vLLM, whatever its type says."""
_TEXT_PARTS = frozenset(
    {
        "input_text", "output_text", "reasoning_text", "redacted_thinking", "refusal", "summary_text", "text", "thinking", "tool_reference",
        "tool_result", "tool_use", None,
    }
)  # fmt: skip
_TEXT_ITEMS = frozenset(
    {
        "custom_tool_call", "custom_tool_call_output", "function_call", "function_call_output", "message", "reasoning", None,
    }
)  # fmt: skip
_NUMBERS = frozenset({int, float, bool})
_MEDIA_ARGUMENTS = frozenset({"mm_processor_kwargs", "media_io_kwargs"})
_INDENT = 4
_CLIP_S = 29.0
"""Engines cut audio into clips of 30 s that overlap by one."""
_CLIP_TOKENS = 1500
"""The most that common models make of a clip (Whisper's encoder), of a shorter one too."""
_CLIP_PROMPT_TOKENS = 96
_COMPRESSED_BYTES_PER_S = 16_000
_TOKENS_PER_BYTE = 3
"""Of a text that a normaliser may lengthen, at most."""


@dataclass
class Shape:
    """The size and the names in a request.

    `text_bytes`: of the body without inline media. `pictures`, `other_media`: number of non-text
    parts. `unbounded`: the bytes do not bound its length, so it must be counted. `unknown`: even
    counting cannot bound it, and the operator allows it. `indented_bytes`: added by templates that
    indent tools.

    `plain`: ASCII without escapes. `opening`: equal for requests with the same beginning. `tools`:
    has tools. `limit_named`: the parameter with the output limit. `prompt_ids`: tokens of prompts
    given as ids. `longest`: the longest of several prompts, in bytes or ids. `estimate`, `bound`:
    of its input tokens, once computed.
    """

    route: Route
    text_bytes: int
    messages: int = 1
    pictures: int = 0
    other_media: int = 0
    unbounded: bool = False
    unknown: bool = False
    tools: bool = False
    indented_bytes: int = 0
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

    @property
    def media(self) -> int:
        """Parts that are no text."""
        return self.pictures + self.other_media


@dataclass(frozen=True)
class Malformed:
    """A body that is refused; why, for the client."""

    message: str
    parameter: str | None = None
    reason: str = "bad-request"


def is_plain(body: bytes) -> bool:
    """True if the body is ASCII and no character of its texts is escaped by its number: its texts
    are no longer than it is.
    """
    return body.isascii() and (b"\\" not in body or b"\\u" not in body)


def shape_of(
    route: Route, body: bytes, allowed: Set[str] = frozenset(), head_lines: Sequence[bytes] = ()
) -> Shape | Malformed:
    """Read what this body asks for. `allowed`: of the guarded parameters. `head_lines`: the fields
    of the request's head, in which a form's boundary stands.

    A wrong type that the engine will complain about is left to it, unless it could change what the
    request holds.
    """
    if route == "audio":
        return _audio(body, allowed, head_lines)
    if most := too_much_of(body):
        return Malformed(f"The request body has more than {most}.")
    try:
        document = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        return _no_json(body, error)
    if type(document) is not dict:
        return Malformed("The request body must be a JSON object.")
    shape = Shape(route, len(body), stream=document.get("stream") is True)
    model = document.get("model")
    if type(model) is str:
        shape.model = model
    if not _GUARDED.isdisjoint(document):
        refused = _guarded(shape, document, allowed)
        if refused is not None:
            return refused
    wrong = _output(shape, document) if route in GENERATING else None
    if wrong is not None:
        return wrong
    if route == "chat" or route == "messages":
        _conversation(shape, document.get("messages"))
        _tools(shape, document)
    elif route == "responses":
        _items(shape, document.get("input"))
        _tools(shape, document)
    elif route == "batch":
        wrong = _conversations(shape, document)
    elif route == "embeddings":
        wrong = _input_or_conversation(shape, document)
    elif route == "score":
        wrong = _pairs(shape, document)
    else:
        wrong = _prompts(shape, document.get("prompt"), "prompt")
    if wrong is not None:
        return wrong
    if shape.pictures and not _MEDIA_ARGUMENTS.isdisjoint(document):
        shape.unbounded = True
    return shape if "n" not in document and "best_of" not in document else _copies(shape, document)


def _no_json(body: bytes, error: orjson.JSONDecodeError) -> Malformed:
    if not body:
        return Malformed("The request has no body; a JSON object was expected.")
    if body[:2] == _GZIP or body[:4] == _ZSTD:
        return Malformed(
            "The request body is compressed: send it as it is, without a Content-Encoding."
        )
    return Malformed(f"The request body is not valid JSON: {error}.")


# -- parameters that change how long a request is


def _guarded(shape: Shape, document: dict[str, Any], allowed: Set[str]) -> Malformed | None:
    for name in GUARDED_PARAMETERS:
        if _is_used(name, document.get(name), shape.route):
            if name not in allowed:
                return _not_allowed(name)
            shape.unbounded = True
            shape.unknown = shape.unknown or name != "chat_template"
    arguments = document.get("chat_template_kwargs")
    if type(arguments) is dict and arguments:
        if not _TEMPLATE_ARGUMENTS.isdisjoint(arguments) and "chat_template" not in allowed:
            return _not_allowed("chat_template", within="chat_template_kwargs")
        if not all(map(_is_switch, arguments.values())):
            shape.unbounded = True
    return None


def _is_used(name: str, value: Any, route: Route) -> bool:
    """True if this parameter, with this value, makes a difference on this route."""
    if value is None or value is False or (value == "" and name == "chat_template"):
        return False
    if name == "file":
        return False  # where it is one, `_audio` decides
    if name == "prompt":
        return route == "responses"
    if name == "data":
        return route == "embeddings"
    if name == "padding":
        return route in POOLING and value != "do_not_pad"
    if name == "kv_transfer_params":
        return type(value) is not dict or value.get("prompt_token_ids") is not None
    return True


def _is_switch(value: Any) -> bool:
    """True if a template can only decide by it: text that it could repeat is counted."""
    return (
        value is None
        or type(value) in (bool, int, float)
        or (type(value) is str and len(value) <= _SHORT_ARGUMENT)
    )


def _not_allowed(name: str, within: str = "") -> Malformed:
    place = f"{within}.{name}" if within else name
    return Malformed(
        f"{place} is not accepted here: the gateway cannot tell how long the request is with it. "
        f"The operator can allow it with --allow-parameter {name}.",
        place,
        "parameter-not-allowed",
    )


# -- the output


def _output(shape: Shape, document: dict[str, Any]) -> Malformed | None:
    names = OUTPUT_PARAMETERS[shape.route]
    for name in names:
        value = document.get(name)
        if value is None:
            continue
        tokens = whole(value)
        if tokens is None or tokens < 0:
            return Malformed(f"{name} must be a positive whole number.", name)
        if tokens == 0 and not _only_echoes(shape.route, document):
            return Malformed(f"{name} must be at least 1.", name)
        tokens = max(1, min(tokens, _MOST))
        if shape.output_limit is None or tokens > shape.output_limit:
            shape.limit_named, shape.output_limit = name, tokens
    if shape.route == "completions" and "max_tokens" not in document:
        shape.output_limit = _COMPLETIONS_DEFAULT_TOKENS
    least = document.get("min_tokens")
    if least is not None and (least := whole(least)) is not None:
        shape.least_output_tokens = max(0, min(least, _MOST))
    priority = document.get("priority")
    if type(priority) is int:
        shape.priority = max(-_MOST, min(priority, _MOST))
    return None


def _only_echoes(route: Route, document: dict[str, Any]) -> bool:
    """True if 0 output tokens have a meaning: the engine makes one, and returns the prompt."""
    return route == "completions" and document.get("echo") is True


def whole(value: Any) -> int | None:
    """Return the whole number as which the engine takes this value (5, 5.0, "5"), None for none."""
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
    if shape.route in ("chat", "batch", "completions", "audio"):
        shape.sequences = shape.prompts * copies
    return shape


# -- conversations


def _conversation(shape: Shape, messages: Any) -> None:
    if type(messages) is not list:
        return
    shape.messages = len(messages) + 1
    for message in messages:
        if type(message) is dict and type(content := message.get("content")) is list:
            _parts(shape, content)
    if shape.text_bytes >= _WORTH_KEEPING_BYTES:
        shape.opening = hash("".join(_text(message)[:_OPENING] for message in messages[:2]))


def _conversations(shape: Shape, document: dict[str, Any]) -> Malformed | None:
    """Add several conversations, each a separate prompt; shared members count with each."""
    if document.get("tools"):
        return Malformed("A batch of conversations takes no tools.", "tools")
    conversations = document.get("messages")
    if type(conversations) is not list or not conversations:
        return Malformed("A list of conversations is expected.", "messages")
    beside = len(orjson.dumps({**document, "messages": None}))
    shape.prompts = shape.sequences = len(conversations)
    shape.text_bytes = shape.messages = 0
    for conversation in conversations:
        if type(conversation) is not list:
            return Malformed("Each conversation must be a list of messages.", "messages")
        length = beside + len(orjson.dumps(conversation))
        shape.longest = max(shape.longest, length)
        shape.text_bytes += length
        shape.messages += len(conversation) + 1
        for message in conversation:
            if type(message) is dict and type(content := message.get("content")) is list:
                shape.unbounded = shape.unbounded or _has_media(content)
    return None


def _has_media(parts: list[Any]) -> bool:
    read = Shape("chat", 0)
    _parts(read, parts)
    return read.media > 0


def _text(message: Any) -> str:
    """The text of a message, where it is one piece."""
    content = message.get("content") if type(message) is dict else None
    return content if type(content) is str else ""


def _parts(shape: Shape, parts: list[Any]) -> None:
    """Count the non-text parts and subtract their inline bytes from the text."""
    for part in parts:
        if type(part) is not dict:
            continue
        kind = part.get("type")
        if type(kind) is not str:
            kind = None
        if kind in _TEXT_PARTS and _MEDIA_KEYS.isdisjoint(part):
            if type(part.get("content")) is list:
                _parts(shape, part["content"])
            continue
        if kind in _IMAGE_PARTS or (kind is None and "image_url" in part):
            shape.pictures += 1
        else:
            shape.other_media += 1
            shape.unbounded = True
        for value in part.values():
            shape.text_bytes -= _inline_bytes(value)


def _inline_bytes(value: Any) -> int:
    """Return the bytes of inline media: a data URL, or `data` with a type."""
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


def _items(shape: Shape, items: Any) -> None:
    """The input of a response: a text, or items, of which each becomes a message."""
    if type(items) is str:
        shape.opening = _opening(items)
    elif type(items) is list:
        shape.messages = len(items) + 1
        for item in items:
            if type(item) is not dict:
                continue
            kind = item.get("type")
            if (kind if type(kind) is str else None) not in _TEXT_ITEMS:
                shape.other_media += 1
                shape.unbounded = True
            for parts in (item.get("content"), item.get("output")):
                if type(parts) is list:
                    _parts(shape, parts)


def _tools(shape: Shape, document: dict[str, Any]) -> None:
    tools = document.get("tools")
    if tools:
        shape.tools = True
        shape.indented_bytes = indentation(tools)


def indentation(value: Any) -> int:
    """Characters of white space that are added to JSON written with an indent of four."""
    found = 0
    level = [value]
    depth = 0
    while level:
        below: list[Any] = []
        depth += 1
        for one in level:
            inner = list(one.values()) if type(one) is dict else one
            if type(inner) is list and inner:
                found += len(inner) * (1 + _INDENT * depth) + 1 + _INDENT * (depth - 1)
                below += inner
        level = below
    return found


# -- prompts


def _input_or_conversation(shape: Shape, document: dict[str, Any]) -> Malformed | None:
    if document.get("messages") is None:
        return _prompts(shape, document.get("input"), "input")
    if document.get("input") is not None:
        return Malformed("Either input or messages is expected, not both.", "messages")
    _conversation(shape, document["messages"])
    return None


def _prompts(shape: Shape, prompt: Any, name: str) -> Malformed | None:
    """One prompt or several, each as text or as token ids. Engines take 1.0 and true for ids."""
    if type(prompt) is str:
        shape.opening = _opening(prompt)
    elif type(prompt) is list and prompt:
        if _are_ids(prompt):
            shape.prompt_ids = len(prompt)
            return None
        if not all(type(one) is str or (type(one) is list and _are_ids(one)) for one in prompt):
            return Malformed(f"{name} must be texts, or lists of token ids.", name)
        shape.prompts = shape.sequences = shape.messages = len(prompt)
        shape.longest = max(map(_length, prompt))
        if type(prompt[0]) is list:
            shape.prompt_ids = sum(map(_length, prompt))
    return None


def _are_ids(values: list[Any]) -> bool:
    return _NUMBERS.issuperset(map(type, values))


def _length(prompt: str | list[Any]) -> int:
    return len(prompt.encode()) if type(prompt) is str else len(prompt)


def _pairs(shape: Shape, document: dict[str, Any]) -> Malformed | None:
    read = score_pairs(document)
    if read is None:
        return Malformed("Exactly one pair of a query and documents, or of two texts, is expected.")
    if read.pairs > MOST_PAIRS:
        return Malformed(f"{read.pairs} pairs are asked for at once; at most {MOST_PAIRS} are.")
    shape.prompts = shape.sequences = shape.messages = read.pairs
    shape.text_bytes, shape.longest = read.total_bytes, read.longest_bytes
    shape.unbounded = shape.unbounded or not read.are_texts
    return None


# -- audio


def _audio(body: bytes, allowed: Set[str], head_lines: Sequence[bytes]) -> Shape | Malformed:
    """A form with an audio file: its clips are answered one by one, each with all the texts."""
    form = read_form(body)
    if isinstance(form, str):
        return Malformed(f"The form cannot be read: {form}.")
    if not states_boundary(head_lines, form.boundary):
        return Malformed("Content-Type must be multipart/form-data with the body's own boundary.")
    fields: dict[str, Any] = {**form.fields}
    shape = Shape("audio", 0, stream=form.fields.get("stream", "") not in ("", "false", "False"))
    shape.model = form.fields.get("model", "")
    start, end = form.file
    seconds = wav_seconds(body, start, end)
    if seconds is None:
        if "file" not in allowed:
            return _not_allowed("file")
        shape.unbounded = shape.unknown = True
        seconds = (end - start) / _COMPRESSED_BYTES_PER_S
    wrong = _output(shape, fields)
    if wrong is not None:
        return wrong
    if shape.output_limit is None:
        shape.output_limit = _MOST  # until the engine's context is full
    clips = int(seconds / _CLIP_S) + 1
    texts = sum(len(text.encode()) for text in form.fields.values())
    each = _CLIP_TOKENS + _CLIP_PROMPT_TOKENS + _TOKENS_PER_BYTE * texts
    shape.prompt_ids = shape.text_bytes = clips * each
    read = _copies(shape, fields)
    shape.sequences *= clips
    return read
