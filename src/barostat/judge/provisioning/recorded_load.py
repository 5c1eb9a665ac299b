"""A recorded load for `plan --for`: the requests of a trace, given to the replicas in turn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import accumulate

from barostat.core.errors import InputError
from barostat.twin.intake import is_refused_of_itself
from barostat.twin.request import Row
from barostat.twin.settings import Settings

MOST_REQUESTS = 20_000
"""Requests that are simulated at most: of a longer trace, its busiest stretch of as many."""
_APART_S, _ALONE = 120.0, 40


@dataclass(frozen=True, slots=True)
class RecordedLoad:
    """Requests in order of arrival, the first one at 0 s. `source`: the file's name. `of_requests`:
    requests in the whole file; `from_s`: where the stretch begins in it, seconds. `times`: how much faster
    than recorded.
    """

    source: str
    requests: tuple[Row, ...]
    of_requests: int
    from_s: float = 0.0
    times: float = 1.0

    @property
    def lasts_s(self) -> float:
        """Seconds from the first arrival to the last."""
        return self.requests[-1].arrival_s

    @property
    def rate_per_s(self) -> float:
        """Requests per second on average."""
        return (len(self.requests) - 1) / self.lasts_s

    @property
    def input_tokens(self) -> float:
        """Mean length of the prompts, in tokens."""
        return sum(row.input_tokens for row in self.requests) / len(self.requests)

    @property
    def output_tokens(self) -> float:
        """Mean length of the answers, in tokens."""
        return sum(row.output_tokens for row in self.requests) / len(self.requests)

    @property
    def longest_tokens(self) -> int:
        """Prompt and answer of the longest request, in tokens."""
        return max(row.input_tokens + row.output_tokens for row in self.requests)

    @property
    def told(self) -> str:
        """The file, and how much of it this is."""
        part = f"busiest {len(self.requests):,} of {self.of_requests:,} requests of "
        return f"{part if len(self.requests) < self.of_requests else ''}{self.source}"

    @property
    def shares_prefixes(self) -> bool:
        """True if the trace says which prompts begin alike."""
        return any(
            row.hash_ids is not None or row.prompt_token_ids is not None for row in self.requests
        )

    def faster(self, times: float) -> RecordedLoad:
        """Return the same requests at a multiple of their rate."""
        rows = tuple(row._replace(arrival_s=row.arrival_s / times) for row in self.requests)
        return replace(self, requests=rows, times=self.times * times)

    def taken_by(self, settings: Settings) -> RecordedLoad:
        """Return the load without the requests that such an engine refuses for their length."""
        rows = tuple(row for row in self.requests if not is_refused_of_itself(settings, row))
        return replace(self, requests=rows)

    def rows(self, replicas: int, seed: int) -> list[Row]:
        """Return every `replicas`-th request. `seed`: which of the replicas is meant."""
        return list(self.requests[seed % replicas :: replicas])

    def alone(self) -> list[Row]:
        """Return requests from all parts of the load, so far apart that they never meet."""
        every = max(1, len(self.requests) // _ALONE)
        return [
            row._replace(arrival_s=place * _APART_S)
            for place, row in enumerate(self.requests[::every][:_ALONE])
        ]


def recorded_load(rows: Sequence[Row], source: str) -> RecordedLoad:
    """Return the load of these rows, or of their busiest stretch if there are many.

    Errors: InputError for rows that have no rate.
    """
    ordered = sorted(rows, key=lambda row: row.arrival_s)
    kept = _busiest(ordered)
    if len(kept) < 2 or kept[-1].arrival_s <= kept[0].arrival_s:
        raise InputError("has no rate: its requests all arrive at one instant", f"--trace {source}")
    start_s = kept[0].arrival_s
    return RecordedLoad(
        source,
        tuple(row._replace(arrival_s=row.arrival_s - start_s, rank=None) for row in kept),
        len(ordered),
        start_s - ordered[0].arrival_s,
    )


def _busiest(rows: list[Row]) -> list[Row]:
    """The stretch of `MOST_REQUESTS` requests with the most tokens per second."""
    if len(rows) <= MOST_REQUESTS:
        return rows
    total = [0, *accumulate(row.input_tokens + row.output_tokens for row in rows)]

    def tokens_per_s(first: int) -> float:
        span_s = rows[first + MOST_REQUESTS - 1].arrival_s - rows[first].arrival_s
        return (total[first + MOST_REQUESTS] - total[first]) / max(span_s, 1e-9)

    first = max(range(len(rows) - MOST_REQUESTS + 1), key=tokens_per_s)
    return rows[first : first + MOST_REQUESTS]
