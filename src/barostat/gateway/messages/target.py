"""The request target, parsed once: the path that the gateway decides on is the path that it sends.

    target --cut at `?`--> path --percent-decoded once--> listed path, allowed path, or unlisted
                                                              |
                                    sent to the engine as that path, in its plain spelling

Engines cut the target at `?` and at `#`, undo percent signs once, and compare the path as it is:
case counts, a trailing slash and dot segments are not resolved.
Source: uvicorn 0.54 HttpToolsProtocol.on_headers_complete; starlette 1.10 compile_path.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple
from urllib.parse import unquote_to_bytes

from barostat.core.errors import InputError
from barostat.gateway.messages.routes import LISTED, Route

_TARGET = re.compile(rb"/(?:[!\"$-.0-~][!\"$-~]*)?")
"""A path and a query: visible ASCII, one leading slash, and no fragment."""
_PLAIN_PATH = re.compile(r"(?:/[A-Za-z0-9._~!$&'()+,=:@-]+)+/?|/")
_PATTERN = re.compile(r"(?:(?P<method>[A-Z]+)[ \t]+)?(?P<path>/[^\s*]*)(?P<below>\*)?")
_DOTS = frozenset({".", ".."})
_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"})
_SHOWN_BYTES = 100


class Passage(NamedTuple):
    """An allowed request: its route, and the target to send to the engine."""

    route: Route
    target: bytes


@dataclass(frozen=True, slots=True)
class AllowedPath:
    """A path named by --allow-path, for one method or for any (""). `below`: and all under it."""

    path: str
    method: str = ""
    below: bool = False

    def covers(self, method: str, path: str) -> bool:
        """True if this entry lets the request pass. Browsers ask with OPTIONS first."""
        if self.method and method not in (self.method, "OPTIONS"):
            return False
        return path == self.path or (self.below and path.startswith(self.path))


def allowed_path(text: str) -> AllowedPath:
    """Parse `PATH`, `METHOD PATH` or `PATH/*`. Errors: InputError."""
    found = _PATTERN.fullmatch(text.strip())
    place = f"--allow-path {text!r}"
    if found is None or (found["method"] or "GET") not in _METHODS:
        raise InputError("expected PATH, METHOD PATH or PATH/*, as in 'POST /tokenize'", place)
    path, below = found["path"], bool(found["below"])
    if not _is_plain(path) or (below and not path.endswith("/")):
        raise InputError("the path must be plain: no empty, . or .. segment, no escapes", place)
    return AllowedPath(path, found["method"] or "", below)


def is_target(raw: bytes) -> bool:
    """True if this is a path with or without a query, and nothing that engines read otherwise."""
    return _TARGET.fullmatch(raw) is not None


class Listing:
    """The methods and paths that pass: those that the gateway understands, and those allowed."""

    def __init__(self, allowed: Iterable[AllowedPath] = ()) -> None:
        self._allowed = tuple(allowed)
        self._exact = {
            (method, path): Passage(route, path)
            for path, (route, methods) in LISTED.items()
            for method in methods
        }

    def find(self, method: bytes, raw: bytes) -> Passage | None:
        """Return where this request goes, None if it may not pass. `raw`: see `is_target`."""
        passage = self._exact.get((method, raw))
        return self._spelled_otherwise(method, raw) if passage is None else passage

    def _spelled_otherwise(self, method: bytes, raw: bytes) -> Passage | None:
        path, mark, query = raw.partition(b"?")
        if b"%" in path:
            path = unquote_to_bytes(path)
        listed = self._exact.get((method, path))
        if listed is not None:
            return Passage(listed.route, path + mark + query)
        if not self._allowed or not path.isascii() or not _is_plain(path.decode()):
            return None
        covered = any(one.covers(method.decode(), path.decode()) for one in self._allowed)
        return Passage("other", path + mark + query) if covered else None


def _is_plain(path: str) -> bool:
    return _PLAIN_PATH.fullmatch(path) is not None and _DOTS.isdisjoint(path.split("/"))


def unlisted(method: bytes, raw: bytes) -> str:
    """Return the message for a path or method that is not listed."""
    path = raw.partition(b"?")[0][:_SHOWN_BYTES].decode("ascii", "replace")
    return (
        f"{method.decode()} {path} is not served here: the operator of this gateway can allow "
        "it with --allow-path."
    )
