"""Queries to Prometheus' HTTP API, bounded in time, size and number; whatever goes wrong is one
sentence.

Source: Prometheus 2.45 to 3.x, docs/querying/api.md; Thanos Query, Grafana Mimir and
VictoriaMetrics answer the same endpoints.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar
from urllib.parse import urlencode

import httpx
import orjson

from barostat.core.errors import OutsideError
from barostat.core.redaction.credentials import clean
from barostat.core.signal import Point
from barostat.io.engine_http.http import Answer, Failure, ask
from barostat.io.prometheus.access import PrometheusAccess
from barostat.judge.history.series import Series

QUERY_S = 60.0
"""Time for one query: half of what Prometheus allows itself by default, and more than a person
waits without a word.
"""
MAX_BYTES = 96 << 20
MOST_POINTS = 10_000
"""Points of one series in one range query: Prometheus refuses more than 11,000."""
AT_ONCE = 4
"""Queries at a time, so that a look at the past is no load on whoever alerts on the present."""
TRIES = 3
LONGEST_PAUSE_S = 15.0
_LESS = "; ask for less: a shorter time, or --selector for fewer replicas"
Answered = TypeVar("Answered")
_UNTRUSTED = "name its authority with --prometheus-ca FILE"


async def together(*asked: Coroutine[Any, Any, Answered]) -> list[Answered]:
    """The answers to all, in their order; where one fails, the others are given up.

    Errors: that of the one that failed first.
    """
    tasks = [asyncio.create_task(one) for one in asked]
    try:
        return await asyncio.gather(*tasks)
    except BaseException:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        raise


@dataclass(slots=True)
class Prometheus:
    """One server. `warnings`: warnings in its responses (such as an unavailable store), each once."""

    access: PrometheusAccess
    warnings: list[str] = field(default_factory=list)
    _session: httpx.AsyncClient | None = None
    _seats: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(AT_ONCE))

    async def at(self, query: str, at: float) -> list[Series]:
        """The query at one instant: a selector with a range gives the samples as they were scraped,
        anything else one point a series.

        Errors: OutsideError.
        """
        return await self._asked("query", {"query": query, "time": f"{at:.3f}"})

    async def over(self, query: str, start: float, end: float, step_s: float) -> list[Series]:
        """The query evaluated at every step from start to end, both included; what comes of another
        time is left out.

        Errors: OutsideError.
        """
        assert (end - start) / step_s <= MOST_POINTS
        found = await self._asked(
            "query_range",
            {"query": query, "start": f"{start:.3f}", "end": f"{end:.3f}", "step": f"{step_s:.3f}"},
        )
        return _within(found, start - 1, end + 1)

    async def close(self) -> None:
        """Close the connections."""
        if self._session is not None:
            await self._session.aclose()
            self._session = None

    async def _asked(self, endpoint: str, parameters: Mapping[str, str]) -> list[Series]:
        url = f"{self.access.base}/api/v1/{endpoint}?{urlencode(parameters)}"
        async with self._seats:
            if self._session is None:
                self._session = self.access.session()
            for left in reversed(range(TRIES)):
                answer = await ask(self._session, url, within_s=QUERY_S, max_bytes=MAX_BYTES)
                if (
                    left == 0
                    or not isinstance(answer, Answer)
                    or answer.status not in (429, 503)
                    or _took_too_long(answer.text)
                ):
                    break
                await asyncio.sleep(min(LONGEST_PAUSE_S, 1.0 * 2 ** (TRIES - 1 - left)))
        return self._read(answer)

    def _read(self, answer: Answer | Failure) -> list[Series]:
        where = f"Prometheus at {self.access.base}"
        if isinstance(answer, Failure):
            why = answer.why.replace(
                "give the address of the engine itself", "give the address it sends them to"
            )
            why = why if answer.kind != "tls" else f"{why.partition(';')[0]}; {_UNTRUSTED}"
            raise OutsideError(
                f"{where} {why}",
                retryable=answer.kind in ("refused", "unreachable", "time-out", "reset"),
            )
        if answer.cut:
            hint = _LESS if len(answer.body) >= MAX_BYTES else ""
            raise OutsideError(f"{where}: {answer.cut}{hint}", retryable=not hint)
        try:
            said = orjson.loads(answer.body)
        except ValueError:
            said = None
        if not isinstance(said, dict) or said.get("status") != "success":
            raise _refusal(where, answer, said)
        partial = (
            ["a part of its storage did not answer"] if said.get("isPartial") is True else []
        )  # VictoriaMetrics has no warnings
        for warning in (*_listed(said.get("warnings")), *partial):
            if (sentence := f"{where} says: {clean(str(warning)[:200])}") not in self.warnings:
                self.warnings.append(sentence)
        data = said.get("data")
        result = data.get("result") if isinstance(data, dict) else None
        if not isinstance(result, list):
            raise OutsideError(
                f"{where} answers in a form that is not understood (is a proxy in between?)",
                retryable=False,
            )
        return [found for one in result if (found := _series(one)) is not None]


def _took_too_long(told: str) -> bool:
    """True for a query that the server itself gave up after its own time limit: asked again, it
    would only cost as much again.
    """
    return "query timed out" in told or "context deadline exceeded" in told


def _refusal(where: str, answer: Answer, said: Any) -> OutsideError:
    """What the status and the body mean, and what to do."""
    error = said.get("error") if isinstance(said, dict) else None
    told = clean(" ".join(str(error or "").split())[:240])
    because = f" ({told})" if told else ""
    match answer.status:
        case 401 if "no org id" in answer.text[:200]:  # Mimir, without JSON
            return OutsideError(
                f"{where} wants to know whose series (no org id): name the tenant with "
                "--prometheus-tenant ID",
                retryable=False,
            )
        case 401 | 403:
            return OutsideError(
                f"{where} answers HTTP {answer.status}{because}: it wants credentials; "
                "give them with --prometheus-auth FILE "
                "(user:password or a token)",
                retryable=False,
            )
        case 404:
            return OutsideError(
                f"{where} has no query API there (HTTP 404): Thanos, Mimir and many "
                "proxies keep it under a prefix, as in "
                "http://host/prometheus",
                retryable=False,
            )
        case 429:
            return OutsideError(
                f"{where} answers HTTP 429{because}: it is asked too much; ask again "
                "later, or for less",
                retryable=True,
            )
        case 400 | 422:
            hint = _LESS if "many samples" in told or "limit" in told else ""
            return OutsideError(
                f"{where} refuses the query (HTTP {answer.status}){because}{hint}", retryable=False
            )
        case status if status >= 500 and _took_too_long(told):
            return OutsideError(f"{where} answers HTTP {status}{because}{_LESS}", retryable=True)
        case status if status >= 500:
            return OutsideError(f"{where} answers HTTP {status}{because}", retryable=True)
        case 200:
            what = "a web page" if answer.text.lstrip()[:1] == "<" else "something else"
            return OutsideError(
                f"{where} answers with {what} instead of JSON: a login in front of it, or "
                "another program",
                retryable=False,
            )
        case status:
            return OutsideError(f"{where} answers HTTP {status}{because}", retryable=False)


def _listed(value: Any) -> list[Any]:
    """The list that it is; none where it is something else."""
    return value if isinstance(value, list) else []


def _within(found: list[Series], start: float, end: float) -> list[Series]:
    kept = (
        Series(one.labels, tuple(point for point in one.points if start <= point.at <= end))
        for one in found
    )
    return [one for one in kept if one.points]


def _series(one: Any) -> Series | None:
    """One entry of a result; None for what is no series of numbers."""
    if not isinstance(one, dict) or not isinstance(one.get("metric"), dict):
        return None
    given = _listed(one.get("values")) or ([one["value"]] if one.get("value") else [])
    points = []
    for entry in given:
        try:
            at, value = float(entry[0]), float(entry[1])
        except (TypeError, ValueError, LookupError, OverflowError):
            continue
        if 0.0 <= at < 253_402_300_800.0:  # NaN and years beyond 9999 are no instants
            points.append(Point(at, value))
    if not points:
        return None
    labels = one["metric"]
    if not {str}.issuperset(map(type, labels.values())):
        labels = {name: str(text) for name, text in labels.items()}
    return Series(labels, tuple(points))
