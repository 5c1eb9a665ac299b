"""Client of a Kubernetes API server: requests with deadlines, retried where a retry is harmless.

Every result is a value: the object or `RequestFailed`. Reads, dry runs and access reviews are
retried on 429, 5xx, and broken or silent connections, within the deadline and according to
Retry-After. A write is retried only if the server certainly did not carry it out (429, a connection
that was never established).
"""

from __future__ import annotations

import asyncio
import json
import random
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import httpx

from barostat.core.bounds import ANSWER_VALUES, LISTED, LISTED_BYTES
from barostat.core.structure_counts import JSON_MARKS, counted
from barostat.io.engine_http.http import Failure, connect_s
from barostat.io.kubernetes.client import login
from barostat.io.kubernetes.client.failures import (
    RequestFailed,
    of_answer,
    of_error,
    of_failure,
    of_response,
    of_stranger,
)
from barostat.io.kubernetes.client.kubeconfig import ClusterAccess
from barostat.io.kubernetes.client.lanes import Lanes
from barostat.io.kubernetes.client.resources import Resource

FIELD_MANAGER = "barostat"
READ_S = 10.0
WRITE_S = 15.0
TRY_S = 6.0
"""Time after which a repeatable request is retried over another connection, because a dropped
connection stays silent.
"""
PAGE = 500
MAX_BODY_BYTES = 64 << 20
PARALLEL = 16
"""Concurrent requests. An API server limits each caller's share; more requests would only queue
there.
"""
FIRST_WAIT_S = 0.15
LONGEST_WAIT_S = 5.0
KEPT_ADDRESSES = 4096
METADATA = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json"

Object = dict[str, Any]
PatchKind = Literal["apply", "merge", "json", "strategic"]
_LONGEST_TOKEN = 8192
_HALF = re.compile(rb"\\u[dD][89a-fA-F]")
_PATCH_TYPES = {
    "apply": "application/apply-patch+yaml",
    "merge": "application/merge-patch+json",
    "json": "application/json-patch+json",
    "strategic": "application/strategic-merge-patch+json",
}


