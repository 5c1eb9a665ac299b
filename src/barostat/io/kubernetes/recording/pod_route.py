"""The way to an engine in a pod: through the API server's pod proxy, or through a port-forward
where that way is closed.
"""

from __future__ import annotations

import asyncio
import json
import re
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from barostat.engines.vllm.metrics.exposition import names_engine
from barostat.io.engine_http.http import MAX_BODY_BYTES, Answer, Failure
from barostat.io.kubernetes.client.cluster import FIRST_WAIT_S, Cluster, Reply
from barostat.io.kubernetes.client.failures import (
    RequestFailed,
    of_answer,
    of_failure,
    status_object,
)
from barostat.io.kubernetes.client.resources import PODS
from barostat.io.kubernetes.client.sockets import through_port
from barostat.judge.evidence.endpoint import Endpoint

MOST_ENDPOINTS = 3
_UNREACHED = re.compile(
    r"error trying to reach service|error dialing|no endpoints|dial tcp|tls:|malformed HTTP"
)


@dataclass(slots=True)
class PodRoute:
    """Requests to the engine of one pod. `lacking`: rights that the API server denied."""

    cluster: Cluster
    namespace: str
    pod: str
    name: str
    candidates: Sequence[Endpoint]
    may_forward: bool = True
    lacking: list[str] = field(default_factory=list)
    _chosen: Endpoint | None = None
    _forward: bool = False
    _first: Answer | None = None
    _is_engine: bool = False
    """The place chosen has shown metrics of vLLM, or is the only one there is; else the engine may
    open its port yet (it loads).
    """
    _tried_forward: bool = False
    _settling: asyncio.Task[Failure | None] | None = None

    @property
    def base(self) -> str:
        """Name for display: `pod inference/vllm-0:8000`."""
        return f"pod {self.namespace}/{self.pod}:{(self._chosen or self.candidates[0]).port}"

    def at(self, path: str) -> str:
        """Source of a signal: `pod inference/vllm-0:8000/metrics`."""
        return f"{self.base}{path}"

    async def close(self) -> None:
        """Nothing is under way; the connections are the cluster's."""
        if self._settling is not None:
            self._settling.cancel()

    async def ask(
        self, path: str, *, within_s: float, post: Any = None, max_bytes: int = MAX_BODY_BYTES
    ) -> Answer | Failure:
        """The engine's answer. A failure of the kind `between` says nothing of the engine: the API
        server failed, or forbids it.
        """
        if self._chosen is None or (
            path == "/metrics" and not self._is_engine and self._first is None
        ):  # all who ask before it is known where wait for the same search
            if self._settling is None or self._settling.done():
                self._settling = asyncio.create_task(self._settle(within_s))
            failure = await asyncio.shield(self._settling)
            if failure is not None:
                return failure
        if path == "/metrics" and self._first is not None:
            answer, self._first = self._first, None
            return answer
        assert self._chosen is not None
        if self._forward:
            return self._told(await self._by_forward(self._chosen, path, within_s, post, max_bytes))
        return self._told(await self._by_proxy(self._chosen, path, within_s, post, max_bytes))

    async def _settle(self, within_s: float) -> Failure | None:
        """The place that answers /metrics is chosen, with its answer kept; or why none does."""
        deadline = time.monotonic() + within_s
        failures: list[Failure] = []
        answered: tuple[Endpoint, Answer] | None = None
        closed: Failure | None = None
        for endpoint in self.candidates[:MOST_ENDPOINTS]:
            found = await self._by_proxy(
                endpoint, "/metrics", _left(deadline), None, MAX_BODY_BYTES
            )
            if isinstance(found, Answer):
                if _of_engine(found):
                    self._choose(endpoint, found)
                    return None
                answered = answered or (endpoint, found)
                continue
            if isinstance(found, RequestFailed):
                closed = self._closed(found)
                if found.kind != "forbidden":
                    return closed
                break
            failures.append(found)
        if answered is not None:
            self._choose(*answered)
            return None
        if self.may_forward and (
            self.lacking or (failures and (self._forward or not self._tried_forward))
        ):
            self._tried_forward = True
            for endpoint in self.candidates[:MOST_ENDPOINTS]:
                found = await self._by_forward(
                    endpoint, "/metrics", _left(deadline), None, MAX_BODY_BYTES
                )
                if isinstance(found, Answer):
                    answered = (
                        (endpoint, found) if answered is None or _of_engine(found) else answered
                    )
                    if _of_engine(found):
                        break
                    continue
                if isinstance(found, RequestFailed):
                    if (
                        not failures
                    ):  # else the proxy has told already what is wrong, and no right is missed
                        closed = self._closed(found)
                    break
                failures.append(found)
            if answered is not None:
                self._choose(*answered, forward=True)
                return None
        return failures[0] if failures else closed or Failure("unreachable", "names no port to ask")

    def _choose(self, endpoint: Endpoint, answer: Answer, *, forward: bool = False) -> None:
        """The place is taken, its answer kept for whoever asked."""
        self._chosen, self._first, self._forward = endpoint, answer, forward
        self._is_engine = _of_engine(answer) or len(self.candidates) == 1

    async def _by_proxy(
        self, endpoint: Endpoint, path: str, within_s: float, post: Any, max_bytes: int
    ) -> Answer | Failure | RequestFailed:
        place = (
            f"{self.pod}:{endpoint.port}"
            if endpoint.scheme == "http"
            else f"{endpoint.scheme}:{self.pod}:{endpoint.port}"
        )
        url = f"{PODS.path(self.namespace, place, 'proxy')}{path}"
        what = f"{'get' if post is None else 'create'} pods/proxy in {self.namespace}"
        content = None if post is None else json.dumps(post).encode()
        deadline = time.monotonic() + within_s
        tries = 0
        while True:
            found = await self.cluster.exchange(
                "GET" if post is None else "POST",
                url,
                within_s=_left(deadline),
                content=content,
                max_bytes=max_bytes,
            )
            if isinstance(found, Reply):
                said = status_object(found.body) if found.status >= 400 else None
                if said is None:
                    return Answer(
                        found.status, found.headers.get("content-type", ""), found.body, found.cut
                    )
                if (
                    unreached := _unreached(found.status, str(said.get("message") or ""))
                ) is not None:
                    return unreached
                failed = of_answer(found.status, found.headers, found.body, what)
            elif found.kind == "time-out":
                return found
            else:
                failed = of_failure(found, self.cluster.access, what, sent=True)
            # What the API server refuses, or a connection to it that breaks, says nothing of the
            # pod: asked again while there is time.
            tries += 1
            wait_s = max(failed.retry_after_s or 0.0, FIRST_WAIT_S * 2**tries)
            if (
                post is not None
                or not failed.may_pass
                or tries > 3
                or time.monotonic() + wait_s >= deadline
            ):
                return failed
            await asyncio.sleep(wait_s)

    async def _by_forward(
        self, endpoint: Endpoint, path: str, within_s: float, post: Any, max_bytes: int
    ) -> Answer | Failure | RequestFailed:
        return await through_port(
            self.cluster,
            self.namespace,
            self.pod,
            endpoint.port,
            path,
            within_s=within_s,
            post=post,
            max_bytes=max_bytes,
        )

    def _told(self, found: Answer | Failure | RequestFailed) -> Answer | Failure:
        return self._closed(found) if isinstance(found, RequestFailed) else found

    def _closed(self, found: RequestFailed) -> Failure:
        """The same as a failure of the way; a right that is missing is noted."""
        if found.kind == "forbidden" and found.right not in self.lacking:
            self.lacking.append(found.right)
        if found.kind == "not-found":
            return Failure("unreachable", "is gone")
        return Failure("between", f"cannot be asked: {found.why}")


