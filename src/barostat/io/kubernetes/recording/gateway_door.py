"""The admin page of a gateway: reads its limits and sets temporary ones. Reached by URL, or through
the pods of its Deployment.

To a pod it goes through the API server's pod proxy, which keeps the header Authorization for
itself: the token goes in one of its own.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

import httpx

from barostat.core.errors import InputError
from barostat.io.engine_http.http import connect_s, failure_of
from barostat.io.kubernetes.client.cluster import Cluster, Reply
from barostat.io.kubernetes.client.failures import RequestFailed, of_answer, status_object
from barostat.io.kubernetes.client.resources import PODS
from barostat.judge.mitigation.gateways import (
    SeenGateway,
    answers_for,
    fronting,
    may_answer,
    ready,
    ref_of,
)
from barostat.platform.gateway_page import GatewayPage
from barostat.platform.objects import is_going, name_of, text
from barostat.remedy.plan import GatewayRef

ASK_S = 5.0
TOKEN_HEADER = "x-barostat-token"
_MOST_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class GatewayResponse:
    """The response of one gateway process. `status`: 0 without a response; `why` is the reason."""

    where: str
    status: int
    body: bytes = b""
    why: str = ""

    @property
    def document(self) -> Mapping[str, Any] | None:
        """The decoded body of a good answer."""
        try:
            found = json.loads(self.body) if self.status == 200 else None
        except ValueError:
            return None
        return found if isinstance(found, dict) else None

    @property
    def told(self) -> str:
        """Reason of a failure, in the gateway's words if it gave any."""
        if not self.status:
            return f"{self.where} {self.why}"
        try:
            message = json.loads(self.body)["error"]["message"]
        except (ValueError, KeyError, TypeError):
            message = f"answers {self.status}"
        return f"{self.where}: {message}"


