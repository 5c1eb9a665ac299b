"""An answer of the gateway itself, in the words that the client library of its route understands,
as whole HTTP bytes.

OpenAI: {"error": {message, type, param, code}}; Anthropic: {"type": "error", "error": {type,
message}}. Both libraries try again by themselves after 429 and 503 and wait as Retry-After says.
"""

from __future__ import annotations

import math
from http import HTTPStatus

import orjson

from barostat.admit.decision import Refused
from barostat.gateway.messages.routes import ANTHROPIC, WRITTEN_WHERE_ABSENT, Route
from barostat.gateway.messages.shape import Shape

_OPENAI_TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    408: "timeout_error",
    413: "invalid_request_error",
    429: "rate_limit_error",
    431: "invalid_request_error",
    501: "invalid_request_error",
    502: "api_error",
    503: "overloaded_error",
    504: "timeout_error",
}
_ANTHROPIC_TYPES = {**_OPENAI_TYPES, 413: "request_too_large", 502: "api_error", 504: "api_error"}


def in_words(refused: Refused, shape: Shape | None) -> tuple[str, str | None]:
    """The sentence for the client, and the parameter that it is about, by the name that it has on
    this route.
    """
    named = None
    if shape is not None and refused.reason == "no-output-limit":
        named = WRITTEN_WHERE_ABSENT[shape.route]
    elif shape is not None and refused.reason == "output-too-long":
        named = shape.limit_named or None
    sentence = refused.sentence
    return (f"{sentence[:-1]} ({named})." if named else sentence), named


def answer(
    status: int,
    reason: str,
    message: str,
    *,
    route: Route = "other",
    parameter: str | None = None,
    retry_after_s: float | None = None,
    close: bool = False,
    body_wanted: bool = True,
) -> bytes:
    """The whole response. `reason`: the name of what refused it, as `code` and in a header of its
    own.
    """
    if route in ANTHROPIC:
        body = {
            "type": "error",
            "error": {"type": _ANTHROPIC_TYPES.get(status, "api_error"), "message": message},
        }
    else:
        body = {
            "error": {
                "message": message,
                "type": _OPENAI_TYPES.get(status, "api_error"),
                "param": parameter,
                "code": reason,
            }
        }
    extra = f"x-barostat-reason: {reason}\r\n"
    if retry_after_s is not None:
        extra += f"retry-after: {max(1, math.ceil(retry_after_s))}\r\n"
    if status == 401:
        extra += "www-authenticate: Bearer\r\n"
    return plain_answer(
        status, orjson.dumps(body), "application/json", extra, close=close, body_wanted=body_wanted
    )


def plain_answer(
    status: int,
    body: bytes,
    content_type: str,
    extra: str = "",
    *,
    close: bool = False,
    body_wanted: bool = True,
) -> bytes:
    """The whole response with this body. `extra`: further header lines, each with its line end."""
    head = (
        f"HTTP/1.1 {status} {HTTPStatus(status).phrase}\r\ncontent-type: "
        f"{content_type}\r\ncontent-length: {len(body)}\r\n"
        f"{extra}{'connection: close' + chr(13) + chr(10) if close else ''}\r\n"
    ).encode("latin-1")
    return head + body if body_wanted else head
