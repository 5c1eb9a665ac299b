"""When what the ranks tell is published to the API servers."""

from __future__ import annotations

from barostat.twin.data_parallel.balancer import Balancer, Counts
from barostat.twin.data_parallel.coordinator import Coordinator

MS = 1_000_000


class _Heard(Balancer):
    def __init__(self) -> None:
        super().__init__(2)
        self.heard: list[list[Counts]] = []

    def told(self, counts: object) -> None:
        self.heard.append(list(counts))  # type: ignore[call-overload]


def test_what_changes_soon_after_is_published_a_tenth_of_a_second_later() -> None:
    server = _Heard()
    coordinator = Coordinator(2, [server])
    coordinator.tells(0, Counts(0, 1, 0.1), 150 * MS)
    coordinator.until(150 * MS)
    assert server.heard == [[Counts(0, 1, 0.1), Counts()]]
    coordinator.tells(1, Counts(1, 0, 0.0), 180 * MS)
    coordinator.until(249 * MS)
    assert len(server.heard) == 1
    coordinator.until(250 * MS)
    assert server.heard[1] == [Counts(0, 1, 0.1), Counts(1, 0, 0.0)]


def test_a_pool_that_fills_is_told_with_the_next_change_of_the_counts() -> None:
    server = _Heard()
    coordinator = Coordinator(2, [server])
    coordinator.tells(0, Counts(0, 1, 0.1), 100 * MS)
    coordinator.tells(0, Counts(0, 1, 0.9), 300 * MS)
    coordinator.until(1000 * MS)
    assert server.heard == [[Counts(0, 1, 0.1), Counts()]]
    coordinator.tells(0, Counts(1, 1, 0.9), 1100 * MS)
    coordinator.until(1200 * MS)
    assert server.heard[-1][0] == Counts(1, 1, 0.9)


def test_without_a_change_the_same_is_published_after_five_seconds() -> None:
    server = _Heard()
    coordinator = Coordinator(2, [server])
    coordinator.until(4999 * MS)
    assert not server.heard
    coordinator.until(5000 * MS)
    assert server.heard == [[Counts(), Counts()]]


def test_ranks_may_tell_in_any_order() -> None:
    server = _Heard()
    coordinator = Coordinator(2, [server])
    coordinator.tells(0, Counts(0, 5, 0.1), 400 * MS)
    coordinator.tells(1, Counts(0, 2, 0.1), 120 * MS)
    coordinator.until(200 * MS)
    assert server.heard == [[Counts(), Counts(0, 2, 0.1)]]
    coordinator.until(400 * MS)
    assert server.heard[-1] == [Counts(0, 5, 0.1), Counts(0, 2, 0.1)]
