"""From rows to requests: what the front end lets in, and what it answers 400 or 503; and 413 where
an edge before it refuses long prompts.

Source: vLLM 0.32.0, AsyncLLM.check_admission (queue limits, 0.29.0 and later), the context-length
checks of the API server.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from operator import itemgetter

from barostat.twin.block_pool.content import Contents
from barostat.twin.request import Request, Row
from barostat.twin.settings import Settings

NS = 10**9
# A client that was refused comes back no sooner than this, however short its pause.
_AFTER_REFUSAL_NS = NS
EDGE_INPUT_CAP = (413, "edge input cap")
"""Status and reason for a prompt longer than the gateway allows."""

OF_ITSELF = frozenset({400, 413})
"""Statuses of a request that is refused for what it is, however little comes."""


@dataclass(frozen=True, slots=True)
class Rejection:
    """A request that never reached the scheduler."""

    request_id: str
    at_s: float
    status: int
    reason: str


def arrival_ns(row: Row) -> int:
    """When the row arrives, in whole nanoseconds: what is written in decimals is met exactly."""
    return round(row.arrival_s * NS)


def is_refused_of_itself(settings: Settings, row: Row) -> bool:
    """True if the row is longer than the engine, or the edge before it, takes: it is refused
    however little comes.
    """
    if settings.edge_input_tokens is not None and row.input_tokens > settings.edge_input_tokens:
        return True
    room = settings.max_model_len - row.input_tokens
    return row.output_tokens > room and not (settings.behaviour.output_clamped and room > 0)


class Intake:
    """The rows still to come, in the order of arrival (rows of one instant in their given order,
    those that waited for another last).
    """

    def __init__(self, settings: Settings, rows: Iterable[Row]) -> None:
        self._settings = settings
        self._contents = Contents(settings.hash_tokens)
        timed: list[tuple[int, Row]] = []
        self._behind: dict[
            str, list[tuple[int, Row]]
        ] = {}  # request -> rows that wait for its end, with their place among all rows
        for place, row in enumerate(rows):
            if row.after_id is None:
                timed.append((round(row.arrival_s * NS), row))
            else:
                self._behind.setdefault(row.after_id, []).append((place, row))
        timed.sort(key=itemgetter(0))
        self._rows = deque(timed)
        self._due: list[tuple[int, int, Row]] = []  # a heap of those whose turn has come
        limits = (
            settings.max_queued_requests,
            settings.max_queued_tokens,
            settings.edge_input_tokens,
        )
        self._limited = any(limit is not None for limit in limits)
        self.next_ns = timed[0][0] if timed else None
        """When the next row arrives; None if none will unless another ends."""
        self.rejections: list[Rejection] = []
        self.clamped = 0
        self.unfinished = 0
        self.prefill_tokens = 0

    def _look(self) -> None:
        """What comes next is known."""
        following = self._rows[0][0] if self._rows else None
        if self._due and (following is None or self._due[0][0] < following):
            following = self._due[0][0]
        self.next_ns = following

    def until(self, now_ns: int) -> list[tuple[int, Row, int]]:
        """Return the requests that arrived by now and were admitted: (arrival, row, tokens that it
        will produce).
        """
        arrived: list[tuple[int, Row, int]] = []
        longest = self._settings.max_model_len
        while (at_ns := self.next_ns) is not None and at_ns <= now_ns:
            if self._rows and self._rows[0][0] == at_ns:
                row = self._rows.popleft()[1]
            else:
                row = heapq.heappop(self._due)[2]
            if self._due:
                self._look()
            else:
                self.next_ns = self._rows[0][0] if self._rows else None
            output = row.output_tokens
            if self._limited or row.input_tokens + output > longest:
                output = self._output_limit(row)
                refused = self._refusal(row, output)
                if refused:
                    self.rejections.append(Rejection(row.request_id, row.arrival_s, *refused))
                    self._ended(row.request_id, at_ns, _AFTER_REFUSAL_NS)
                    continue
            self.unfinished += 1
            self.prefill_tokens += row.input_tokens
            arrived.append((at_ns, row, output))
        return arrived

    def first_token(self, prompt_tokens: int) -> None:
        """A request with such a prompt is through its prefill, as the front end sees it."""
        self.prefill_tokens -= prompt_tokens

    def finished(self, request_id: str, at_ns: int) -> None:
        """One request is done: what waited for it has its time of arrival."""
        self.unfinished -= 1
        if self._behind:
            self._ended(request_id, at_ns, 0)

    def _ended(self, request_id: str, at_ns: int, least_ns: int) -> None:
        for place, row in self._behind.pop(request_id, ()):
            arrives_ns = at_ns + max(arrival_ns(row), least_ns)
            if arrives_ns <= row.latest_s * NS:
                known = row._replace(arrival_s=arrives_ns / NS, after_id=None)
                heapq.heappush(self._due, (arrives_ns, place, known))
                self._look()

    def _output_limit(self, row: Row) -> int:
        room = self._settings.max_model_len - row.input_tokens
        if self._settings.behaviour.output_clamped and 0 < room < row.output_tokens:
            self.clamped += 1
            return room
        return row.output_tokens

    def _refusal(self, row: Row, output_tokens: int) -> tuple[int, str] | None:
        settings = self._settings
        if settings.edge_input_tokens is not None and row.input_tokens > settings.edge_input_tokens:
            return EDGE_INPUT_CAP
        if row.input_tokens + output_tokens > settings.max_model_len:
            return 400, "context-length"
        if (
            settings.max_queued_requests is not None
            and self.unfinished + 1 > settings.max_queued_requests
        ):
            return 503, "max_num_queued_reqs"
        if (
            settings.max_queued_tokens is not None
            and self.prefill_tokens >= settings.max_queued_tokens
        ):
            return 503, "max_num_queued_tokens"
        return None

    def request(self, row: Row, output_tokens: int) -> Request:
        """The row as the step-by-step scheduler takes it."""
        return request_of(row, output_tokens, self._settings, self._contents)


def request_of(row: Row, output_tokens: int, settings: Settings, contents: Contents) -> Request:
    """The row as the step-by-step scheduler takes it, with the keys of the blocks of its prompt."""
    shared: Sequence[int] = ()
    drafting = settings.drafting
    if settings.prefix_caching:
        if row.prompt_token_ids is not None:
            shared = contents.of_tokens(row.prompt_token_ids, row.adapter)
        elif row.hash_ids is not None:
            shared = contents.of_hash_ids(
                row.hash_ids,
                row.id_tokens or settings.hash_tokens,
                row.input_tokens,
                row.adapter,
            )
    return Request(
        request_id=row.request_id,
        arrival_s=row.arrival_s,
        prompt_tokens=row.input_tokens,
        output_limit=output_tokens,
        priority=row.priority,
        own_key=contents.own(),
        shared_keys=tuple(shared),
        groups=len(settings.groups),
        adapter=row.adapter,
        accepted=None if drafting is None else drafting.of_request(row.request_id).at,
        remote_tokens=row.input_tokens if row.remote == "prefill" else 0,
        hands_over=row.remote == "decode",
    )
