"""The paths that the gateway understands, and the facts of each that are needed in several places."""

from __future__ import annotations

from typing import Literal, get_args

Route = Literal[
    "chat", "batch", "completions", "responses", "messages", "audio", "embeddings", "score", "models", "count_tokens", "other"
]  # fmt: skip
ROUTES: tuple[Route, ...] = get_args(Route)
_POSTED = frozenset({b"POST", b"OPTIONS"})
_GOT = frozenset({b"GET", b"HEAD", b"OPTIONS"})
LISTED: dict[bytes, tuple[Route, frozenset[bytes]]] = {
    b"/v1/chat/completions": ("chat", _POSTED),
    b"/v1/chat/completions/batch": ("batch", _POSTED),
    b"/v1/completions": ("completions", _POSTED),
    b"/v1/responses": ("responses", _POSTED),
    b"/v1/messages": ("messages", _POSTED),
    b"/v1/messages/count_tokens": ("count_tokens", _POSTED),
    b"/v1/audio/transcriptions": ("audio", _POSTED),
    b"/v1/audio/translations": ("audio", _POSTED),
    b"/v1/embeddings": ("embeddings", _POSTED),
    b"/classify": ("embeddings", _POSTED),
    b"/pooling": ("embeddings", _POSTED),
    b"/score": ("score", _POSTED),
    b"/v1/score": ("score", _POSTED),
    b"/rerank": ("score", _POSTED),
    b"/v1/rerank": ("score", _POSTED),
    b"/v2/rerank": ("score", _POSTED),
    b"/v1/models": ("models", _GOT),
    b"/health": ("other", _GOT),
    b"/livez": ("other", _GOT),
    b"/readyz": ("other", _GOT),
}
"""The paths that pass, and by which methods. The last three are answered by the gateway. What pools
takes the body of an embedding: `input` or `messages`, and no output limit. `count_tokens` computes
and holds nothing: its body passes unread.
"""
GENERATING: frozenset[Route] = frozenset(
    {"chat", "batch", "completions", "responses", "messages", "audio"}
)
POOLING: frozenset[Route] = frozenset({"embeddings", "score"})
READ: frozenset[Route] = GENERATING | POOLING
ANTHROPIC: frozenset[Route] = frozenset({"messages", "count_tokens"})
"""Refused in the words of Anthropic's client library; all others in those of OpenAI's."""
OUTPUT_PARAMETERS: dict[Route, tuple[str, ...]] = {
    "chat": ("max_completion_tokens", "max_tokens"),
    "batch": ("max_completion_tokens", "max_tokens"),
    "completions": ("max_tokens",),
    "responses": ("max_output_tokens",),
    "messages": ("max_tokens",),
    "audio": ("max_completion_tokens",),
}
"""By route, the parameters that state the output limit. Which of several counts depends on the
engine's version, so each of them is held to the limit.
"""
WRITTEN_WHERE_ABSENT: dict[Route, str] = {
    "chat": "max_tokens",
    "batch": "max_tokens",
    "completions": "max_tokens",
    "responses": "max_output_tokens",
    "messages": "max_tokens",
    "audio": "max_completion_tokens",
}
"""The parameter that is written where none is stated: of chat's two the one that every engine
knows.
"""
