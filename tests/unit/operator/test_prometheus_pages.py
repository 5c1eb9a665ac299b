"""Pages read from a Prometheus: no more is asked for than came since the newest page, and whose
page is fresh needs no scrape.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence

from barostat.core.signal import Point
from barostat.io.prometheus.access import PrometheusAccess
from barostat.io.prometheus.client import Prometheus
from barostat.judge.history.series import Series
from barostat.operator.prometheus_pages import FRESH_S, PodName, PrometheusPages

NAMES = ("vllm:num_requests_running", "vllm:num_requests_waiting", "vllm:kv_cache_usage_perc")
NOW = 1_000_000.0
POD = ("x", "vllm-0")


class Scraped(Prometheus):
    """A Prometheus with samples of one pod. `targets`: port, and the instants of its scrapes with
    the number of series that each left.
    """

    def __init__(self, targets: dict[str, dict[float, int]]) -> None:
        super().__init__(PrometheusAccess("http://prometheus"))
        self.targets = targets
        self.asked_s: list[int] = []

    async def at(self, query: str, at: float) -> list[Series]:
        found = re.search(r"\[(\d+)s\]", query)
        assert found is not None
        self.asked_s.append(int(found[1]))
        answer = []
        for port, scrapes in self.targets.items():
            labels = {"namespace": "x", "pod": "vllm-0", "instance": f"10.0.0.1:{port}"}
            for place, name in enumerate(NAMES):
                points = tuple(
                    Point(then, 1.0)
                    for then, count in scrapes.items()
                    if at - self.asked_s[-1] < then <= at and place < count
                )
                if points:
                    answer.append(Series({"__name__": name, **labels}, points))
        return answer


def looks(
    server: Scraped, instants: Sequence[float], own: float = float("-inf")
) -> list[list[float] | None]:
    """At each instant: the new pages' instants; None where the pod is to be scraped. `own`: of a
    page that it has already.
    """

    told: list[str] = []

    async def go() -> list[list[float] | None]:
        pages = PrometheusPages(server, told.append)
        known: dict[PodName, float] = {POD: own}
        found: list[list[float] | None] = []
        for now in instants:
            came = (await pages.newest(known, now, 5.0)).get(POD)
            found.append(None if came is None else [page.at for page in came])
            if came:
                known[POD] = came[-1].at
        return found

    found = asyncio.run(go())
    assert told == []
    return found


def test_a_known_pod_is_asked_for_what_came_since_its_newest_page() -> None:
    server = Scraped({"8000": {NOW - 12: 3, NOW - 2: 3, NOW + 8: 3}})
    assert looks(server, (NOW, NOW + 10)) == [[NOW - 12, NOW - 2], [NOW + 8]]
    assert server.asked_s == [FRESH_S, 12]


def test_a_pod_without_a_new_page_is_fresh_until_its_newest_is_old() -> None:
    server = Scraped({"8000": {NOW - 2: 3}})
    assert looks(server, (NOW, NOW + 10, NOW + 30, NOW + 40)) == [[NOW - 2], [], [], None]


def test_a_page_older_than_the_pods_own_is_no_reason_to_scrape_it() -> None:
    server = Scraped({"8000": {NOW - 12: 3}})
    assert looks(server, (NOW, NOW + 10), own=NOW - 5) == [[], []]


def test_half_of_a_scrape_is_left_to_the_next_look() -> None:
    server = Scraped({"8000": {NOW - 2: 3, NOW + 8: 1}})
    first = looks(server, (NOW, NOW + 10))
    assert first == [[NOW - 2], []]
    server.targets["8000"][NOW + 8] = 3
    assert looks(server, (NOW, NOW + 10)) == [[NOW - 2], [NOW + 8]]


def test_a_pod_that_gets_a_second_target_is_scraped_itself() -> None:
    server = Scraped({"8000": {NOW - 2: 3, NOW + 8: 3, NOW + 18: 3}, "8001": {NOW + 9: 3}})
    assert looks(server, (NOW, NOW + 10, NOW + 20)) == [[NOW - 2], None, None]
    assert server.asked_s == [FRESH_S, 12, FRESH_S]