def _of_engine(answer: Answer) -> bool:
    return answer.status == 200 and names_engine(answer.body)


def _left(deadline: float) -> float:
    return max(0.1, deadline - time.monotonic())


def _unreached(status: int, message: str) -> Failure | None:
    """The API server's own words for a pod that it could not reach, as if we had asked it; None for
    any other trouble.
    """
    if (
        "not allowed" in message
        or "does not have a host assigned" in message
        or ("address" in message and status == 400)
    ):
        return Failure("unreachable", "has no address yet")
    if status < 500 or not _UNREACHED.search(message):
        return None
    if "connection refused" in message:
        return Failure(
            "refused",
            "refuses the connection: nothing listens on that port (still starting, ended, "
            "or another port?)",
        )
    if "i/o timeout" in message or "deadline exceeded" in message or "Client.Timeout" in message:
        return Failure("time-out", "did not answer the API server in time")
    if "EOF" in message or "reset by peer" in message or "broken pipe" in message:
        return Failure(
            "reset",
            "closed the connection without an answer (is it https, or does a mesh want "
            "mutual TLS?)",
        )
    if "malformed HTTP" in message or "tls:" in message:
        return Failure("no-http", "answers, but not in the scheme that was tried (http or https)")
    return Failure("unreachable", f"cannot be reached from the API server ({message[-120:]})")