@dataclass(frozen=True, slots=True)
class Reply:
    """A response. `cut`: why the body is not whole, empty if it is."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    cut: str = ""

    def json(self) -> Any:
        """The decoded body; None if it is not JSON."""
        try:
            found = json.loads(self.body)
            # Half of a surrogate pair cannot be encoded as UTF-8.
            return (
                json.loads(json.dumps(found, ensure_ascii=False).encode("utf-8", "replace"))
                if _HALF.search(self.body)
                else found
            )
        except (ValueError, RecursionError):
            return None

    @property
    def values(self) -> int:
        """Upper bound on the number of JSON values: commas, colons and opening brackets, counted up
        to ANSWER_VALUES.
        """
        return counted(self.body, JSON_MARKS, ANSWER_VALUES.most)


@dataclass(frozen=True, slots=True)
class Listed:
    """The objects of a list, unchanged, and the resource version from which a watch can continue."""

    items: tuple[Object, ...]
    version: str = ""


@dataclass(slots=True)
class Cluster:
    """A cluster and one user's access to it. Use within one event loop; call `close` when done."""

    access: ClusterAccess
    _session: httpx.AsyncClient | None = None
    _credential: login.Credential | None = None
    _lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    _seats: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(PARALLEL))
    _addresses: dict[tuple[str, str | None], httpx.URL] = field(default_factory=dict)

    async def close(self) -> None:
        """Close the connections."""
        if self._session is not None:
            await self._session.aclose()
            self._session = None

    async def session(self, stale: login.Credential | None = None) -> httpx.AsyncClient:
        """Return an HTTP client with a valid credential. `stale`: a credential that was rejected
        with 401 and is replaced.

        Errors: InputError, OutsideError as `login.credential`.
        """
        async with self._lock:
            known = self._credential
            if (
                self._session is not None
                and known is not None
                and known is not stale
                and known.lasts(time.time())
            ):
                return self._session
            fresh = await login.credential(self.access)
            old = self._session
            limits = httpx.Limits(max_connections=2 * PARALLEL, max_keepalive_connections=PARALLEL)
            secure = (
                login.tls(self.access, fresh) if self.access.server.startswith("https:") else False
            )
            self._session = httpx.AsyncClient(
                base_url=self.access.server, verify=secure, limits=limits, transport=Lanes(secure, limits),
                timeout=httpx.Timeout(None, connect=connect_s(self.access.server)),
                headers=login.headers(self.access, fresh), proxy=self.access.proxy, auth=self.access.basic, follow_redirects=False,
                trust_env=False,
            )  # fmt: skip
            self._credential = fresh
            if old is not None:
                asyncio.get_running_loop().call_later(
                    READ_S, lambda: asyncio.ensure_future(old.aclose())
                )
            return self._session

    async def request(
        self, method: str, path: str, what: str, *, within_s: float, params: Mapping[str, Any] | None = None,
        body: Any = None, content_type: str = "application/json", max_bytes: int = MAX_BODY_BYTES, harmless: bool = False,
        accept: str = "",
    ) -> Reply | RequestFailed:  # fmt: skip
        """Send a request and retry it until the deadline. Returns the response or the reason for
        the failure. `what`: names the request in error messages, such as "list pods in x".

        `harmless`: the request changes nothing, whatever its method. Each try of a write passes our
        deadline to the server as `timeout`, so that the server does not carry it out later. Errors:
        InputError, OutsideError if no credential can be obtained.
        """
        began = time.monotonic()
        deadline = began + within_s
        reads = method == "GET" or harmless
        content = None if body is None else json.dumps(body).encode()
        renewed = False
        tries = 0
        while True:
            used = self._credential
            left_s = max(0.05, deadline - time.monotonic())
            asked = (
                params
                if method == "GET"
                else {**(params or {}), "timeout": f"{max(1, int(left_s))}s"}
            )
            try_s = min(left_s, TRY_S) if reads else left_s
            found = await self._once(
                method, path, what, try_s, asked, content, content_type, max_bytes, began, accept
            )
            if isinstance(found, Reply):
                return found
            if (
                found.kind == "unauthorized"
                and not renewed
                and (self.access.plugin is not None or self.access.token_file is not None)
            ):
                renewed = True
                await self.session(stale=used or self._credential)
                continue
            again = (
                found.may_pass
                if reads
                else found.kind == "throttled"
                or (found.kind in ("refused", "unreachable") and not found.uncertain)
            )
            tries += 1
            wait_s = min(LONGEST_WAIT_S, FIRST_WAIT_S * 2**tries) * random.uniform(0.5, 1.0)
            if found.retry_after_s is not None:
                wait_s = max(wait_s, found.retry_after_s)
            if not again or time.monotonic() + wait_s >= deadline:
                return found
            await asyncio.sleep(wait_s)

    async def exchange(
        self, method: str, path: str, *, within_s: float, params: Mapping[str, Any] | None = None,
        content: bytes | None = None, content_type: str = "application/json", max_bytes: int = MAX_BODY_BYTES, since: float | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Reply | Failure:  # fmt: skip
        """Send one request, without retries or redirects. Returns the response whatever its status;
        `cut` says why a body is incomplete.

        `since`: time.monotonic() of the first try, for the waiting time in error messages.
        """
        sent = {
            **(headers or {}),
            **({"content-type": content_type} if content is not None else {}),
        }
        received: list[bytes] = []
        head: list[httpx.Response] = []
        size = 0
        cut = ""
        try:
            session = await self.session()
            async with asyncio.timeout(within_s), self._seats:
                request = session.stream(
                    method, self._address(session, path, params), content=content, headers=sent
                )
                async with request as response:
                    head.append(response)
                    async for part in response.aiter_bytes():
                        received.append(part[: max_bytes - size])
                        size += len(part)
                        if size >= max_bytes:
                            cut = f"the answer is larger than {max_bytes / (1 << 20):.3g} MiB"
                            break
        except TimeoutError:
            cut = f"the answer was not complete within {within_s:.3g} s"
            waited_s = within_s if since is None else max(within_s, time.monotonic() - since)
            failure = Failure("time-out", f"did not answer within {waited_s:.3g} s")
        except httpx.HTTPError as error:
            failure = of_error(error, self.access)
            cut = "the connection broke off in the middle of the answer"
        except (httpx.InvalidURL, ValueError) as error:
            return Failure("no-http", f"is no address that can be asked ({error})")
        if head and (received or not cut):
            return Reply(head[0].status_code, head[0].headers, b"".join(received), cut)
        return failure

    def _address(
        self, session: httpx.AsyncClient, path: str, params: Mapping[str, Any] | None
    ) -> httpx.URL:
        """Return the URL of path and parameters. Cached: httpx takes as long to build it as for the
        rest of a request, and the same few URLs are requested every second.
        """
        asked = path, None if params is None else str(httpx.QueryParams(params))
        if (kept := self._addresses.get(asked)) is not None:
            return kept
        if len(self._addresses) >= KEPT_ADDRESSES:
            self._addresses.clear()
        self._addresses[asked] = made = session.build_request("GET", path, params=params).url
        return made

    async def _once(
        self, method: str, path: str, what: str, within_s: float, params: Mapping[str, Any] | None,
        content: bytes | None, content_type: str, max_bytes: int, since: float, accept: str,
    ) -> Reply | RequestFailed:  # fmt: skip
        found = await self.exchange(
            method,
            path,
            within_s=within_s,
            params=params,
            content=content,
            content_type=content_type,
            max_bytes=max_bytes,
            since=since,
            headers={"accept": accept} if accept else None,
        )
        if isinstance(found, Failure):
            early = found.kind in ("refused", "unreachable", "no-name", "tls")
            return of_failure(found, self.access, what, sent=not early)
        broken_off = bool(found.cut) and len(found.body) < max_bytes
        if (
            found.status >= 400 and broken_off and method != "GET"
        ):  # the body is lost, but the status shows the result of the write
            return of_answer(found.status, found.headers, found.body, what)
        if found.status >= 400 and not broken_off:
            return of_response(found.status, found.headers, found.body, what, self.access, path)
        if 300 <= found.status < 400:
            moved = Failure(
                "redirect", "sends its callers elsewhere; give the address of the API server itself"
            )
            return of_failure(moved, self.access, what, sent=False)
        if broken_off:
            return of_failure(
                Failure("reset", f"answers in part: {found.cut}"), self.access, what, sent=True
            )
        return found

    async def get(
        self,
        resource: Resource,
        name: str,
        namespace: str | None = None,
        *,
        within_s: float = READ_S,
        metadata_only: bool = False,
    ) -> Object | RequestFailed:
        """Get an object. `metadata_only`: the server leaves out spec and status."""
        what = _what("get", resource, namespace)
        accept = METADATA if metadata_only else ""
        found = self._object(
            await self.request(
                "GET", resource.path(namespace, name), what, within_s=within_s, accept=accept
            ),
            what,
        )
        if isinstance(found, RequestFailed) or isinstance(found.get("metadata"), dict):
            return found
        return of_stranger(200, what, self.access, f"no {resource.kind}")

    async def list(
        self,
        resource: Resource,
        namespace: str | None = None,
        *,
        labels: str = "",
        fields: str = "",
        within_s: float = READ_S,
    ) -> Listed | RequestFailed:
        """List all objects that match the selectors, page by page. `namespace` None: the whole
        cluster.

        A list that expires between two pages (410) is restarted without pages. A list that does not
        end or exceeds the size limits is a failure.
        """
        what = _what("list", resource, namespace)
        deadline = time.monotonic() + within_s
        params: dict[str, Any] = (
            {"limit": PAGE}
            | ({"labelSelector": labels} if labels else {})
            | ({"fieldSelector": fields} if fields else {})
        )
        found: list[Object] = []
        pages: set[str] = set()
        size = 0
        while True:
            reply = await self.request(
                "GET",
                resource.path(namespace),
                what,
                within_s=max(0.05, deadline - time.monotonic()),
                params=params,
            )
            if isinstance(reply, RequestFailed):
                if reply.kind == "gone" and time.monotonic() + FIRST_WAIT_S < deadline:
                    await asyncio.sleep(FIRST_WAIT_S)
                    found, size, params = (
                        [],
                        0,
                        {
                            key: value
                            for key, value in params.items()
                            if key not in ("continue", "limit")
                        },
                    )
                    continue
                return reply
            page = self._object(reply, what)
            if isinstance(page, RequestFailed):
                return page
            items = page.get("items")
            if not str(page.get("kind", "")).endswith(
                "List"
            ):  # a custom resource may choose the name of its list kind
                return of_stranger(200, what, self.access, f"no list of {resource.plural}")
            for item in items if isinstance(items, list) else []:
                if isinstance(item, dict):  # items of a list lack apiVersion and kind
                    found.append(
                        {"apiVersion": resource.api_version, "kind": resource.kind, **item}
                    )
            size += len(reply.body)
            if len(found) > LISTED.most or size > LISTED_BYTES.most:
                much = (
                    f"{LISTED.most:,} objects"
                    if len(found) > LISTED.most
                    else f"{LISTED_BYTES.most >> 20} MiB"
                )
                return RequestFailed(
                    "no-http",
                    f"cannot {what}: there are more than {much}; name the namespace, or "
                    "labels (-l)",
                )
            metadata = page.get("metadata")
            metadata = metadata if isinstance(metadata, dict) else {}
            if not metadata.get("continue"):
                return Listed(tuple(found), str(metadata.get("resourceVersion", "")))
            params["continue"] = following = str(metadata["continue"])
            if following in pages or len(following) > _LONGEST_TOKEN:
                return RequestFailed(
                    "no-http", f"cannot {what}: the list does not end, its pages come again"
                )
            pages.add(following)

    async def create(
        self, resource: Resource, body: Object, namespace: str | None = None, *, name: str = "", subresource: str = "",
        dry_run: bool = False, harmless: bool = False, within_s: float = WRITE_S,
    ) -> Object | RequestFailed:  # fmt: skip
        """Create an object; returns it as created. With `name` and `subresource`: post to a
        subresource, such as an eviction. `harmless`: the request only asks something (an access
        review).
        """
        what = _what("create", resource, namespace, subresource)
        params = _dry(dry_run) | {"fieldManager": FIELD_MANAGER}
        path = resource.path(namespace, name, subresource)
        reply = await self.request(
            "POST",
            path,
            what,
            within_s=within_s,
            params=params,
            body=body,
            harmless=harmless or dry_run,
        )
        return self._object(reply, what)

    async def patch(
        self, resource: Resource, name: str, body: Any, namespace: str | None = None, *, how: PatchKind, dry_run: bool = False,
        force: bool = False, manager: str = FIELD_MANAGER, subresource: str = "", within_s: float = WRITE_S,
    ) -> Object | RequestFailed:  # fmt: skip
        """Patch an object; returns it as patched. `how="apply"`: server-side apply; a field of
        another manager is a conflict unless `force`.
        """
        what = _what("patch", resource, namespace, subresource)
        params = (
            _dry(dry_run)
            | {"fieldManager": manager}
            | ({"force": "true"} if force and how == "apply" else {})
        )
        path = resource.path(namespace, name, subresource)
        kind = _PATCH_TYPES[how]
        reply = await self.request(
            "PATCH",
            path,
            what,
            within_s=within_s,
            params=params,
            body=body,
            content_type=kind,
            harmless=dry_run,
        )
        return self._object(reply, what)

    async def replace(
        self,
        resource: Resource,
        name: str,
        body: Object,
        namespace: str | None = None,
        *,
        dry_run: bool = False,
        within_s: float = WRITE_S,
    ) -> Object | RequestFailed:
        """Replace an object; returns it as replaced. Fails with 409 if its resourceVersion is
        outdated.
        """
        what = _what("update", resource, namespace)
        params = _dry(dry_run) | {"fieldManager": FIELD_MANAGER}
        path = resource.path(namespace, name)
        return self._object(
            await self.request(
                "PUT", path, what, within_s=within_s, params=params, body=body, harmless=dry_run
            ),
            what,
        )

    async def delete(
        self,
        resource: Resource,
        name: str,
        namespace: str | None = None,
        *,
        uid: str = "",
        version: str = "",
        dry_run: bool = False,
        within_s: float = WRITE_S,
    ) -> Object | RequestFailed:
        """Delete an object; returns the object or status in the response. `uid`, `version`: delete
        it only if it is still this object in this version (else 409).

        What it owns goes with it: of a Job that is not the server's default.
        """
        what = _what("delete", resource, namespace)
        only_if = ({"uid": uid} if uid else {}) | ({"resourceVersion": version} if version else {})
        body: dict[str, Any] = {
            "apiVersion": "v1",
            "kind": "DeleteOptions",
            "propagationPolicy": "Background",
        }
        body |= {"preconditions": only_if} if only_if else {}
        path = resource.path(namespace, name)
        reply = await self.request(
            "DELETE",
            path,
            what,
            within_s=within_s,
            params=_dry(dry_run),
            body=body,
            harmless=dry_run,
        )
        return self._object(reply, what)

    def _object(self, found: Reply | RequestFailed, what: str) -> Object | RequestFailed:
        if isinstance(found, RequestFailed):
            return found
        if found.cut:
            return RequestFailed("no-http", f"cannot {what}: {found.cut}")
        if found.values > ANSWER_VALUES.most:
            return RequestFailed(
                "no-http", f"cannot {what}: the answer has more than {ANSWER_VALUES.most:,} values"
            )
        decoded = found.json()
        return (
            decoded
            if isinstance(decoded, dict)
            else of_stranger(found.status, what, self.access, "or its answer was cut off")
        )


def _dry(dry_run: bool) -> dict[str, str]:
    return {"dryRun": "All"} if dry_run else {}


def _what(verb: str, resource: Resource, namespace: str | None, subresource: str = "") -> str:
    """Name a request by its permission: `get pods/log in inference`."""
    right = f"{resource.right}/{subresource}" if subresource else resource.right
    return f"{verb} {right}" + (
        (f" in {namespace}" if namespace else " in all namespaces") if resource.namespaced else ""
    )
