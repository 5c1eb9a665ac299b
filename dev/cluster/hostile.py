"""What an API server that means harm would answer, made of what the real one says: by the kinds of
trouble that chaos.py draws.

endless-list      every page of a list says that there is another, under a new name
wrong-kinds       the items of a list are none: numbers, texts, null, a map in place of the list
megabyte          every object of a list has annotations and labels of a megabyte
odd-names         names, namespaces and labels with control characters, markup and paths
deep              a value that is nested a hundred thousand levels deep
lying-events      a watch begins with events of no type, of no object, of another kind, older than what is known, of five megabytes
slow-stream       a log comes a few bytes at a time (the proxy carries no exec and no port-forward: these are upgrades)
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Callable, Iterator
from typing import Any, Literal, get_args

Hostile = Literal[
    "endless-list", "wrong-kinds", "megabyte", "odd-names", "deep", "lying-events", "slow-stream"
]
HOSTILE: tuple[Hostile, ...] = get_args(Hostile)
OF_LISTS: tuple[Hostile, ...] = ("endless-list", "wrong-kinds", "megabyte", "odd-names", "deep")
SLOW_BYTES, SLOW_EVERY_S = 64, 0.25
_MEGABYTE = "x" * (1 << 20)
_ODD = "a\x1b]0;owned\x07\x1b[31m\u202e\u200b[/nope]<b>|\r\n../../etc\x00"
_PAGES = itertools.count()


def spoiled(kind: Hostile, answer: bytes) -> bytes:
    """The whole answer of a list, head and all, as that kind has it; one that is no list, or no
    success, stays as it is.
    """
    head, _, body = answer.partition(b"\r\n\r\n")
    if re.search(rb"(?im)^transfer-encoding: *chunked", head):
        body = b"".join(_chunks(body))
    try:
        document = json.loads(body)
    except ValueError:
        return answer
    if (
        not re.match(rb"HTTP/1\.1 200 ", head)
        or not isinstance(document, dict)
        or not isinstance(document.get("items"), list)
    ):
        return answer
    return _answered(_DEEP if kind == "deep" else json.dumps(_CHANGES[kind](document)).encode())


def lies(path: str) -> bytes:
    """Chunks of a watch on that path, to stand before those of the server."""
    namespace = found[1] if (found := re.search(r"/namespaces/([^/?]+)/", path)) else "default"
    known: dict[str, Any] = {
        "apiVersion": "v1",
        "kind": "Lie",
        "metadata": {"name": "lie", "namespace": namespace, "resourceVersion": "1"},
    }
    events: list[Any] = [
        {"type": "EXPLODED", "object": known},
        {"type": "ADDED"},
        {"type": "MODIFIED", "object": None},
        {"type": "MODIFIED", "object": {"metadata": {"name": 7, "resourceVersion": []}}},
        {"type": "BOOKMARK", "object": {"metadata": {"resourceVersion": "-1"}}},
        {"type": ["ADDED"], "object": known},
        [],
        {"type": "ADDED", "object": {**known, "metadata": {"name": _ODD, "resourceVersion": _ODD}}},
        {
            "type": "ADDED",
            "object": {**known, "metadata": {"name": "lie", "annotations": {"a": _MEGABYTE * 5}}},
        },
    ]
    return b"".join(
        b"%x\r\n%b\r\n" % (len(line), line)
        for line in (json.dumps(event).encode() + b"\n" for event in events)
    )


def _endless(document: dict[str, Any]) -> dict[str, Any]:
    return {
        **document,
        "items": (document["items"] or [{}]) * 50,
        "metadata": {"continue": f"page-{next(_PAGES)}"},
    }


def _wrong(document: dict[str, Any]) -> dict[str, Any]:
    torn = [
        {**item, "metadata": [], "spec": 7, "status": None}
        for item in document["items"]
        if isinstance(item, dict)
    ]
    return {
        **document,
        "items": [None, 1, "x", [], [{}], {}, {"metadata": None}, *torn],
        "metadata": {"continue": {"a": [1]}},
    }


def _each(document: dict[str, Any], **metadata: Any) -> dict[str, Any]:
    items = [
        {**item, "metadata": {**(item.get("metadata") or {}), **metadata}}
        for item in document["items"]
        if isinstance(item, dict)
    ]
    return {**document, "items": items}


_CHANGES: dict[Hostile, Callable[[dict[str, Any]], dict[str, Any]]] = {
    "endless-list": _endless,
    "wrong-kinds": _wrong,
    "megabyte": lambda document: _each(
        document, annotations={"a": _MEGABYTE, _ODD: _ODD}, labels={"b": _MEGABYTE}
    ),
    "odd-names": lambda document: _each(document, name=_ODD, namespace=_ODD, labels={_ODD: _ODD}),
}
_DEEP = b'{"kind":"List","apiVersion":"v1","items":' + b"[" * 100_000


def _chunks(body: bytes) -> Iterator[bytes]:
    at = 0
    while (end := body.find(b"\r\n", at)) > 0 and (
        size := int(body[at:end].partition(b";")[0], 16)
    ):
        yield body[end + 2 : end + 2 + size]
        at = end + 4 + size


def _answered(body: bytes) -> bytes:
    return (
        b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\nconnection: close\r\n\r\n%b"
        % (len(body), body)
    )
