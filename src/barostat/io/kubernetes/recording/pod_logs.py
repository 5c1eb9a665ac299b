"""A container's log through the API server: its beginning, with the settings, and its end, with the
latest events.
"""

from __future__ import annotations

import re
import time
from typing import Any

from barostat.io.kubernetes.client.cluster import Cluster
from barostat.io.kubernetes.client.failures import RequestFailed
from barostat.io.kubernetes.client.resources import PODS

MOST_BYTES = 4 << 20
LOG_S = 6.0
LINE_BYTES = 160
"""A line of vLLM's log, about; the API server counts the end in lines."""
_STAMP = re.compile(rb"^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z?\S*) ")


async def read_log(
    cluster: Cluster,
    namespace: str,
    pod: str,
    container: str,
    *,
    previous: bool = False,
    most_bytes: int = MOST_BYTES,
    within_s: float = LOG_S,
) -> bytes | RequestFailed | None:
    """The log, each line behind its time: whole, or where it is long its first and last parts. None
    if the container has none yet.
    """
    deadline = time.monotonic() + within_s
    head_bytes = most_bytes // 2
    path, what = PODS.path(namespace, pod, "log"), f"get pods/log in {namespace}"
    params: dict[str, Any] = (
        {"timestamps": "true"}
        | ({"container": container} if container else {})
        | ({"previous": "true"} if previous else {})
    )
    head = await cluster.request(
        "GET",
        path,
        what,
        within_s=within_s,
        params={**params, "limitBytes": head_bytes},
        max_bytes=head_bytes,
    )
    if isinstance(head, RequestFailed):
        return None if head.kind in ("invalid", "not-found") else head
    if len(head.body) < head_bytes:
        return head.body
    begun, _, _ = head.body.rpartition(b"\n")
    lines = (most_bytes - head_bytes) // LINE_BYTES
    while True:
        tail = await cluster.request(
            "GET",
            path,
            what,
            within_s=max(1.0, deadline - time.monotonic()),
            max_bytes=most_bytes,
            params={**params, "tailLines": lines},
        )
        if isinstance(tail, RequestFailed):
            return begun + b"\n"
        if len(tail.body) < most_bytes or lines == 1:
            break
        # Lines as long as these are fewer: the end of the log is what is wanted, and it was cut
        # off.
        lines = max(1, min(lines // 2, tail.body.count(b"\n") // 2))
    return begun + b"\n" + _behind(tail.body, _last_stamp(begun))


def _last_stamp(text: bytes) -> bytes:
    for line in reversed(text[-65_536:].split(b"\n")):
        if found := _STAMP.match(line):
            return found[1]
    return b""


def _behind(text: bytes, stamp: bytes) -> bytes:
    """The lines that are younger than the stamp: the two parts may overlap. Stamps of one log have
    one form and sort as text.
    """
    lines = text.split(b"\n")
    for index, line in enumerate(lines):
        found = _STAMP.match(line)
        if found and found[1] > stamp:
            return b"\n".join(lines[index:])
    return b""