@dataclass(slots=True)
class GatewayDoors:
    """Every gateway before one Deployment. `url`: of an admin page that was named; else the pods
    that say so count. `token`: to write.
    """

    cluster: Cluster
    namespace: str
    deployment: str
    url: str = ""
    token: str = field(default="", repr=False)
    _session: httpx.AsyncClient | None = None

    async def close(self) -> None:
        """Close the connections."""
        if self._session is not None:
            await self._session.aclose()
            self._session = None

    async def find(
        self, everywhere: Sequence[Mapping[str, Any]] | None = None
    ) -> dict[GatewayRef, list[Mapping[str, Any]]]:
        """The gateways that there are now, each with its ready pods: those that say so, else those
        whose admin page answers with limits for the workload. `everywhere`: the pods of all
        namespaces, where they are known.

        Errors: OutsideError where the pods cannot be listed.
        """
        if self.url:
            return {GatewayRef("URL", self.url): []}
        pods = everywhere if everywhere is not None else await self._pods(self.namespace)
        named = fronting(pods, self.namespace, self.deployment)
        return {ref: ready(found) for ref, found in named.items()} or await self._answering(pods)

    async def _answering(
        self, pods: Sequence[Mapping[str, Any]]
    ) -> dict[GatewayRef, list[Mapping[str, Any]]]:
        """The gateways by their answers: a command may be hidden in a script or an entry point."""
        asked = [
            pod
            for pod in ready(pods)
            if text(pod, "metadata", "namespace") == self.namespace and may_answer(pod)
        ]
        said = await asyncio.gather(
            *(self.ask(ref_of(pod), name_of(pod), "GET", "/limits") for pod in asked)
        )
        found: dict[GatewayRef, list[Mapping[str, Any]]] = {}
        for pod, one in zip(asked, said, strict=True):
            if answers_for(one.document, self.deployment):
                found.setdefault(ref_of(pod), []).append(pod)
        return found

    async def _pods(self, namespace: str) -> Sequence[Mapping[str, Any]]:
        listed = await self.cluster.list(PODS, namespace)
        if isinstance(listed, RequestFailed):
            raise listed.error()
        return listed.items

    async def places(self, refs: Sequence[GatewayRef]) -> list[tuple[GatewayRef, str]]:
        """Each process of these gateways as it is there now: the pod's name, or empty for a URL.
        Errors: OutsideError.
        """
        found: list[tuple[GatewayRef, str]] = []
        for namespace in sorted({ref.namespace for ref in refs if ref.kind == "Deployment"}):
            pods = [pod for pod in ready(await self._pods(namespace)) if not is_going(pod)]
            for ref in refs:
                found += [(ref, name_of(pod)) for pod in pods if ref_of(pod) == ref]
        return found + [(ref, "") for ref in refs if ref.kind == "URL"]

    async def look(self, everywhere: Sequence[Mapping[str, Any]] | None) -> tuple[SeenGateway, ...]:
        """Each gateway with what its processes hold, and why no limit can be set there, if so.
        Errors: OutsideError.
        """
        found = await self.find(everywhere)
        return tuple(await asyncio.gather(*(self._seen(ref, pods) for ref, pods in found.items())))

    async def _seen(self, ref: GatewayRef, pods: list[Mapping[str, Any]]) -> SeenGateway:
        names = [name_of(pod) for pod in pods] if ref.kind == "Deployment" else [""]
        if not names:
            return SeenGateway(ref, why="none of its pods is Ready")
        said = await asyncio.gather(*(self.ask(ref, name, "GET", "/limits") for name in names))
        documents = tuple(one.document for one in said if one.document is not None)
        why = next((one.told for one in said if one.document is None), "")
        if not why and not all(document.get("writable") for document in documents):
            why = "it was started without --admin-token-file, so that nobody may set a limit"
        if not why and not self.token:
            why = "takes a limit from who has its token: --gateway-token-file FILE"
        return SeenGateway(ref, documents, why)

    async def pages(self, refs: Sequence[GatewayRef], at: float) -> tuple[GatewayPage, ...]:
        """The metrics of every process that answers, as of that instant."""
        places = await self.places(refs)
        said = await asyncio.gather(
            *(self.ask(ref, name, "GET", "/metrics") for ref, name in places)
        )
        return tuple(
            GatewayPage(at, one.body.decode("utf-8", "replace"), one.where)
            for one in said
            if one.status == 200
        )

    async def ask(
        self,
        ref: GatewayRef,
        pod: str,
        method: str,
        path: str,
        body: Any = None,
        *,
        within_s: float = ASK_S,
    ) -> GatewayResponse:
        """Send one request to one process and return the result. No retries."""
        content = None if body is None else json.dumps(body).encode()
        headers = {TOKEN_HEADER: self.token} if method != "GET" and self.token else {}
        if ref.kind == "URL":
            return await self._by_url(ref.name, method, path, content, headers, within_s)
        where = f"pod {ref.namespace}/{pod}"
        target, _, query = path.partition("?")
        params = dict(part.split("=", 1) for part in query.split("&")) if query else None
        proxy = f"{PODS.path(ref.namespace, f'{pod}:{ref.port}', 'proxy')}{target}"
        found = await self.cluster.exchange(
            method,
            proxy,
            within_s=within_s,
            content=content,
            headers=headers,
            params=params,
            max_bytes=_MOST_BYTES,
        )
        if not isinstance(found, Reply):
            return GatewayResponse(where, 0, why=found.why)
        if found.status >= 400 and status_object(found.body) is not None:
            verb = {"GET": "get", "PUT": "update", "DELETE": "delete"}[method]
            failed = of_answer(
                found.status, found.headers, found.body, f"{verb} pods/proxy in {ref.namespace}"
            )
            if found.status != 403:
                return GatewayResponse(where, 0, why=failed.why)
            return GatewayResponse(
                where,
                403,
                json.dumps(
                    {"error": {"message": f"the right is missing: {failed.right or failed.why}"}}
                ).encode(),
            )
        return (
            GatewayResponse(where, found.status, found.body)
            if not found.cut
            else GatewayResponse(where, 0, why=found.cut)
        )

    async def _by_url(
        self,
        base: str,
        method: str,
        path: str,
        content: bytes | None,
        headers: Mapping[str, str],
        within_s: float,
    ) -> GatewayResponse:
        if self._session is None:
            self._session = httpx.AsyncClient(
                trust_env=False, timeout=httpx.Timeout(None, connect=connect_s(base))
            )
        try:
            async with asyncio.timeout(within_s):
                answer = await self._session.request(
                    method, base + path, content=content, headers=dict(headers)
                )
        except TimeoutError:
            return GatewayResponse(base, 0, why=f"did not answer within {within_s:g} s")
        except httpx.HTTPError as error:
            return GatewayResponse(base, 0, why=failure_of(error).why)
        return GatewayResponse(base, answer.status_code, answer.content[:_MOST_BYTES])


def admin_url(written: str) -> str:
    """Return the base URL of an admin page, given with or without its path.

    Errors: InputError for an invalid http URL.
    """
    try:
        url = httpx.URL(written if "://" in written else f"http://{written}")
    except httpx.InvalidURL:
        url = httpx.URL("")
    if (
        url.scheme not in ("http", "https")
        or not url.host
        or url.userinfo
        or url.query
        or url.fragment
    ):
        raise InputError(
            "is no URL of a gateway's admin page; write it as http://host:8081", written
        )
    path = url.path.rstrip("/")
    return str(url.copy_with(path="/")).rstrip("/") + path.removesuffix("/limits").removesuffix(
        "/metrics"
    )


def limits_path(holder: str, epoch: int) -> str:
    """The path that takes back the limits of that holder, up to that run of it."""
    return f"/limits?holder={quote(holder, safe='')}&epoch={epoch}"


async def until_answered(ask: Any, within_s: float, every_s: float = 0.25) -> GatewayResponse:
    """Return a process's response, retrying on no answer, 5xx and 429 until the time is over."""
    began = time.monotonic()
    while True:
        said: GatewayResponse = await ask()
        passes = said.status == 0 or said.status >= 500 or said.status == 429
        if not passes or time.monotonic() - began + every_s > within_s:
            return said
        await asyncio.sleep(every_s)
