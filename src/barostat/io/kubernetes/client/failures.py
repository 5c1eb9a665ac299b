"""Failed requests to an API server, as values: a sentence, and whether a retry makes sense."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import Any, Literal

import httpx

from barostat.core.errors import OutsideError
from barostat.core.redaction.credentials import clean
from barostat.io.engine_http.http import Failure, failure_of
from barostat.io.kubernetes.client.addresses import without_user
from barostat.io.kubernetes.client.kubeconfig import ClusterAccess

Kind = Literal[
    "unauthorized", "forbidden", "not-found", "conflict", "gone", "invalid", "throttled", "server",
    "no-name", "refused", "unreachable", "tls", "no-http", "reset", "time-out", "redirect", "between",
]  # fmt: skip
_BY_STATUS: dict[int, Kind] = {
    400: "invalid", 401: "unauthorized", 403: "forbidden", 404: "not-found", 405: "invalid", 409: "conflict", 410: "gone",
    415: "invalid", 422: "invalid", 429: "throttled",
}  # fmt: skip
_LONGEST = 4000
_STATUS_BYTES = 1 << 20
PASSING: frozenset[Kind] = frozenset(
    {"throttled", "server", "refused", "unreachable", "reset", "time-out"}
)
"""Kinds that may be otherwise in a moment."""


@dataclass(frozen=True, slots=True)
class RequestFailed:
    """Nothing was read or done. `why` is a whole sentence part: "cannot list pods in x: ...".

    `uncertain`: it was a write, the answer was lost, and it may have been carried out.
    `retry_after_s`: as the server asked. `reason`: the Status' own word (NotFound, AlreadyExists,
    Conflict, Expired, ...). `right`: `list events in x`, where it is missing.
    """

    kind: Kind
    why: str
    status: int = 0
    reason: str = ""
    retry_after_s: float | None = None
    uncertain: bool = False
    right: str = ""

    @property
    def may_pass(self) -> bool:
        """True if another try may go through."""
        return self.kind in PASSING

    def error(self) -> OutsideError:
        """The same, to be raised where nothing can go on without it."""
        return OutsideError(self.why, retryable=self.may_pass)


def of_answer(status: int, headers: Mapping[str, str], body: bytes, what: str) -> RequestFailed:
    """The failure that a response with this status is. `what`: what was tried, such as "list pods
    in inference".

    A body that is no Status may be a kubelet's behind the API server; where only the API server
    itself answers, ask `of_response`.
    """
    said = status_object(body)
    message = said.get("message") if said else None
    reason = str(said.get("reason") or "")[:100] if said else ""
    kind: Kind = _BY_STATUS.get(status, "server" if status >= 500 else "invalid")
    words = clean(" ".join(str(message)[:_LONGEST].split())[:300]) if message else f"HTTP {status}"
    if kind == "unauthorized":
        words = "the API server does not accept the credentials (expired, or of another cluster)"
    return RequestFailed(
        kind,
        f"cannot {what}: {words}",
        status,
        reason,
        retry_after(headers),
        uncertain=status >= 500,
        right=what if kind == "forbidden" else "",
    )


def of_response(
    status: int,
    headers: Mapping[str, str],
    body: bytes,
    what: str,
    access: ClusterAccess,
    path: str,
) -> RequestFailed:
    """The same for a request that the API server answers itself: what comes without its Status came
    from something else.

    Source: Kubernetes 1.27 to 1.34. Without a Status it sends: 401, 429, and 404 in Go's own words
    for an API group that it does not have.
    """
    if status in (401, 429) or status_object(body) is not None:
        return of_answer(status, headers, body, what)
    if status == 404 and path.startswith("/apis/") and body.strip() == b"404 page not found":
        return RequestFailed(
            "not-found", f"cannot {what}: the API server does not have this kind of object", status
        )
    told = (
        body[:2000].decode("utf-8", "replace")
        if headers.get("content-type", "").startswith("text/plain")
        else ""
    )
    return of_stranger(status, what, access, clean(" ".join(told.split()))[:120])


def of_stranger(status: int, what: str, access: ClusterAccess, told: str = "") -> RequestFailed:
    """Return the failure for a response that no API server sends. `told`: its text."""
    way = (
        f", through the proxy {without_user(access.proxy)} ({access.proxy_from})"
        if access.proxy
        else ""
    )
    why = (
        f"{without_user(access.server)}{way} answers {status}, but not as a Kubernetes API "
        f"server{f' ({told})' if told else ''}"
    )
    return RequestFailed(
        "server" if status >= 500 else "no-http",
        f"cannot {what}: {why}",
        status,
        uncertain=status >= 500,
    )


def of_error(error: httpx.HTTPError, access: ClusterAccess) -> Failure:
    """Classify a transport error of the API server or its proxy."""
    found = failure_of(error, _check("certificate-authority(-data)", access))
    if found.kind == "tls":
        return (
            failure_of(error, _check("server and tls-server-name", access))
            if "mismatch" in found.why
            else found
        )
    if not access.proxy:
        return found
    way = f"is asked through the proxy {without_user(access.proxy)} ({access.proxy_from})"
    if isinstance(error, httpx.ProxyError):
        passing = any(f"50{digit}" in str(error) for digit in "234")
        return Failure(
            "unreachable" if passing else "no-http",
            f"{way}, which answers: {clean(str(error))[:120]}",
            unsent=True,
        )
    if found.kind in ("no-name", "refused", "unreachable") or isinstance(
        error, httpx.ConnectTimeout
    ):
        return Failure(found.kind, f"{way}, which {found.why}", unsent=True)
    return found


def _check(field: str, access: ClusterAccess) -> str:
    return (
        "check "
        f"{field}{f' of cluster {access.cluster!r}' if access.cluster else ''}{f' in {access.file}' if access.file else ''}"
    )


def of_failure(failure: Failure, access: ClusterAccess, what: str, *, sent: bool) -> RequestFailed:
    """The failure that a broken connection is. `sent`: the request may have reached the server."""
    uncertain = sent and not failure.unsent and failure.kind in ("reset", "time-out", "no-http")
    return RequestFailed(
        failure.kind,
        f"cannot {what}: {without_user(access.server)} {failure.why}",
        uncertain=uncertain,
    )


def status_object(body: bytes) -> Mapping[str, Any] | None:
    """The API server's own Status object in a body, or None: then the body is somebody else's."""
    if b'"Status"' not in body[:4096] or len(body) > _STATUS_BYTES:
        return None
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        return None
    return (
        found
        if isinstance(found, dict) and found.get("kind") == "Status" and "apiVersion" in found
        else None
    )


def retry_after(headers: Mapping[str, str]) -> float | None:
    """The seconds that a Retry-After header asks for, or None. A date is taken relative to the Date
    header.
    """
    written = headers.get("retry-after", "").strip()
    if not written:
        return None
    try:
        return min(3600.0, max(0.0, float(written)))
    except ValueError:
        pass
    try:
        return max(
            0.0,
            (
                parsedate_to_datetime(written) - parsedate_to_datetime(headers.get("date", ""))
            ).total_seconds(),
        )
    except (ValueError, TypeError):
        return None
