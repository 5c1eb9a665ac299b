"""The Responses API: what a body asks for, and the JSON of answers and of events.

Nothing is stored, as by default in vLLM: background mode and previous_response_id are refused.

Source: vLLM 0.32.0, entrypoints/openai/responses: ResponsesRequest, ResponsesResponse,
construct_input_messages, SimpleStreamingEventProcessor, OpenAIServingResponses.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from barostat.engines.vllm import error_bodies as errors
from barostat.engines.vllm.error_bodies import Refusal
from barostat.twin_server.generation_request import GenerationRequest, Reader

_ECHOED: tuple[tuple[str, object], ...] = (
    ("instructions", None), ("metadata", None), ("max_tool_calls", None), ("prompt", None), ("reasoning", None), ("text", None),
    ("user", None), ("parallel_tool_calls", True), ("temperature", 1.0), ("top_p", 1.0), ("service_tier", "auto"),
    ("truncation", "disabled"), ("presence_penalty", 0.0), ("frequency_penalty", 0.0),
)  # fmt: skip
_KIND = "invalid_request_error"


@dataclass(frozen=True, slots=True)
class AskedResponse:
    """A request to /v1/responses that can be served. `echoed`: fields that the answer repeats."""

    asked: GenerationRequest
    answer_id: str
    echoed: dict[str, Any]
    created: int = field(default_factory=lambda: int(time.time()))


class ResponseReader:
    """Reads requests to /v1/responses for one engine."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader

    def read(self, raw: bytes | bytearray) -> AskedResponse | Refusal:
        """Return what a body asks for."""
        reader = self._reader
        body = reader.json_body(raw)
        if isinstance(body, Refusal):
            return body
        given = body.get("input")
        if given is None:
            # vLLM sets the tool choice of a request without tools before it looks at the rest
            seen = body if body.get("tools") else {"tool_choice": "none", **body}
            return errors.invalid_field("missing", "body.input", "Field required", seen)
        if not isinstance(given, str | list):
            return errors.invalid_field(
                "string_type", "body.input.str", "Input should be a valid string", given
            )
        refusal = _refused_tools(body) or reader.model_refusal(body) or _refused_storage(body)
        if refusal is not None:
            return refusal
        messages = _messages(body.get("instructions"), given)
        if isinstance(messages, Refusal):
            return messages
        asked = reader.response(body, messages)
        if isinstance(asked, Refusal):
            return asked
        return AskedResponse(asked, _answer_id(body), _echoed(body))


def not_found(response_id: str) -> Refusal:
    """404: no response of that id is stored."""
    message = f"Response with id '{errors.shortened(response_id)}' not found."
    return Refusal(404, message, _KIND, "response_id")


def _answer_id(body: dict[str, Any]) -> str:
    given = body.get("request_id")
    return given if isinstance(given, str) and given else f"resp_{uuid.uuid4().hex[:16]}"


def _echoed(body: dict[str, Any]) -> dict[str, Any]:
    tools = body.get("tools") or []
    found = {name: default if body.get(name) is None else body[name] for name, default in _ECHOED}
    found["tools"] = tools
    found["tool_choice"] = body.get("tool_choice", "auto") if tools else "none"
    return found


def _refused_tools(body: dict[str, Any]) -> Refusal | None:
    choice = body.get("tool_choice")
    if body.get("tools"):
        return None
    if choice == "required":
        message = "Tool choice 'required' must be specified with 'tools' parameter."
        return errors.bad_request(message, "tool_choice")
    if isinstance(choice, dict) and choice.get("type") in ("function", "custom"):
        message = "Tool choice 'function' not found in 'tools' parameter."
        return errors.bad_request(message, "tool_choice")
    return None


def _refused_storage(body: dict[str, Any]) -> Refusal | None:
    if body.get("background") and body.get("store", True):
        return Refusal(
            400,
            "This vLLM engine does not support `store=True` and therefore does not support the "
            "background mode. To enable these features, set the environment variable "
            "`VLLM_ENABLE_RESPONSES_API_STORE=1` when launching the vLLM server.",
            _KIND,
            "background",
        )
    previous = body.get("previous_response_id")
    return None if previous is None else not_found(str(previous))


def _messages(instructions: object, given: str | list[Any]) -> list[dict[str, Any]] | Refusal:
    """Return the input as chat messages, in order; the instructions are the system's."""
    found: list[dict[str, Any]] = []
    if isinstance(instructions, str) and instructions:
        found.append({"role": "system", "content": instructions})
    if isinstance(given, str):
        return [*found, {"role": "user", "content": given}]
    for item in given:
        message = _message(item)
        if isinstance(message, Refusal):
            return message
        found.append(message)
    return found


def _message(item: object) -> dict[str, Any] | Refusal:
    if not isinstance(item, dict):
        return errors.invalid_field(
            "model_attributes_type", "body.input", "Input should be a valid dictionary", item
        )
    kind = item.get("type", "message")
    if kind in ("function_call", "custom_tool_call"):
        call = f"{item.get('name') or ''}{item.get('arguments') or item.get('input') or ''}"
        return {"role": "assistant", "content": call}
    if kind in ("function_call_output", "custom_tool_call_output"):
        return {"role": "tool", "content": item.get("output")}
    if kind == "reasoning":
        if item.get("encrypted_content"):
            return errors.bad_request("Encrypted content is not supported.", "input")
        parts = item.get("content") or (item.get("summary") or [])[:1]
        return {"role": "assistant", "content": parts[:1] if isinstance(parts, list) else ""}
    if isinstance(item.get("role"), str):
        return {"role": item["role"], "content": item.get("content")}
    return errors.bad_request(
        f"Unsupported input item type: {errors.shortened(str(kind))}", "input"
    )


