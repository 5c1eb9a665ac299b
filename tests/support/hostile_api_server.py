"""An API server that means harm, over the little one: lists without an end, wrong kinds, huge
objects, names that are none, silence.

Every attack answers reads only; what it gives is what a client would take for an answer: the right
status and content type.
"""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import AsyncIterator, Callable, Mapping
from functools import partial
from typing import Any

import httpx
from tests.support.little_api_server import LittleApiServer

from barostat.core.bounds import ANSWER_VALUES

MEGABYTE = "x" * (1 << 20)
CONTROL = "a\x1b]0;owned\x07\x1b[31m\u202e\u200b\r\n../../etc\x00"
_WRONG: tuple[Any, ...] = (
    None,
    True,
    -1,
    1e400,
    float("nan"),
    10**30,
    "",
    "\ud800",
    CONTROL,
    [],
    {},
    [[]],
    [None],
    {"": None},
    "²",
)
_WRITTEN = "\ud800"
Attack = Callable[[str, Any], Any]
"""Given the target and the honest answer: another answer, as a value for JSON, or as bytes, or as a
stream.
"""


class Pieces(httpx.AsyncByteStream):
    """A body that comes piece by piece: so many times (None: without an end), with so long between
    two.
    """

    def __init__(
        self, piece: bytes, times: int | None = None, every_s: float = 0.0, first: bytes = b""
    ) -> None:
        self._piece, self._times, self._every_s, self._first = piece, times, every_s, first

    async def __aiter__(self) -> AsyncIterator[bytes]:
        yield self._first
        sent = 0
        while self._times is None or sent < self._times:
            await asyncio.sleep(self._every_s)
            yield self._piece
            sent += 1


class HostileApiServer(LittleApiServer):
    """The little API server, whose answers to reads are what `attack` makes of them. `answered`:
    how many were.
    """

    def __init__(self, honest: LittleApiServer, attack: Attack) -> None:
        super().__init__(honest.kube)
        self._attack = attack
        self.answered = 0

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """What the attack makes of the honest answer."""
        honest = await super().handle_async_request(request)
        if request.method != "GET" or not honest.headers.get("content-type", "").startswith(
            "application/json"
        ):
            return honest
        self.answered += 1
        found = self._attack(request.url.raw_path.decode(), json.loads(honest.content))
        head = {"content-type": "application/json"}
        if isinstance(found, httpx.AsyncByteStream):
            return httpx.Response(200, headers=head, stream=found)
        status = (
            found.get("code", 200)
            if isinstance(found, dict) and found.get("kind") == "Status"
            else 200
        )
        content = found if isinstance(found, bytes) else json.dumps(found).encode()
        return httpx.Response(
            status if isinstance(status, int) and 200 <= status < 600 else 200,
            headers=head,
            content=content,
        )


def _listed(answer: Any) -> bool:
    return isinstance(answer, dict) and isinstance(answer.get("items"), list)


def endless_list() -> Attack:
    """Every page says that there is another, under a new name."""
    count = iter(range(10**9))
    return lambda _, answer: (
        {
            **answer,
            "items": (answer["items"] or [{}]) * 500,
            "metadata": {"continue": f"page-{next(count)}"},
        }
        if _listed(answer)
        else answer
    )


def same_page(_: str, answer: Any) -> Any:
    """Every page says that it is to be asked for again."""
    return {**answer, "metadata": {"continue": "again"}} if _listed(answer) else answer


def wrong_kinds(seed: int, share: float = 0.15) -> Attack:
    """Values here and there are of another kind."""
    dice = random.Random(seed)

    def changed(node: Any) -> Any:
        if dice.random() < share:
            return dice.choice(_WRONG)
        if isinstance(node, dict):
            return {key: changed(value) for key, value in node.items()}
        return [changed(value) for value in node] if isinstance(node, list) else node

    def attack(_: str, answer: Any) -> Any:
        if _listed(answer):
            return {**answer, "items": [changed(item) for item in answer["items"]]}
        return (
            {key: changed(value) for key, value in answer.items()}
            if isinstance(answer, dict)
            else answer
        )

    return attack


