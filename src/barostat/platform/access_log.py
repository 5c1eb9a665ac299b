"""Request rates, status codes and durations from a gateway's access log, without callers and
content.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from barostat.catalog.signals import signal
from barostat.core.signal import Signal
from barostat.platform.access_line import AccessEntry, access

WINDOW_S = 900.0
"""Shares and quantiles are taken over the last part of the log, as long as this."""
SLICE_S = 10.0
SLICES_KEPT = 1_080
LONG_STREAM_S = 300.0
LONGEST = 16_384
_STEPS_PER_DOUBLING = 8
_SHARE_STEPS = 50
_GAVE_UP = frozenset({408, 499, 504})


@dataclass(slots=True)
class _Slice:
    """Ten seconds of requests."""

    requests: int = 0
    failed: int = 0
    timed_out: int = 0
    long_streams: int = 0
    durations: dict[int, int] = field(default_factory=dict)
    """Requests by duration: the key is the number of the step on a logarithmic scale, eight to a
    doubling (9 % wide).
    """
    shares: dict[int, int] = field(default_factory=dict)
    """Requests by upstream share of their duration, in fiftieths."""


@dataclass(frozen=True, slots=True)
class AccessSlice:
    """Ten seconds of requests that are not probes. `durations`: step on a logarithmic scale to
    count; `shares`: fiftieth to count.
    """

    at: float | None
    requests: int
    failed: int
    timed_out: int
    long_streams: int
    durations: Mapping[int, int]
    shares: Mapping[int, int]


@dataclass(frozen=True, slots=True)
class AccessLogDigest:
    """An access log in a nutshell: its last three hours in slices of ten seconds, and the requests
    by route.

    `requests` counts what is no probe; `routes` has only vLLM's own routes and "other".
    """

    source: str
    lines: int = 0
    requests: int = 0
    probes: int = 0
    unread: int = 0
    routes: Mapping[str, int] = field(default_factory=dict)
    slices: tuple[AccessSlice, ...] = ()
    first_at: float | None = None
    last_at: float | None = None
    problems: tuple[str, ...] = ()

    def signals(self, at: float) -> dict[str, Signal]:
        """The gateway_* signals over the last fifteen minutes of the log, as seen at `at` (unix
        seconds).

        Lines without a time count as one slice at `at`. A log without a request gives nothing.
        """
        window = [
            part
            for part in self.slices
            if part.at is None or self.last_at is None or part.at > self.last_at - WINDOW_S
        ]
        requests = sum(part.requests for part in window)
        if not requests:
            return {}
        when = at if self.last_at is None else min(self.last_at, at)
        durations = _merged(part.durations for part in window)
        shares = _merged(part.shares for part in window)
        made = [
            signal(
                "gateway_5xx_ratio",
                [(when, sum(part.failed for part in window) / requests)],
                self.source,
            ),
            signal(
                "gateway_timeout_ratio",
                [(when, sum(part.timed_out for part in window) / requests)],
                self.source,
            ),
        ]
        if durations:
            p99 = _duration_of(_quantile(durations, 0.99))
            made.append(signal("gateway_duration_p99_s", [(when, p99)], self.source))
            made.append(
                signal(
                    "gateway_long_streams",
                    [(when, float(sum(part.long_streams for part in window)))],
                    self.source,
                )
            )
        if shares:
            made.append(
                signal(
                    "gateway_upstream_share_ratio",
                    [(when, (_quantile(shares, 0.5) + 0.5) / (_SHARE_STEPS + 1))],
                    self.source,
                )
            )
        rates = [
            (min(part.at + SLICE_S, at), part.requests / SLICE_S)
            for part in window
            if part.at is not None
        ]
        if len(rates) > 1:  # the last slice is not over yet, and one slice is no rate
            made.append(signal("gateway_requests_per_s", rates[:-1], self.source))
        return {found.name: found for found in made if found is not None}


def digest(lines: Iterable[str], *, source: str) -> AccessLogDigest:
    """The digest of an access log, read in one pass with a memory that does not grow. `source`
    names it for a person.

    Errors: none; lines of no known form are counted in `unread`.
    """
    count = requests = probes = unread = 0
    routes: dict[str, int] = {}
    slices: dict[float | None, _Slice] = {}
    first = last = None
    for line in lines:
        count += 1
        found = access(line[:LONGEST])
        if found is None:
            unread += 1
            continue
        if found.probe:
            probes += 1
            continue
        requests += 1
        routes[found.route] = routes.get(found.route, 0) + 1
        key = None if found.at is None else math.floor(found.at / SLICE_S) * SLICE_S
        if found.at is not None:
            first = found.at if first is None else min(first, found.at)
            last = found.at if last is None else max(last, found.at)
        if key not in slices and len(slices) >= SLICES_KEPT:
            _drop_oldest(slices)
        _count(slices.setdefault(key, _Slice()), found)
    kept = tuple(
        AccessSlice(
            key,
            part.requests,
            part.failed,
            part.timed_out,
            part.long_streams,
            dict(part.durations),
            dict(part.shares),
        )
        for key, part in sorted(
            slices.items(), key=lambda item: -math.inf if item[0] is None else item[0]
        )
    )
    problems = (
        (f"{unread} of {count} lines are of no access-log form that is known",)
        if unread > max(10, count // 10)
        else ()
    )
    return AccessLogDigest(
        source, count, requests, probes, unread, routes, kept, first, last, problems
    )


def _count(part: _Slice, found: AccessEntry) -> None:
    part.requests += 1
    part.failed += 500 <= found.status <= 599
    part.timed_out += found.status in _GAVE_UP
    if found.duration_s is None:
        return
    part.long_streams += found.duration_s > LONG_STREAM_S
    step = round(_STEPS_PER_DOUBLING * math.log2(min(max(found.duration_s, 1e-4), 1e6)))
    part.durations[step] = part.durations.get(step, 0) + 1
    if found.upstream_s is not None and found.duration_s > 0:
        fiftieth = int(min(found.upstream_s / found.duration_s, 1.0) * _SHARE_STEPS)
        part.shares[fiftieth] = part.shares.get(fiftieth, 0) + 1


def _drop_oldest(slices: dict[float | None, _Slice]) -> None:
    dated = [key for key in slices if key is not None]
    if dated:
        del slices[min(dated)]


def _merged(parts: Iterable[Mapping[int, int]]) -> dict[int, int]:
    total: dict[int, int] = {}
    for part in parts:
        for step, count in part.items():
            total[step] = total.get(step, 0) + count
    return total


def _quantile(steps: Mapping[int, int], share: float) -> int:
    left = share * sum(steps.values())
    for step in sorted(steps):
        left -= steps[step]
        if left <= 0:
            return step
    return max(steps)


def _duration_of(step: int) -> float:
    return float(2.0 ** (step / _STEPS_PER_DOUBLING))
