"""The JSON of answers, field for field as vLLM 0.32.0 writes them, whole and in pieces.

Source: vLLM 0.32.0, CompletionResponse, CompletionStreamResponse, ChatCompletionResponse,
ChatCompletionStreamResponse (seen at a running engine).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from barostat.twin_server.generation_request import GenerationRequest


@dataclass(frozen=True, slots=True)
class AnswerSoFar:
    """One choice as far as it has come. `tokens` and `prompt` are given where the client asked for
    ids.
    """

    index: int
    text: str
    reason: str | None
    tokens: list[int] | None = None
    prompt: list[int] | None = None


@dataclass(frozen=True, slots=True)
class Head:
    """Fields shared by all pieces of a response."""

    answer_id: str
    created: int
    model: str
    fingerprint: str


def usage(prompt_tokens: int, completion_tokens: int) -> dict[str, Any]:
    """Return the `usage` object of a response."""
    return {
        "prompt_tokens": prompt_tokens,
        "total_tokens": prompt_tokens + completion_tokens,
        "completion_tokens": completion_tokens,
    }


def whole(
    asked: GenerationRequest, head: Head, said: list[AnswerSoFar], used: dict[str, Any]
) -> dict[str, Any]:
    """The answer to a request that does not stream."""
    if asked.chat:
        choices = [
            {
                "index": one.index,
                "message": {
                    "role": "assistant", "content": one.text, "refusal": None, "annotations": None, "audio": None,
                    "function_call": None, "reasoning": None,
                },
                "logprobs": None,
                "finish_reason": one.reason,
                "stop_reason": None,
                "token_ids": one.tokens,
                "routed_experts": None,
            }
            for one in said
        ]  # fmt: skip
        kind = "chat.completion"
    else:
        choices = [
            {
                "index": one.index, "text": one.text, "logprobs": None, "finish_reason": one.reason, "stop_reason": None,
                "token_ids": one.tokens, "prompt_logprobs": None, "prompt_token_ids": one.prompt, "routed_experts": None,
            }
            for one in said
        ]  # fmt: skip
        kind = "text_completion"
    prompt = (
        {"prompt_logprobs": None, "prompt_token_ids": said[0].prompt, "prompt_text": None}
        if asked.chat
        else {}
    )
    return {
        "id": head.answer_id, "object": kind, "created": head.created, "model": head.model, "choices": choices, "service_tier": None,
        "system_fingerprint": head.fingerprint, "usage": {**used, "prompt_tokens_details": None, "completion_tokens_details": None},
        **prompt, "kv_transfer_params": None, "ec_transfer_params": None, "metrics": None,
    }  # fmt: skip


def piece(
    asked: GenerationRequest, head: Head, one: AnswerSoFar, used: dict[str, Any] | None
) -> dict[str, Any]:
    """One event of a stream."""
    if asked.chat:
        choice: dict[str, Any] = {
            "index": one.index,
            "delta": {"content": one.text},
            "logprobs": None,
            "finish_reason": one.reason,
        }
        if one.reason is not None:
            choice["stop_reason"] = None
        choice["token_ids"] = one.tokens
    else:
        choice = {
            "index": one.index, "text": one.text, "logprobs": None, "finish_reason": one.reason, "stop_reason": None,
            "prompt_token_ids": None, "token_ids": one.tokens,
        }  # fmt: skip
    event = _event(asked, head, [choice], used)
    if one.reason is not None and not asked.usage_at_end:
        event["system_fingerprint"] = head.fingerprint
    return event


def opening(
    asked: GenerationRequest, head: Head, index: int, used: dict[str, Any] | None
) -> dict[str, Any]:
    """The first event of a chat's stream: who speaks."""
    choice = {
        "index": index,
        "delta": {"role": "assistant", "content": ""},
        "logprobs": None,
        "finish_reason": None,
    }
    return {**_event(asked, head, [choice], used), "prompt_token_ids": None, "prompt_text": None}


def closing(asked: GenerationRequest, head: Head, used: dict[str, Any]) -> dict[str, Any]:
    """The last event of a stream whose client asked for the count of tokens."""
    return {**_event(asked, head, [], used), "system_fingerprint": head.fingerprint}


def _event(
    asked: GenerationRequest, head: Head, choices: list[dict[str, Any]], used: dict[str, Any] | None
) -> dict[str, Any]:
    event: dict[str, Any] = {
        "id": head.answer_id,
        "object": "chat.completion.chunk" if asked.chat else "text_completion",
        "created": head.created,
        "model": head.model,
        "choices": choices,
    }
    if used is not None:
        event["usage"] = used
    return event
