"""The forwarded part of a response: bytes, estimated tokens, and its first and last bytes."""

from __future__ import annotations

from barostat.gateway.messages.usage import TAIL_BYTES

_SMALL_BYTES = 64  # `[DONE]` and the last chunk: reads of their own, behind the one with `usage`
_BYTES_PER_TOKEN = 5
_JOINED_BYTES = 12
_EVENT_ENDS = (b"\n\n\r\n", b"\r\n\r\n\r\n")


class AnswerSoFar:
    """Mutable. `produced`: tokens of all sequences, as a stream's events tell; `first`: the
    beginning of a stream, its head included.
    """

    __slots__ = ("_before_last", "_last", "_shortest", "first", "passed_bytes", "produced")

    def __init__(self) -> None:
        self.passed_bytes = 0
        self.produced = 0
        self.first = b""
        self._shortest = 1 << 30
        self._before_last = b""
        self._last = b""

    def note(self, data: bytes, stream: bool) -> None:
        """These bytes have passed."""
        self.passed_bytes += len(data)
        if len(self._last) < TAIL_BYTES and (len(data) <= _SMALL_BYTES or not stream):
            self._last += data
        else:
            self._before_last, self._last = self._last, data
        if stream:
            self._count(data)
            if len(self.first) < TAIL_BYTES:
                self.first += data

    def _count(self, data: bytes) -> None:
        """Estimate the tokens in these events: one each, more for events longer than the shortest
        so far (a busy engine joins tokens). The last event is excluded, as it is longer for other
        reasons.
        """
        events = data.count(b"data:")
        if events:
            size = len(data)
            if size < self._shortest * events:
                self._shortest = size // events
            self.produced += events
            longer = size - events * self._shortest
            if longer > _JOINED_BYTES and b'_reason":"' not in data and b'_reason": "' not in data:
                self.produced += longer // _BYTES_PER_TOKEN

    @property
    def recent(self) -> bytes:
        """Return the last bytes: at least one read, and the one before."""
        return self._before_last + self._last

    @property
    def tail(self) -> bytes:
        """Its last bytes, where usage stands."""
        last = self._last
        return last[-TAIL_BYTES:] if len(last) >= TAIL_BYTES else self.recent[-TAIL_BYTES:]

    @property
    def at_an_events_end(self) -> bool:
        """True if the forwarded part ends with an event, in its own chunk."""
        return self.recent.endswith(_EVENT_ENDS)
