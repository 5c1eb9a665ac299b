"""Engines read from Prometheus: one query for a hundred pods instead of a scrape of each.

A pod that Prometheus does not scrape, or has not scraped lately, is left out: the operator asks it
itself.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from barostat.catalog.metric_names import RUNNING
from barostat.core.errors import InputError, OutsideError
from barostat.io.prometheus.client import Prometheus, together
from barostat.judge.evidence.recording import Scrape
from barostat.judge.history.pages import pages, pairs
from barostat.judge.history.replicas import (
    NAMESPACE_LABELS,
    OWN_LABELS,
    POD_LABELS,
    RememberedReplica,
    first_of,
    remembered_replicas,
)
from barostat.judge.history.series import Series
from barostat.operator.pages import READ_NAMES

PodName = tuple[str, str]
"""Namespace and name."""
FIRST_S = 60.0
OVERLAP_S = 10.0
"""Samples are stored some time after they were scraped: each query begins so much before the end
of the one before.
"""
FRESH_S = 35.0
"""Prometheus scrapes every 30 s by habit. A pod whose newest page is older is asked itself."""
PODS_PER_QUERY = 100
"""A page has some 400 series of 250 bytes: 10 MB an answer."""


@dataclass(slots=True)
class PrometheusPages:
    """`tell`: receives a sentence when the server fails, and when it answers again. `trouble`: that
    sentence; empty while it answers.
    """

    server: Prometheus
    tell: Callable[[str], None]
    trouble: str = ""
    _until: float | None = field(default=None)

    async def newest(
        self, pods: Mapping[PodName, float], now: float, within_s: float
    ) -> dict[PodName, list[Scrape]]:
        """Return the new pages, ascending in time and perhaps none, of each pod whose newest page is
        fresh; nothing if the server does not answer in time. `pods`: with the instant of the newest
        page that is known. `now`: unix seconds.
        """
        if not pods:
            return {}
        for_s = FIRST_S if self._until is None else min(FIRST_S, now - self._until + OVERLAP_S)
        # A pod that is new to the list has a page within the last FRESH_S, or is asked itself.
        for_s = max(for_s, FRESH_S)
        ordered = sorted(pods)
        try:
            async with asyncio.timeout(within_s):
                answers = await together(
                    *(
                        self.server.at(_query(ordered[first : first + PODS_PER_QUERY], for_s), now)
                        for first in range(0, len(ordered), PODS_PER_QUERY)
                    )
                )
        except (InputError, OutsideError) as error:
            return self._failed(str(error))
        except TimeoutError:
            return self._failed(
                f"Prometheus at {self.server.access.base} did not answer within {within_s:.0f} s"
            )
        if self.trouble:
            self.tell(f"Prometheus at {self.server.access.base} answers again")
        self.trouble, self._until = "", now
        source = self.server.access.base
        return {
            pod: scrapes
            for series in answers
            for pod, scrapes in new_pages(series, pods, now - FRESH_S, source).items()
        }

    def _failed(self, why: str) -> dict[PodName, list[Scrape]]:
        if why != self.trouble:
            self.trouble = why
            self.tell(f"{why}; every engine is asked itself")
        return {}

    async def close(self) -> None:
        """The connections are closed."""
        await self.server.close()


def new_pages(
    series: Sequence[Series], known: Mapping[PodName, float], fresh_since: float, source: str
) -> dict[PodName, list[Scrape]]:
    """Return the pages later than what is known, ascending in time, of each known pod that has one
    engine's target, scraped since then; a pod with several is left out.
    """
    running = [one for one in series if one.name in RUNNING]
    replicas, _ = remembered_replicas(running)
    of_pod: dict[PodName, list[RememberedReplica]] = {}
    for replica in replicas:
        of_pod.setdefault((replica.namespace, replica.pod), []).append(replica)
    own: dict[PodName, list[Series]] = {
        pod: []
        for pod, found in of_pod.items()
        if pod in known and len(found) == 1 and found[0].at[-1] >= fresh_since
    }
    for one in series:
        pod = first_of(one.labels, NAMESPACE_LABELS), first_of(one.labels, POD_LABELS)
        if pod in own and of_pod[pod][0].owns(one):
            own[pod].append(one)
    return {
        pod: pages(
            kept,
            set(of_pod[pod][0].labels) - OWN_LABELS,
            f"{source} {pod[0]}/{pod[1]}",
            known[pod],
        )[0]
        for pod, kept in own.items()
    }


def _query(pods: Sequence[PodName], for_s: float) -> str:
    names = "|".join(sorted({re.escape(name).replace(r"\-", "-") for _, name in pods}))
    inner = ",".join((
        f'__name__=~"{READ_NAMES}"',
        pairs({"pod": names}).replace("=", "=~", 1),
    ))  # fmt: skip
    return f"{{{inner}}}[{round(for_s)}s]"
