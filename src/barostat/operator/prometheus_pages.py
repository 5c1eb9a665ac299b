"""Engines read from Prometheus: one query for a hundred pods instead of a scrape of each.

A pod that Prometheus does not scrape, or has not scraped lately, is left out: the operator asks it
itself.
"""

from __future__ import annotations

import asyncio
import math
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

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
FRESH_S = 35.0
"""Prometheus scrapes every 30 s by habit. A pod whose newest page is older is asked itself."""
PODS_PER_QUERY = 100
"""A page has some 400 series of 250 bytes: 10 MB an answer."""


class _Known(NamedTuple):
    """The newest page of a pod. `at`: its instant. `target`: the labels of its target.
    `samples`: how many it has.
    """

    at: float
    target: Mapping[str, str]
    samples: int


@dataclass(slots=True)
class PrometheusPages:
    """`tell`: receives a sentence when the server fails, and when it answers again. `trouble`: that
    sentence; empty while it answers.
    """

    server: Prometheus
    tell: Callable[[str], None]
    trouble: str = ""
    _known: dict[PodName, _Known] = field(default_factory=dict)

    async def newest(
        self, pods: Mapping[PodName, float], now: float, within_s: float
    ) -> dict[PodName, list[Scrape]]:
        """Return the new pages, ascending in time and perhaps none, of each pod whose newest page is
        fresh; nothing if the server does not answer in time. `pods`: with the instant of the newest
        page that is known. `now`: unix seconds.
        """
        since = now - FRESH_S
        self._known = {
            pod: known for pod, known in self._known.items() if pod in pods and known.at >= since
        }
        # Pods with pages of one age are asked together: for no more than came since then.
        ordered = sorted(pods, key=lambda pod: (self._begin(pod, since), pod))
        parts = [
            ordered[first : first + PODS_PER_QUERY]
            for first in range(0, len(ordered), PODS_PER_QUERY)
        ]
        try:
            async with asyncio.timeout(within_s) as limit:
                found = await together(*(self._part(part, pods, now, limit) for part in parts))
        except (InputError, OutsideError) as error:
            return self._failed(str(error))
        except TimeoutError:
            return self._failed(
                f"Prometheus at {self.server.access.base} did not answer within {within_s:.0f} s"
            )
        if self.trouble:
            self.tell(f"Prometheus at {self.server.access.base} answers again")
        self.trouble = ""
        came = {pod: scrapes for part in found for pod, scrapes in part.items()}
        return {pod: came.get(pod, []) for pod in self._known}

    def _begin(self, pod: PodName, since: float) -> float:
        known = self._known.get(pod)
        return since if known is None else known.at

    async def _part(
        self,
        asked: Sequence[PodName],
        pods: Mapping[PodName, float],
        now: float,
        limit: asyncio.Timeout,
    ) -> dict[PodName, list[Scrape]]:
        """The new pages of some of the pods; `_known` is then that of now. `limit`: of the server's
        time; that of writing pages is added to it.
        """
        since = now - FRESH_S
        begin = min(self._begin(pod, since) for pod in asked)
        series = await self.server.at(_query(asked, math.ceil(now - begin)), now)
        clock = asyncio.get_running_loop().time
        answered = clock()
        found: dict[PodName, list[Scrape]] = {}
        for pod, (replica, own) in _of_pods(series, pods).items():
            known = self._known.get(pod)
            if replica is None or (known is not None and known.target != replica.labels):
                # Several targets, or another than before: asked for all of FRESH_S next time.
                self._known.pop(pod, None)
            elif replica.at[-1] >= since:
                scrapes, _ = pages(
                    own,
                    set(replica.labels) - OWN_LABELS,
                    f"{self.server.access.base} {pod[0]}/{pod[1]}",
                    pods[pod],
                    known.samples if known is not None else 0,
                )
                found[pod] = scrapes
                if scrapes:
                    samples = scrapes[-1].text.count("\n")
                    self._known[pod] = _Known(scrapes[-1].at, replica.labels, samples)
                elif known is None:
                    at = min(replica.at[-1], pods[pod])
                    self._known[pod] = _Known(at, replica.labels, 0)
        if (end := limit.when()) is not None and not limit.expired():
            limit.reschedule(end + clock() - answered)
        return found

    def _failed(self, why: str) -> dict[PodName, list[Scrape]]:
        if why != self.trouble:
            self.trouble = why
            self.tell(f"{why}; every engine is asked itself")
        return {}

    async def close(self) -> None:
        """The connections are closed."""
        await self.server.close()


def _of_pods(
    series: Sequence[Series], pods: Collection[PodName]
) -> dict[PodName, tuple[RememberedReplica | None, list[Series]]]:
    """The target and the series of each of the pods; no target where a pod has several."""
    replicas, _ = remembered_replicas([one for one in series if one.name in RUNNING])
    of_pod: dict[PodName, list[RememberedReplica]] = {}
    for replica in replicas:
        of_pod.setdefault((replica.namespace, replica.pod), []).append(replica)
    found: dict[PodName, tuple[RememberedReplica | None, list[Series]]] = {
        pod: (several[0] if len(several) == 1 else None, [])
        for pod, several in of_pod.items()
        if pod in pods
    }
    for one in series:
        pod = first_of(one.labels, NAMESPACE_LABELS), first_of(one.labels, POD_LABELS)
        if pod in found and (target := found[pod][0]) is not None and target.owns(one):
            found[pod][1].append(one)
    return found


def _query(pods: Sequence[PodName], for_s: int) -> str:
    names = "|".join(sorted({re.escape(name).replace(r"\-", "-") for _, name in pods}))
    inner = ",".join((
        f'__name__=~"{READ_NAMES}"',
        pairs({"pod": names}).replace("=", "=~", 1),
    ))  # fmt: skip
    return f"{{{inner}}}[{max(1, for_s)}s]"
