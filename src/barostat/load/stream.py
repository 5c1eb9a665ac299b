"""One request and its event stream: time of the first token, gaps between events, tokens, and how
it ended.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import orjson

from barostat.judge.load_test.figures import REFUSING, Gaps, Sent

_MOST_SAID_BYTES = 4096
_ENDS = (b"\n\n", b"\r\n\r\n")
_CLOSING = (b"[DONE]", b'"choices":[]', b'"choices": []', b'"error":')


class Stream:
    """One request in flight. Mutable. `request`: the full HTTP request; `record`: its measurements,
    with times in seconds since `zero`.
    """

    __slots__ = (
        "_closed",
        "_counted",
        "_done",
        "_gaps",
        "_partial",
        "_said",
        "_saw_done",
        "record",
        "request",
        "zero",
    )

    def __init__(
        self, request: bytes, record: Sent, gaps: Gaps, zero: float, done: Callable[[Stream], None]
    ) -> None:
        self.request = request
        self.record = record
        self.zero = zero
        self._gaps = gaps
        self._done = done
        self._partial = b""
        self._said = b""
        self._counted: int | None = None
        self._saw_done = False
        self._closed = False

    def answered(self, status: int, now: float) -> None:  # noqa: ARG002
        """Record the status of the response."""
        self.record.status = status

    def body(self, data: bytes, now: float) -> None:
        """Take in a part of the response body: count complete events and keep the incomplete rest."""
        record = self.record
        if record.status != 200:
            self._said = (self._said + data)[:_MOST_SAID_BYTES]
            return
        if self._partial:
            data, self._partial = self._partial + data, b""
        if not data.endswith(_ENDS):
            cut = max(data.rfind(b"\n\n") + 2, data.rfind(b"\r\n\r\n") + 4)
            if cut < 4 and b"\n\n" not in data:
                self._partial = data
                return
            data, self._partial = data[:cut], data[cut:]
        events = data.count(b"data:")
        if any(mark in data for mark in _CLOSING):
            events -= self._closing(data)
        if events > 0:
            self._tokens(events, now - self.zero)

    def _tokens(self, events: int, at_s: float) -> None:
        record, gaps = self.record, self._gaps
        if record.first_s is None:
            record.first_s = at_s
        else:
            gaps.add(at_s - record.last_s)
        for _ in range(events - 1):  # events of one read have no gap that a client could see
            gaps.add(0.0)
        record.last_s = at_s
        record.events += events
        record.produced += events

    def _closing(self, data: bytes) -> int:
        """Return the number of events without a token, and keep their usage and errors."""
        without = 0
        for line in data.splitlines():
            if not line.startswith(b"data:"):
                continue
            text = line[5:].strip()
            if text == b"[DONE]":
                self._saw_done = True
                without += 1
                continue
            said = _object(text)
            if isinstance(said.get("error"), dict):
                without += 1
                self.record.reason = f"error in the stream: {_words(said['error'])}"
            elif said.get("choices") == []:
                without += 1
                self._usage(said.get("usage"))
        return without

    def _usage(self, usage: Any) -> None:
        if isinstance(usage, dict):
            produced, counted = usage.get("completion_tokens"), usage.get("prompt_tokens")
            if isinstance(produced, int) and produced >= 0:
                self._counted = produced
            if isinstance(counted, int) and counted > 0:
                self.record.counted_input = counted

    def complete(self, now: float) -> None:
        """Classify the complete response as ok, refused or failed."""
        record = self.record
        record.produced = record.produced if self._counted is None else self._counted
        if record.status == 200 and not record.reason and record.first_s is not None:
            record.fate = "ok" if self._saw_done else "error"
            record.reason = "" if self._saw_done else "stream ended without [DONE]"
        elif record.status == 200:
            record.fate = "error"
            record.reason = record.reason or "response without a token"
        else:
            record.fate = "refused" if record.status in REFUSING else "error"
            record.reason = (
                f"{record.status} {_words(_object(self._said).get('error', {}))}".strip()
            )
        self._end(now)

    def failed(self, why: str, now: float) -> None:
        """Record a missing or broken-off response."""
        self.record.fate, self.record.reason = "error", why
        self._end(now)

    def _end(self, now: float) -> None:
        if not self._closed:
            self._closed = True
            self.record.ended_s = now - self.zero
            self._done(self)


def _object(text: bytes) -> dict[str, Any]:
    try:
        said = orjson.loads(text)
    except orjson.JSONDecodeError:
        return {}
    return said if isinstance(said, dict) else {}


def _words(error: Any) -> str:
    """Return the code or type of an error, never its message, which may quote the prompt."""
    if not isinstance(error, dict):
        return ""
    code = error.get("code")
    name = code if isinstance(code, str) and code else error.get("type")
    return (
        name[:60]
        if isinstance(name, str)
        and name.replace("-", "").replace("_", "").replace(" ", "").isalnum()
        else ""
    )