def named(_: str, answer: Any) -> Any:
    """Names, labels, messages and images are what no server lets in; each object has annotations of
    a megabyte.
    """

    def odd(item: Any) -> Any:
        if not isinstance(item, dict) or not isinstance(item.get("metadata"), dict):
            return item
        metadata = {
            **item["metadata"],
            "annotations": {CONTROL: MEGABYTE, "b": _WRITTEN},
            "name": CONTROL + str(item["metadata"].get("name")),
        }
        return {**item, "metadata": metadata, "message": CONTROL, "reason": CONTROL}

    return (
        {**answer, "items": [odd(item) for item in answer["items"]]}
        if _listed(answer)
        else odd(answer)
    )


def megabyte_annotations(_: str, answer: Any) -> Any:
    """The objects are right, and each has annotations and labels of a megabyte, with control
    characters in them.
    """

    def heavy(item: Any) -> Any:
        metadata = {
            **item.get("metadata", {}),
            "annotations": {"a": MEGABYTE, CONTROL: CONTROL, "b": _WRITTEN},
        }
        return {**item, "metadata": metadata}

    if _listed(answer):
        return {**answer, "items": [heavy(item) for item in answer["items"]]}
    return heavy(answer) if isinstance(answer, dict) and "metadata" in answer else answer


def failing(status: Mapping[str, Any]) -> Attack:
    """A Status in every place."""
    return lambda _, __: {"kind": "Status", "apiVersion": "v1", "status": "Failure", **status}


ATTACKS: dict[str, Callable[[], Attack]] = {
    "endless list": endless_list,
    "the same page again": lambda: same_page,
    "pages without a token's end": lambda: (
        lambda _, a: {**a, "metadata": {"continue": MEGABYTE}} if _listed(a) else a
    ),
    "a token that is no text": lambda: (
        lambda _, a: {**a, "metadata": {"continue": {"a": [1]}}} if _listed(a) else a
    ),
    "no list": lambda: lambda _, __: [],
    "items that are none": lambda: (
        lambda _, a: {**a, "items": [None, 1, "x", [], [{}]]} if _listed(a) else a
    ),
    "items that are a map": lambda: lambda _, a: {**a, "items": {"a": 1}} if _listed(a) else a,
    "names that are none": lambda: named,
    "annotations of a megabyte": lambda: megabyte_annotations,
    "many values": lambda: (
        lambda _, __: b'{"kind":"List","items":[' + b"{}," * ANSWER_VALUES.most + b"{}]}"
    ),
    "deep": lambda: lambda _, __: b'{"kind":"List","items":' + b"[" * 200_000,
    "a number of 5,000 digits": lambda: (
        lambda _, __: b'{"kind":"List","items":[{"spec":{"replicas":' + b"9" * 5000 + b"}}]}"
    ),
    "not UTF-8": lambda: lambda _, __: b'{"kind":"List","items":["\xff\xfe"]}',
    "a body without an end": lambda: lambda _, __: Pieces(b" " * (1 << 20)),
    "a slow body": lambda: (
        lambda _, a: Pieces(b" ", every_s=1.0, first=json.dumps(a).encode()[:-1])
    ),
    "a Status of a megabyte": lambda: failing(
        {"code": 500, "message": CONTROL * 40_000, "reason": MEGABYTE}
    ),
    "a Status of wrong kinds": lambda: failing(
        {"code": 403, "message": {"a": [1]}, "reason": [CONTROL]}
    ),
    **{f"wrong kinds, seed {seed}": partial(wrong_kinds, seed) for seed in range(12)},
    **{f"a few wrong kinds, seed {seed}": partial(wrong_kinds, seed, 0.02) for seed in range(12)},
}
"""Every attack, made anew for each use."""
