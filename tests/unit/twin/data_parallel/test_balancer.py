"""The choice of a rank, by its rule: vLLM's own code is asked in tests/parity."""

from __future__ import annotations

from barostat.twin.data_parallel.balancer import Balancer, Counts


def test_equal_ranks_take_turns() -> None:
    balancer = Balancer(3)
    assert [balancer.choose() for _ in range(6)] == [0, 1, 2, 0, 1, 2]


def test_a_second_api_server_begins_elsewhere() -> None:
    assert Balancer(4, servers=2, server=1).choose() == 2


def test_a_queue_before_a_full_pool_weighs_four_times() -> None:
    balancer = Balancer(2)
    balancer.told([Counts(2, 10, 1.0), Counts(0, 17, 1.0)])  # 12 + 6 against 17
    assert balancer.choose() == 1
    balancer.told([Counts(2, 10, 0.5), Counts(0, 17, 0.5)])  # 12 against 17
    assert balancer.choose() == 0


def test_a_pinned_request_counts_where_it_goes() -> None:
    balancer = Balancer(2)
    assert [balancer.choose(pinned=0) for _ in range(3)] == [0, 0, 0]
    assert [balancer.choose() for _ in range(3)] == [1, 1, 1]
    balancer.finished(0)
    balancer.finished(0)
    balancer.finished(0)
    assert balancer.choose() == 0
