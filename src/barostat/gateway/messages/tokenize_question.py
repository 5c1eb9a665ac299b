"""The /tokenize request that makes an engine count an input exactly as it does when serving it:
same template, same tools, same parameters.

chat          /tokenize with all that the template sees: documents and reasoning effort go into `chat_template_kwargs`, as in a chat
batch         /tokenize, once for each conversation
completions   /tokenize, once for each prompt of text; one of ids is as long as it is
responses     /tokenize with the chat that the engine makes of the items; None if a part of it is stored in the engine
score, audio  None: engines count neither pairs nor sounds
messages      /v1/messages/count_tokens with what of the body counts; where an engine has no such path, /tokenize with simple messages

Source: vLLM 0.32.0, ChatCompletionRequest.build_chat_params, responses/utils.py,
AnthropicCountTokensRequest. None is `it has no form`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import orjson

from barostat.gateway.messages.shape import Shape

_OF_PROMPT = ("add_special_tokens",)
_OF_CHAT = (
    "model", "messages", "tools", "add_generation_prompt", "continue_final_message", "add_special_tokens", "chat_template",
    "chat_template_kwargs", "media_io_kwargs", "mm_processor_kwargs",
)  # fmt: skip
_OF_MESSAGES = (
    "model",
    "messages",
    "system",
    "tools",
    "tool_choice",
    "thinking",
    "output_config",
    "chat_template_kwargs",
)
_CUT = "truncate_prompt_tokens"


class TokenizeQuestion(NamedTuple):
    """A request for a token count. The count is in `answered` of the response. `otherwise`: the
    request to send if `path` does not exist.
    """

    path: bytes
    document: dict[str, Any]
    answered: str = "count"
    otherwise: dict[str, Any] | None = None


class TokenizeQuestions(NamedTuple):
    """The token-count requests for one request, each result capped at `cut` if the engine truncates
    (-1: to its context). `known`: tokens of prompts given as ids.
    """

    asked: list[TokenizeQuestion]
    cut: int | None
    known: tuple[int, ...] = ()


def questions_of(shape: Shape, body: bytes) -> TokenizeQuestions | None:
    """The /tokenize request for this request; None if it has no form for it."""
    if shape.route == "score" or shape.route == "audio":
        return None
    document = orjson.loads(body)
    cut = document.get(_CUT)
    most = (
        cut
        if type(cut) is int and cut >= -1 and shape.route in ("chat", "completions", "embeddings")
        else None
    )
    if shape.route == "messages":
        return TokenizeQuestions([_of_messages(document)], None)
    if shape.route == "chat":
        return TokenizeQuestions([TokenizeQuestion(b"/tokenize", _of_chat(document))], most)
    if shape.route == "batch":
        chats = ({**document, "messages": one} for one in document["messages"])
        asked = [TokenizeQuestion(b"/tokenize", _of_chat(chat)) for chat in chats]
        return TokenizeQuestions(asked, None)
    if shape.route == "responses":
        chat = _of_responses(document)
        return (
            None
            if chat is None
            else TokenizeQuestions([TokenizeQuestion(b"/tokenize", chat)], None)
        )
    if shape.route == "embeddings" and document.get("messages") is not None:
        chat = {"add_generation_prompt": False, **_of_chat(document)}
        return TokenizeQuestions([TokenizeQuestion(b"/tokenize", chat)], most)
    text = document.get("input" if shape.route == "embeddings" else "prompt")
    prompts = [text] if shape.prompts == 1 and shape.prompt_ids else text
    prompts = prompts if isinstance(prompts, list) else [prompts]
    if (
        not all(isinstance(prompt, str | list) for prompt in prompts)
        or document.get("prompt_embeds") is not None
    ):
        return None
    kept = {name: document[name] for name in _OF_PROMPT if name in document}
    texts = [
        TokenizeQuestion(b"/tokenize", {"model": shape.model, "prompt": one, **kept})
        for one in prompts
        if isinstance(one, str)
    ]
    return TokenizeQuestions(
        texts, most, tuple(len(one) for one in prompts if isinstance(one, list))
    )


def _of_chat(document: dict[str, Any]) -> dict[str, Any]:
    asked = {name: document[name] for name in _OF_CHAT if name in document}
    seen = {
        name: document[name]
        for name in ("documents", "reasoning_effort")
        if document.get(name) is not None
    }
    own = document.get("chat_template_kwargs")
    if seen:
        asked["chat_template_kwargs"] = _template_arguments(
            own if isinstance(own, dict) else {}, seen
        )
    return asked


def _template_arguments(own: dict[str, Any], seen: dict[str, Any]) -> dict[str, Any]:
    """Merge arguments as the engine does: explicit parameters win; effort turns thinking on unless
    the client sets it.
    """
    effort = seen.get("reasoning_effort")
    thinking = (
        {"enable_thinking": effort != "none"}
        if effort is not None and "enable_thinking" not in own
        else {}
    )
    return {**own, **seen, **thinking}


def _of_responses(document: dict[str, Any]) -> dict[str, Any] | None:
    if document.get("previous_response_id") is not None or document.get("prompt") is not None:
        return None  # the earlier conversation is in the engine
    given = document.get("input")
    items = given if isinstance(given, list) else [{"role": "user", "content": given}]
    turns: list[dict[str, Any]] = []
    if isinstance(document.get("instructions"), str) and document["instructions"]:
        turns.append({"role": "system", "content": document["instructions"]})
    for item in items:
        if not isinstance(item, dict) or item.get("status") in ("in_progress", "incomplete"):
            return None
        before = turns[-1] if turns and turns[-1].get("role") == "assistant" else None
        turn = _turn(item, before)
        if turn is None:
            return None
        if turn is not before:
            turns.append(turn)
    asked: dict[str, Any] = {"model": document.get("model"), "messages": turns}
    if isinstance(document.get("tools"), list) and document["tools"]:
        if any(
            not isinstance(tool, dict) or tool.get("type") != "function"
            for tool in document["tools"]
        ):
            return None
        functions = [
            {name: value for name, value in tool.items() if name != "type"}
            for tool in document["tools"]
        ]
        asked["tools"] = [{"type": "function", "function": function} for function in functions]
    own, reasoning = document.get("chat_template_kwargs") or {}, document.get("reasoning") or {}
    if not isinstance(own, dict) or not isinstance(reasoning, dict):
        return None
    effort = reasoning.get("effort")
    if own or effort is not None:
        asked["chat_template_kwargs"] = _template_arguments(
            own, {} if effort is None else {"reasoning_effort": effort}
        )
    return asked


def _turn(item: dict[str, Any], before: dict[str, Any] | None) -> dict[str, Any] | None:
    """Return the chat message that an item becomes, None if it has no form. What belongs to the
    assistant's message `before` is put into that one.
    """
    kind = item.get("type")
    if kind == "function_call":
        function = {"name": item.get("name"), "arguments": item.get("arguments")}
        call = {"id": item.get("call_id"), "type": "function", "function": function}
        if before is None:
            return {"role": "assistant", "tool_calls": [call]}
        before["tool_calls"] = [*before.get("tool_calls", ()), call]
        return before
    if kind in ("function_call_output", "custom_tool_call_output"):
        output = _content(item.get("output"))
        if output is None:
            return None
        return {"role": "tool", "tool_call_id": item.get("call_id"), "content": output}
    if kind == "reasoning":
        if item.get("encrypted_content"):
            return None
        said = _first_text(item.get("content")) or _first_text(item.get("summary"))
        if before is None or before.get("reasoning") is not None:
            return {"role": "assistant", "reasoning": said}
        before["reasoning"] = said
        return before
    if kind not in ("message", None) or "role" not in item:
        return None
    if item["role"] != "assistant":
        content = _content(item.get("content"))
        return None if content is None else {**item, "content": content}
    text = item.get("content")
    if isinstance(text, list):
        text = _first_text(text) if _content(text) is not None else None
    if not isinstance(text, str):
        return None
    if before is None or before.get("content") is not None:
        return {"role": "assistant", "content": text}
    before["content"] = text
    return before


def _content(content: Any) -> str | list[dict[str, Any]] | None:
    """Text, or parts as a chat has them; None if a chat has none."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list) or not content:
        return None
    parts = [found for part in content if (found := _part(part)) is not None]
    return parts if len(parts) == len(content) else None