def response(
    asked: AskedResponse, status: str, output: list[dict[str, Any]], used: dict[str, Any] | None
) -> dict[str, Any]:
    """Return the response object. `status`: in_progress, completed, incomplete."""
    echoed, wanted = asked.echoed, asked.asked.wanted[0]
    return {
        "id": asked.answer_id,
        "created_at": asked.created,
        "incomplete_details": {"reason": "max_output_tokens"} if status == "incomplete" else None,
        "instructions": echoed["instructions"],
        "metadata": echoed["metadata"],
        "model": asked.asked.model,
        "object": "response",
        "output": output,
        "parallel_tool_calls": echoed["parallel_tool_calls"],
        "temperature": echoed["temperature"],
        "tool_choice": echoed["tool_choice"],
        "tools": echoed["tools"],
        "top_p": echoed["top_p"],
        "background": False,
        "max_output_tokens": wanted.max_tokens,
        "max_tool_calls": echoed["max_tool_calls"],
        "previous_response_id": None,
        "prompt": echoed["prompt"],
        "reasoning": echoed["reasoning"],
        "service_tier": echoed["service_tier"],
        "status": status,
        "text": echoed["text"],
        "top_logprobs": None,
        "truncation": echoed["truncation"],
        "usage": used,
        "user": echoed["user"],
        "presence_penalty": echoed["presence_penalty"],
        "frequency_penalty": echoed["frequency_penalty"],
        "kv_transfer_params": None,
        "ec_transfer_params": None,
        "input_messages": None,
        "output_messages": None,
    }


def status_of(reason: str) -> str:
    """Return the status of a response whose answer ended for that reason."""
    return "incomplete" if reason == "length" else "completed"


def usage(
    prompt_tokens: int, cached_tokens: int, written_tokens: int, output_tokens: int
) -> dict[str, Any]:
    """Return the count of tokens. `written_tokens`: prompt tokens that went into the prefix cache."""
    return {
        "input_tokens": prompt_tokens,
        "input_tokens_details": {
            "cached_tokens": cached_tokens,
            "cache_write_tokens": written_tokens,
            "input_tokens_per_turn": [],
            "cached_tokens_per_turn": [],
        },
        "output_tokens": output_tokens,
        "output_tokens_details": {
            "reasoning_tokens": 0,
            "tool_output_tokens": 0,
            "output_tokens_per_turn": [],
            "tool_output_tokens_per_turn": [],
        },
        "total_tokens": prompt_tokens + output_tokens,
    }


def message(item_id: str, text: str) -> dict[str, Any]:
    """Return the output item of a finished message."""
    return _item(item_id, "completed", [_part(text, None)] if text else [])


def new_item_id() -> str:
    """Return a fresh id for an output item."""
    return f"msg_{uuid.uuid4().hex[:16]}"


def _item(item_id: str, status: str, content: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "id": item_id, "content": content, "role": "assistant", "status": status, "type": "message", "phase": None,
    }  # fmt: skip


def _part(text: str, logprobs: list[Any] | None) -> dict[str, Any]:
    return {"annotations": [], "text": text, "type": "output_text", "logprobs": logprobs}


class Events:
    """The events of one streamed response, numbered as they are made. Mutable."""

    def __init__(self, asked: AskedResponse) -> None:
        self._asked = asked
        self._item_id = new_item_id()
        self._number = 0
        self._text = ""

    def begin(self) -> Iterator[dict[str, Any]]:
        """Make the events before the first token."""
        for kind in ("response.created", "response.in_progress"):
            yield self._event(kind, response=response(self._asked, "in_progress", [], None))

    def piece(self, text: str) -> Iterator[dict[str, Any]]:
        """Make the events for more text; the first piece opens the message."""
        if not text:
            return
        if not self._text:
            yield self._event(
                "response.output_item.added",
                item=_item(self._item_id, "in_progress", []),
                output_index=0,
            )
            yield self._event(
                "response.content_part.added",
                content_index=0,
                item_id=self._item_id,
                output_index=0,
                part=_part("", []),
            )
        self._text += text
        yield self._event(
            "response.output_text.delta",
            content_index=0,
            delta=text,
            item_id=self._item_id,
            logprobs=[],
            output_index=0,
        )

    def end(self, reason: str, used: dict[str, Any]) -> Iterator[dict[str, Any]]:
        """Make the events after the last token."""
        output = []
        if self._text:
            done = message(self._item_id, self._text)
            output.append(done)
            yield self._event(
                "response.output_text.done",
                content_index=0,
                item_id=self._item_id,
                logprobs=[],
                output_index=0,
                text=self._text,
            )
            yield self._event(
                "response.content_part.done",
                content_index=0,
                item_id=self._item_id,
                output_index=0,
                part=_part(self._text, None),
            )
            yield self._event("response.output_item.done", item=done, output_index=0)
        yield self._event(
            "response.completed",
            response=response(self._asked, status_of(reason), output, used),
        )

    def _event(self, kind: str, **fields: Any) -> dict[str, Any]:
        """Return the event; its fields come in the order of their names, as in vLLM."""
        fields |= {"sequence_number": self._number, "type": kind}
        self._number += 1
        return dict(sorted(fields.items()))
