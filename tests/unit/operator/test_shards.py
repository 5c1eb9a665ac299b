"""Several operators share the workloads by leases, in virtual time: never two act on one shard; also
with a dead holder, a stolen lease, an API server that is away, and another number of shards.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any

import httpx
import pytest
from tests.support.remedy_runs import ACCESS, by
from tests.support.watched_cluster import WatchedCluster, kill, live, operator_on
from tests.unit.operator.test_loop import Pressed, incidents, on_a_cluster

from barostat.io.kubernetes.client.cluster import Cluster
from barostat.operator.lease import Lease
from barostat.operator.shards import balance, lease_name, shard_of, unfair
from barostat.operator.step import Key

SHARDS = 4


@dataclass
class Process:
    """A process that holds leases of shards and does nothing else."""

    api: WatchedCluster
    name: str
    shards: int = SHARDS
    leases: list[Lease] = field(default_factory=list)
    tasks: list[asyncio.Task[None]] = field(default_factory=list)

    def start(self) -> Process:
        for shard in range(self.shards):
            first = self.leases[0] if self.leases else None
            lease = Lease(
                Cluster(ACCESS), "x", lease_name("barostat-operator", shard), self.name,
                lambda _: None, self.shards, first,
            )  # fmt: skip
            by(lease.cluster, self.api)
            self.leases.append(lease)
        for own in self.leases:
            others = [one for one in self.leases if one is not own]
            own.held_beside = lambda others=others: sum(one.leads for one in others)  # type: ignore[misc]
        works = [*(lease.keep() for lease in self.leases), balance(self.leases)]
        self.tasks = [asyncio.create_task(work) for work in works]
        return self

    async def dies(self) -> None:
        for task in self.tasks:
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)

    @property
    def held(self) -> set[int]:
        """The shards that it would act on now."""
        return {shard for shard, lease in enumerate(self.leases) if lease.leads}


async def watched(processes: list[Process], for_s: float) -> None:
    """Nobody acts on what another one acts on, at any time. Processes of different numbers of shards
    act on nothing together.
    """
    until = asyncio.get_running_loop().time() + for_s
    while asyncio.get_running_loop().time() < until:
        acting = [one for one in processes if one.held]
        assert len({one.shards for one in acting}) <= 1, {one.name: one.held for one in acting}
        held = Counter(shard for one in acting for shard in one.held)
        assert all(n == 1 for n in held.values()), {one.name: one.held for one in acting}
        await asyncio.sleep(0.25)


def sharded(what: Callable[[Pressed, WatchedCluster], Coroutine[Any, Any, None]]) -> None:
    on_a_cluster(what)


def test_operators_that_start_together_share_the_shards() -> None:
    async def go(_: Pressed, api: WatchedCluster) -> None:
        both = [Process(api, name).start() for name in "ab"]
        await watched(both, 60.0)
        assert both[0].held | both[1].held == set(range(SHARDS))
        assert min(len(one.held) for one in both) >= 1
        for one in both:
            await one.dies()

    sharded(go)


def test_one_that_comes_later_gets_its_share() -> None:
    async def go(_: Pressed, api: WatchedCluster) -> None:
        first = Process(api, "a").start()
        await watched([first], 90.0)
        assert first.held == set(range(SHARDS))
        second = Process(api, "b").start()
        await watched([first, second], 120.0)
        assert sorted([len(first.held), len(second.held)]) == [2, 2]
        await first.dies()
        await second.dies()

    sharded(go)


def test_what_a_dead_holder_held_is_taken_over() -> None:
    async def go(_: Pressed, api: WatchedCluster) -> None:
        both = [Process(api, name).start() for name in "ab"]
        await watched(both, 60.0)
        await both[0].dies()
        await watched(both, 60.0)
        assert both[1].held == set(range(SHARDS))
        assert both[0].held == set()
        await both[1].dies()

    sharded(go)


def test_a_stolen_lease_costs_one_shard_and_not_the_others() -> None:
    async def go(kube: Pressed, api: WatchedCluster) -> None:
        one = Process(api, "a").start()
        await watched([one], 60.0)
        lease = kube.objects["leases", "barostat-operator-2"]
        lease["spec"]["holderIdentity"] = "thief"
        kube.touch(lease)
        await asyncio.sleep(2.5)
        assert one.held == {0, 1, 3}
        await watched([one], 40.0)  # the thief never renews it
        assert one.held == set(range(SHARDS))
        await one.dies()

    sharded(go)


def test_while_the_api_server_is_away_nobody_acts() -> None:
    async def go(_: Pressed, api: WatchedCluster) -> None:
        both = [Process(api, name).start() for name in "ab"]
        await watched(both, 60.0)
        api.away = True
        await watched(both, 11.0)
        assert not both[0].held
        assert not both[1].held
        api.away = False
        await watched(both, 60.0)
        assert both[0].held | both[1].held == set(range(SHARDS))
        for one in both:
            await one.dies()

    sharded(go)


@pytest.mark.parametrize(("before", "after"), [(1, 3), (3, 1), (2, 4)])
def test_another_number_of_shards_waits_until_nobody_acts_by_the_old_one(
    before: int, after: int
) -> None:
    async def go(_: Pressed, api: WatchedCluster) -> None:
        old = Process(api, "old", before).start()
        await watched([old], 60.0)
        assert old.held == set(range(before))
        new = Process(api, "new", after).start()
        await watched([old, new], 60.0)
        assert new.held == set()
        await old.dies()
        await watched([old, new], 90.0)
        assert new.held == set(range(after))
        await new.dies()

    sharded(go)


class CutOff:
    """The API server for one process, which loses its way to it while the others do not."""

    def __init__(self, api: WatchedCluster) -> None:
        self.api, self.away = api, False

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        if self.away:
            raise httpx.ConnectError("refused")
        return await self.api.handle_async_request(request)

    async def aclose(self) -> None:
        """Nothing is open."""


def test_one_that_is_cut_off_never_acts_beside_another_number_of_shards() -> None:
    """It cannot see that the number changed, and acts until its last look is too old."""

    async def go(_: Pressed, api: WatchedCluster) -> None:
        ways = [CutOff(api), CutOff(api)]
        both = [Process(way, name, 2).start() for way, name in zip(ways, "ab", strict=True)]  # type: ignore[arg-type]
        await watched(both, 60.0)
        (of_first,) = [place for place, one in enumerate(both) if one.held == {0}]
        stays = both[1 - of_first]
        new = Process(api, "new", 3).start()
        await watched([*both, new], 10.0)
        await both[of_first].dies()
        await watched([*both, new], 13.0)
        ways[1 - of_first].away = True
        await watched([*both, new], 90.0)
        assert new.held == {0, 1, 2}
        assert stays.held == set()
        await stays.dies()
        await new.dies()

    sharded(go)


def test_a_shard_is_handed_over_once_no_write_of_its_holder_can_be_under_way() -> None:
    async def go(kube: Pressed, api: WatchedCluster) -> None:
        first = Process(api, "a").start()
        await watched([first], 90.0)
        second = Process(api, "b").start()
        stopped: dict[int, float] = {}
        waited: dict[int, float] = {}
        for _ in range(480):
            await asyncio.sleep(0.25)
            now = asyncio.get_running_loop().time()
            for shard in set(range(SHARDS)) - first.held:
                stopped.setdefault(shard, now)
                lease = kube.objects["leases", lease_name("barostat-operator", shard)]
                if lease["spec"]["holderIdentity"] != "a":
                    waited.setdefault(shard, now - stopped[shard])
        assert len(waited) == 2
        assert min(waited.values()) >= 4.5
        await first.dies()
        await second.dies()

    sharded(go)


def test_one_shard_begins_at_once_as_before() -> None:
    async def go(kube: Pressed, api: WatchedCluster) -> None:
        one = Process(api, "a", 1).start()
        await asyncio.sleep(1.0)
        assert one.held == {0}
        await one.dies()
        assert "annotations" not in kube.objects["leases", "barostat-operator"]["metadata"]

    sharded(go)


def test_only_the_holder_of_a_workloads_shard_reports_and_the_next_one_goes_on() -> None:
    async def go(kube: Pressed, api: WatchedCluster) -> None:
        shard = shard_of(Key("x", "Deployment", "home"), 2)
        kube.press()
        operators = [operator_on(api, name, shards=2) for name in "ab"]
        for one in operators:
            one.lease.name = lease_name("barostat-operator", shard)
            one.engines.mine = lambda key: shard_of(key, 2) == shard
        other = operator_on(api, "c", shards=2)
        other.engines.mine = lambda key: shard_of(key, 2) != shard
        other.lease.name = lease_name("barostat-operator", 1 - shard)
        if shard == 1:
            for one in operators:
                one.lease.first = other.lease
        else:
            other.lease.first = operators[0].lease
        lives = [asyncio.create_task(live(one, 600.0)) for one in (*operators, other)]
        for _ in range(240):
            await asyncio.sleep(0.5)
            assert not (operators[0].lease.leads and operators[1].lease.leads)
        assert len(incidents(kube)) == 1
        assert other.lease.leads
        assert other.engines.workloads() == set()
        leader = next(one for one in operators if one.lease.leads)
        await kill(leader, lives[operators.index(leader)])
        heir = operators[1 - operators.index(leader)]
        await asyncio.sleep(30.0)
        assert heir.lease.leads
        await asyncio.sleep(60.0)
        assert len(incidents(kube)) == 1
        await kill(heir, lives[operators.index(heir)])
        await kill(other, lives[2])

    on_a_cluster(go)


def test_a_workload_has_one_shard_and_shards_are_of_like_size() -> None:
    keys = [Key(f"team-{place % 7}", "Deployment", f"llm-{place}") for place in range(4000)]
    sizes = Counter(shard_of(key, SHARDS) for key in keys)
    assert sorted(sizes) == list(range(SHARDS))
    assert min(sizes.values()) > 900
    assert shard_of(keys[0], 1) == 0


def test_nothing_is_asked_for_where_all_hold_alike() -> None:
    leases = [Lease(Cluster(ACCESS), "x", f"l-{n}", "a", lambda _: None) for n in range(3)]
    for lease, holder in zip(leases, ("a", "b", "b"), strict=True):
        lease.seen_holder = holder
    assert unfair(leases) is None
    leases[0].seen_holder = "b"
    assert unfair(leases) is leases[0]
