"""Parses the JSON of a request without blocking other requests: a long call into C holds the GIL
until it returns.

Large bodies are parsed in pure Python, which yields to other threads. Lists and objects are
bounded, because a full garbage collection stops all threads for longer the more objects exist.
"""

from __future__ import annotations

import json
import json.scanner
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from barostat.core.bounds import REQUEST_CONTAINERS, REQUEST_ITEMS
from barostat.core.structure_counts import JSON_MARKS, counted
from barostat.engines.vllm import error_bodies as errors
from barostat.engines.vllm.error_bodies import Refusal

AT_ONCE = 50_000
"""Values parsed or written in one go, without yielding to other requests."""
_SURROGATE = re.compile("[\ud800-\udfff]")
_KIND, _BROKEN = (
    "string_unicode",
    "Input should be a valid string, unable to parse raw data as a unicode string",
)


class _TooMany(Exception):
    """Raised for too many lists and objects. Caught in this file."""


def read_object(body: bytes | bytearray) -> dict[str, Any] | Refusal:
    """Parse the JSON object of a body; Refusal with vLLM's error body if it is invalid or too
    large.
    """
    if not body:
        return errors.invalid_field("missing", "body", "Field required", None)
    items = counted(body, JSON_MARKS, REQUEST_ITEMS.most)
    if items > REQUEST_ITEMS.most:
        return _too_large(f"{REQUEST_ITEMS.most:,} commas, colons and brackets")
    try:
        value = json.loads(body) if items <= AT_ONCE else _read_slowly(body)
    except _TooMany:
        return _too_large(f"{REQUEST_CONTAINERS.most:,} lists and objects")
    except (ValueError, RecursionError) as error:
        where = f"body.{getattr(error, 'pos', 0)}"
        return errors.invalid_field(
            "json_invalid",
            where,
            "JSON decode error",
            {},
            {"error": getattr(error, "msg", "not JSON")},
        )
    if not isinstance(value, dict):
        message = "Input should be a valid dictionary or object to extract fields from"
        return errors.invalid_field("model_attributes_type", "body", message, value)
    if (b"\\ud" in body or b"\\uD" in body) and (broken := _half_of_a_pair(value)) is not None:
        return errors.invalid_field(_KIND, errors.shortened(broken), _BROKEN, None)
    return value


def written(values: list[Any]) -> Iterator[str]:
    """Yield the JSON of a list in pieces, whose concatenation is the complete JSON."""
    yield "["
    for start in range(0, len(values), AT_ONCE):
        text = json.dumps(
            values[start : start + AT_ONCE], ensure_ascii=False, separators=(",", ":")
        )
        yield ("," if start else "") + text[1:-1]
    yield "]"


def _too_large(most: str) -> Refusal:
    return Refusal(413, f"a request has at most {most} here", "Request Entity Too Large")


def _read_slowly(body: bytes | bytearray) -> Any:
    """Parse JSON with the pure-Python parser.

    Errors: ValueError, RecursionError, _TooMany.
    """
    decoder = json.JSONDecoder()
    left = REQUEST_CONTAINERS.most

    def counted(read: Callable[..., Any]) -> Callable[..., Any]:
        def begun(*given: Any) -> Any:
            nonlocal left
            left -= 1
            if left < 0:
                raise _TooMany
            return read(*given)

        return begun

    decoder.parse_array = counted(decoder.parse_array)  # type: ignore[attr-defined]
    decoder.parse_object = counted(decoder.parse_object)  # type: ignore[attr-defined]
    decoder.scan_once = json.scanner.py_make_scanner(decoder)  # type: ignore[attr-defined]
    return decoder.decode(body.decode(json.detect_encoding(body), "surrogatepass"))


def _half_of_a_pair(value: object) -> str | None:
    """Return the path of the first string with an unpaired surrogate, which is invalid; None if
    there is none.
    """
    pending: list[tuple[str, Iterator[tuple[object, object]]]] = [("", iter([("body", value)]))]
    while pending:
        within, items = pending[-1]
        for name, found in items:
            if isinstance(name, str) and _SURROGATE.search(name):
                return within
            where = f"{within}.{name}" if within else str(name)
            if isinstance(found, str) and _SURROGATE.search(found):
                return where
            if isinstance(found, dict | list):
                held: Iterable[tuple[object, object]] = (
                    found.items() if isinstance(found, dict) else enumerate(found)
                )
                pending.append((where, iter(held)))
                break
        else:
            pending.pop()
    return None
