"""Sets one parameter of a JSON body (or a form) to a number and keeps every other byte.

The body has already been parsed by orjson, so this scan only locates the parameter.
"""

from __future__ import annotations

import re

import orjson

from barostat.gateway.messages.form import with_field
from barostat.gateway.messages.routes import OUTPUT_PARAMETERS, WRITTEN_WHERE_ABSENT, Route
from barostat.gateway.messages.shape import whole
from barostat.gateway.messages.structure import TEXT

_STRING = re.compile(TEXT, re.S)
_SPACE = re.compile(rb"[ \t\r\n]*")
_PLAIN = re.compile(rb"[^\s,}\]]+")
_PLAINLY = rb'[^"\[\]{}]++|' + TEXT
_FLAT = _PLAINLY + rb"|[\[{](?:" + _PLAINLY + rb")*+[\]}]"
_SHALLOW = _PLAINLY + rb"|[\[{](?:" + _FLAT + rb")*+[\]}]"
_TO_BRACKETS = re.compile(rb"(?:" + _SHALLOW + rb")*+(?:([\[{]++)|([\]}]++))", re.S)
"""Up to the next brackets that are not in a text, past groups of two levels: those that open, or
those that close.
"""


def capped(route: Route, body: bytes, cap: int) -> bytes:
    """The body with its output limit at `cap` at most: a larger or null one is replaced in place,
    an absent one is inserted first.
    """
    if route == "audio":
        return with_field(body, WRITTEN_WHERE_ABSENT[route], b"%d" % cap)
    names = OUTPUT_PARAMETERS[route]
    found = [
        (name, start, end, orjson.loads(body[start:end]))
        for name, start, end in _members(body)
        if name in names
    ]
    if found:
        in_force = {
            name: value for name, _, _, value in found
        }  # of a name that stands twice the last counts
        none_stated = all(value is None for value in in_force.values())
        parts: list[bytes] = []
        copied = 0
        for _, start, end, value in found:
            if none_stated if value is None else (whole(value) or 0) > cap:
                parts += (body[copied:start], b"%d" % cap)
                copied = end
        if parts:
            return b"".join((*parts, body[copied:]))
        return body
    opening = body.index(b"{") + 1
    separator = b"" if body[_end_of_space(body, opening)] == 125 else b", "
    return b'%b"%b": %d%b%b' % (
        body[:opening],
        WRITTEN_WHERE_ABSENT[route].encode(),
        cap,
        separator,
        body[opening:],
    )


def _end_of_space(body: bytes, at: int) -> int:
    found = _SPACE.match(body, at)
    assert found is not None
    return found.end()


def _members(body: bytes) -> list[tuple[str, int, int]]:
    """The members of the outermost object: name, and where its value begins and ends."""
    found: list[tuple[str, int, int]] = []
    at = _end_of_space(body, body.index(b"{") + 1)
    while body[at] != 125:
        key = _STRING.match(body, at)
        assert key is not None
        start = _end_of_space(body, body.index(b":", key.end()) + 1)
        end = _end_of_value(body, start)
        found.append((orjson.loads(key[0]), start, end))
        at = _end_of_space(body, end)
        if body[at] == 44:
            at = _end_of_space(body, at + 1)
    return found


def _end_of_value(body: bytes, start: int) -> int:
    first = body[start]
    if first == 34:
        found = _STRING.match(body, start)
        assert found is not None
        return found.end()
    if first not in (123, 91):
        plain = _PLAIN.match(body, start)
        assert plain is not None
        return plain.end()
    depth, at, to_brackets = 1, start + 1, _TO_BRACKETS.match
    while (found := to_brackets(body, at)) is not None:
        at = found.end()
        if found.lastindex == 1:
            depth += at - found.start(1)
        elif at - found.start(2) < depth:
            depth -= at - found.start(2)
        else:
            return found.start(2) + depth
    raise AssertionError("an object that does not end")