def _first_text(parts: Any) -> str:
    """The text of the first part: engines take no more of an assistant's message."""
    first = parts[0] if isinstance(parts, list) and parts else None
    text = first.get("text") if isinstance(first, dict) else None
    return text if isinstance(text, str) else ""


def _part(part: Any) -> dict[str, Any] | None:
    """A part of an item, as a chat has it; None if a chat has none."""
    kind = part.get("type") if isinstance(part, dict) else None
    if kind in ("input_text", "output_text", "text"):
        return {"type": "text", "text": part.get("text")}
    if kind == "input_image" and isinstance(part.get("image_url"), str):
        return {"type": "image_url", "image_url": {"url": part["image_url"]}}
    return None


def _of_messages(document: dict[str, Any]) -> TokenizeQuestion:
    asked = {name: document[name] for name in _OF_MESSAGES if name in document}
    return TokenizeQuestion(b"/v1/messages/count_tokens", asked, "input_tokens", _as_chat(document))


def _as_chat(document: dict[str, Any]) -> dict[str, Any] | None:
    """An Anthropic body of plain texts as the chat that an engine makes of it: the system text
    first, tools in the other form.
    """
    given, system = document.get("messages"), document.get("system")
    messages = [one for one in given if isinstance(one, dict)] if isinstance(given, list) else []
    if not all(_is_plain(one.get("content")) for one in messages):
        return None
    if isinstance(system, list):
        system = "".join(
            text
            for part in system
            if isinstance(part, dict) and isinstance(text := part.get("text"), str)
        )
    if system:
        messages = [{"role": "system", "content": system}, *messages]
    asked: dict[str, Any] = {"model": document.get("model"), "messages": messages}
    if isinstance(document.get("tools"), list):
        asked["tools"] = [_function(tool) for tool in document["tools"] if isinstance(tool, dict)]
    return asked


def _function(tool: dict[str, Any]) -> dict[str, Any]:
    shown = {
        "name": tool.get("name"),
        "description": tool.get("description"),
        "parameters": tool.get("input_schema") or {},
    }
    return {"type": "function", "function": shown}


def _is_plain(content: Any) -> bool:
    """Text, or parts that are all text."""
    return isinstance(content, str) or (
        isinstance(content, list)
        and all(isinstance(part, dict) and part.get("type") == "text" for part in content)
    )
