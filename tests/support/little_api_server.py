"""The API server of the little Kubernetes, as a transport of httpx: what is sent is answered within
the test's own event loop.

Real in it: resourceVersions and their conflicts, merge patches, preconditions of a deletion, dry
runs, label selectors, the pod proxy. What befalls requests on the way is said in the words of
dev/cluster/chaos.py, which does the same between a client and a real API server.
"""

from __future__ import annotations

import asyncio
import copy
import json
import re
from collections.abc import AsyncIterator
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

import httpx
from dev.cluster.chaos import STALL_S, Choose, Kind
from tests.support.little_kubernetes import LittleKubernetes, Object

HALF_WAY_S = 0.002
_PATH = re.compile(
    r"^/(?:api|apis/[^/]+)/v\w+(?:/namespaces/[^/]+)?/(?P<plural>[a-z]+)(?:/(?P<name>[^/]+))?(?:/(?P<sub>.+))?$"
)
Answered = tuple[int, Any]


class Broken(httpx.AsyncByteStream):
    """Half of a body, and then no connection any more."""

    def __init__(self, body: bytes) -> None:
        self._body = body

    async def __aiter__(self) -> AsyncIterator[bytes]:
        yield self._body[: len(self._body) // 2]
        raise httpx.ReadError("reset")


class LittleApiServer(httpx.AsyncBaseTransport):
    """Answers for one little Kubernetes. `writes`: what was written, in order, as `PATCH
    pods/vllm-0`; `befell`: what went wrong.

    `asked`: method and target of everything.
    """

    def __init__(self, kube: LittleKubernetes) -> None:
        self.kube = kube
        self.choose: Choose = lambda _, __: None
        self.writes: list[str] = []
        self.befell: list[Kind] = []
        self.asked: list[tuple[str, str]] = []

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """The answer, or what a connection does instead."""
        target = request.url.raw_path.decode()
        self.asked.append((request.method, target))
        kind = self.choose(request.method, target)
        self.befell += [kind] if kind else []
        await asyncio.sleep(STALL_S if kind == "stall-before" else HALF_WAY_S)
        if kind == "reset-before":
            raise httpx.ReadError("reset")
        before: dict[Kind | None, tuple[int, str]] = {
            "conflict": (409, "Conflict"),
            "gone": (410, "Expired"),
            "error": (500, "InternalError"),
        }
        if kind in before:
            return _response(*failure(before[kind][0], "trouble", before[kind][1]))
        if kind == "busy":
            return httpx.Response(429, headers={"retry-after": "1"}, json=failure(429, "busy")[1])
        found = _response(
            *self.answer(
                request.method, target, json.loads(request.content) if request.content else None
            )
        )
        await asyncio.sleep(STALL_S if kind == "stall-after" else HALF_WAY_S)
        if kind == "reset-after":
            raise httpx.RemoteProtocolError("Server disconnected without sending a response.")
        if kind == "error-after":
            return _response(*failure(500, "trouble", "InternalError"))
        return (
            httpx.Response(found.status_code, stream=Broken(found.content))
            if kind == "cut"
            else found
        )

    def answer(self, method: str, target: str, body: Any) -> Answered:
        """Status and body."""
        parts = urlsplit(target)
        query = {key: values[0] for key, values in parse_qs(parts.query).items()}
        found = _PATH.match(unquote(parts.path))
        if found is None:
            return failure(404, "no such path")
        plural, name, sub = found["plural"], found["name"] or "", found["sub"] or ""
        if plural == "selfsubjectaccessreviews":
            return 201, {**body, "status": {"allowed": True}}
        if sub == "status" and method == "PATCH":
            self.writes.append(f"PATCH {plural}/{name}/status")
            return self._change(method, plural, self.kube.objects[plural, name], body, dry=False)
        if sub:
            return self._pod(name.partition(":")[0], sub)
        if method == "GET":
            return (
                self._get(plural, name)
                if name
                else self._list(plural, query.get("labelSelector", ""))
            )
        dry = query.get("dryRun") == "All"
        if not dry:
            self.writes.append(f"{method} {plural}/{name or body['metadata']['name']}")
        if method == "POST":
            return self._create(plural, body, dry)
        item = self.kube.objects.get((plural, name))
        if item is None:
            return failure(404, f"{plural} {name} not found")
        return (
            self._delete(plural, item, body, dry)
            if method == "DELETE"
            else self._change(method, plural, item, body, dry)
        )

    def _pod(self, name: str, sub: str) -> Answered:
        pod = self.kube.objects.get(("pods", name))
        if pod is None:
            return failure(404, f"pods {name} not found")
        if sub == "log":
            return 200, ""
        if "podIP" not in pod["status"]:
            return failure(
                503, "error trying to reach service: dial tcp: connect: connection refused"
            )
        pages = {
            "proxy/metrics": self.kube.metrics(pod),
            "proxy/health": "",
            "proxy/version": '{"version": "0.32.0"}',
        }
        return (200, pages[sub]) if sub in pages else (404, "no")

    def _get(self, plural: str, name: str) -> Answered:
        found = self.kube.objects.get((plural, name))
        if found is None:
            return failure(404, f"{plural} {name} not found")
        kind = {"kind": self.kube.kind} if plural == self.kube.plural else {}  # lists have none
        return 200, {**found, **kind}

    def _list(self, plural: str, selector: str) -> Answered:
        parts = [part for part in selector.split(",") if part]
        wanted = dict(part.split("=", 1) for part in parts if "=" in part).items()
        there = {part for part in parts if "=" not in part}
        items = [
            item
            for item in self.kube.all(plural)
            if wanted <= (labels := item["metadata"].get("labels", {})).items()
            and there <= labels.keys()
        ]
        return 200, {"kind": "List", "metadata": {"resourceVersion": "1"}, "items": items}

    def _create(self, plural: str, body: Object, dry: bool) -> Answered:
        if (plural, body["metadata"]["name"]) in self.kube.objects:
            return failure(409, "already exists", "AlreadyExists")
        return 201, body if dry else self.kube.add(plural, body)

    def _change(self, method: str, plural: str, item: Object, body: Object, dry: bool) -> Answered:
        version = body.get("metadata", {}).get("resourceVersion")
        if version is not None and version != item["metadata"]["resourceVersion"]:
            return failure(409, "the object has been modified", "Conflict")
        after = merged(item, body) if method == "PATCH" else copy.deepcopy(body)
        if method == "PUT":
            after["metadata"] = {**item["metadata"], "annotations": {}, **after["metadata"]}
            after |= {key: item[key] for key in ("status",) if key in item}
        if dry:
            return 200, after
        if plural == self.kube.plural:
            self.kube.look_at(item, after)
        item.clear()
        item |= after
        return 200, self.kube.touch(item)

    def _delete(self, plural: str, item: Object, body: Any, dry: bool) -> Answered:
        for key, wanted in ((body or {}).get("preconditions") or {}).items():
            if item["metadata"][key] != wanted:
                return failure(409, f"the precondition {key} does not hold", "Conflict")
        if not dry:
            self.kube.remove(plural, item)
        return 200, item


def _response(status: int, answer: Any) -> httpx.Response:
    if isinstance(answer, str):
        return httpx.Response(status, text=answer)
    return httpx.Response(status, json=answer)


def failure(code: int, message: str, reason: str = "") -> Answered:
    """An API server's own Status."""
    return code, {
        "kind": "Status",
        "apiVersion": "v1",
        "status": "Failure",
        "message": message,
        "reason": reason,
        "code": code,
    }


def merged(item: Any, patch: Any) -> Any:
    """A JSON merge patch (RFC 7396), applied to a copy."""
    if not isinstance(patch, dict):
        return copy.deepcopy(patch)
    made = copy.deepcopy(item) if isinstance(item, dict) else {}
    for key, value in patch.items():
        if value is None:
            made.pop(key, None)
        else:
            made[key] = merged(made.get(key), value)
    return made
