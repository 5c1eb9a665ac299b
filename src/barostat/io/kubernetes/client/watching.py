"""What changes in a cluster, as it changes: a watch that survives expired versions, silence and
broken connections.
"""

from __future__ import annotations

import asyncio
import json
import random
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any, Literal

import httpx

from barostat.core.bounds import EVENT_BYTES
from barostat.io.engine_http.http import connect_s
from barostat.io.kubernetes.client.cluster import FIRST_WAIT_S, LONGEST_WAIT_S, Cluster, Object
from barostat.io.kubernetes.client.failures import (
    RequestFailed,
    of_answer,
    of_error,
    of_failure,
    of_response,
)
from barostat.io.kubernetes.client.resources import Resource

SERVER_S = 20
"""The server ends a watch after this time, and it is taken up again: what a silent connection can
cost is bounded by it.
"""
SILENT_S = SERVER_S + 5.0
"""A watch that is still open after this time has lost its connection."""


_WORDS_BYTES = 1 << 20
_TYPES = ("ADDED", "MODIFIED", "DELETED", "BOOKMARK")
_TOO_LARGE = "EventTooLarge"


@dataclass(frozen=True, slots=True)
class Changed:
    """One object is as it is now; `gone` where it was deleted."""

    object: Object
    gone: bool = False


@dataclass(frozen=True, slots=True)
class Relisted:
    """The whole list, at the start and whenever changes may have been missed: objects not in it are
    deleted.
    """

    items: tuple[Object, ...]
    kind: Literal["relisted"] = "relisted"


async def watch(
    cluster: Cluster,
    resource: Resource,
    namespace: str | None = None,
    *,
    labels: str = "",
    fields: str = "",
    for_s: float,
) -> AsyncIterator[Changed | Relisted | RequestFailed]:
    """Yield the list, then every change, for `for_s` seconds. A permanent failure ends it; a
    temporary one is yielded, and the watch continues.
    """
    deadline = time.monotonic() + for_s
    version = ""
    failures = 0
    while (left_s := deadline - time.monotonic()) > 0:
        if not version:
            listed = await cluster.list(
                resource, namespace, labels=labels, fields=fields, within_s=min(15.0, left_s)
            )
            if isinstance(listed, RequestFailed):
                yield listed
                if not listed.may_pass and listed.kind != "gone":
                    return
                failures += 1
                await _pause(failures, deadline)
                continue
            version, failures = listed.version, 0
            yield Relisted(listed.items)
        began = time.monotonic()
        async for event in _stream(cluster, resource, namespace, labels, fields, version, deadline):
            if isinstance(event, RequestFailed):
                if event.kind == "gone":
                    version = ""
                    break
                yield event
                if not event.may_pass:
                    return
                if event.reason == _TOO_LARGE:  # it would come again from where the watch stands
                    version = ""
                break
            kind, changed = event
            known = changed["metadata"].get("resourceVersion")
            version = known if isinstance(known, str) and known else version
            if kind != "BOOKMARK":
                failures = 0
                yield Changed(changed, gone=kind == "DELETED")
        if (
            time.monotonic() - began < 1.0
        ):  # a watch that ends at once would be asked for in a tight circle
            failures += 1
            await _pause(failures, deadline)


async def _pause(failures: int, deadline: float) -> None:
    wait_s = min(LONGEST_WAIT_S, FIRST_WAIT_S * 2**failures) * random.uniform(0.5, 1.0)
    await asyncio.sleep(max(0.0, min(wait_s, deadline - time.monotonic())))


async def _stream(
    cluster: Cluster,
    resource: Resource,
    namespace: str | None,
    labels: str,
    fields: str,
    version: str,
    deadline: float,
) -> AsyncIterator[tuple[str, Object] | RequestFailed]:
    what = f"watch {resource.right} in {namespace or 'all namespaces'}"
    left_s = deadline - time.monotonic()
    params: dict[str, Any] = {
        "watch": "true",
        "allowWatchBookmarks": "true",
        "resourceVersion": version,
    }
    params |= {"timeoutSeconds": max(1, min(SERVER_S, int(left_s) + 1))}
    params |= ({"labelSelector": labels} if labels else {}) | (
        {"fieldSelector": fields} if fields else {}
    )
    try:
        session = await cluster.session()
        # Time-outs of the reads and none around them: that would strike whoever holds an event,
        # between two of them.
        silence = httpx.Timeout(
            None, connect=connect_s(cluster.access.server), read=min(SILENT_S, max(0.1, left_s))
        )
        request = session.stream("GET", resource.path(namespace), params=params, timeout=silence)
        async with request as response:
            if response.status_code >= 400:
                body = b""
                async for part in response.aiter_bytes():
                    body += part
                    if len(body) > _WORDS_BYTES:
                        break
                yield of_response(
                    response.status_code,
                    response.headers,
                    body,
                    what,
                    cluster.access,
                    resource.path(namespace),
                )
                return
            async for line in _lines(response):
                found = _event(line, what)
                if found is not None:
                    yield found
                if time.monotonic() >= deadline or line is None:
                    return
    except httpx.ReadTimeout:
        return
    except httpx.HTTPError as error:
        yield of_failure(of_error(error, cluster.access), cluster.access, what, sent=True)


async def _lines(response: httpx.Response) -> AsyncIterator[bytes | None]:
    """The lines of the answer; None, at the end, where one is longer than is read."""
    begun = bytearray()
    async for part in response.aiter_bytes():
        *lines, rest = part.split(b"\n")
        for line in lines:
            yield bytes(begun) + line
            begun.clear()
        begun += rest
        if len(begun) > EVENT_BYTES.most:
            yield None
            return
    if begun:
        yield bytes(begun)


def _event(line: bytes | None, what: str) -> tuple[str, Object] | RequestFailed | None:
    if line is None:
        return RequestFailed(
            "reset",
            f"cannot {what}: an event is larger than {EVENT_BYTES.most >> 20} MiB",
            reason=_TOO_LARGE,
        )
    try:
        event = json.loads(line) if line.strip() else None
    except (ValueError, RecursionError):
        return RequestFailed("reset", f"cannot {what}: an event was cut off")
    if not isinstance(event, dict) or not isinstance(event.get("object"), dict):
        return None
    if event.get("type") == "ERROR":
        status = event["object"]
        code = status.get("code")
        return of_answer(
            code if isinstance(code, int) and 400 <= code <= 599 else 500,
            {},
            json.dumps(status).encode(),
            what,
        )
    kind, metadata = event.get("type"), event["object"].get("metadata")
    if (
        kind not in _TYPES
        or not isinstance(metadata, dict)
        or not (kind == "BOOKMARK" or isinstance(metadata.get("name"), str))
    ):
        return None
    return kind, event["object"]
