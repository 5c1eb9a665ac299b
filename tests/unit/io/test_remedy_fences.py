"""What keeps two runs of one incident apart, and a replica from being cut: the record, the claim, keys on what was touched, waits."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest
from tests.unit.io.little_api_server import failure
from tests.unit.io.little_kubernetes import NAMESPACE, OLD
from tests.unit.io.remedy_runs import ACCESS, Mortal, Scene, by, is_act, on_a_little_kubernetes

from barostat.core.errors import OutsideError
from barostat.io.clock import SteadyClock
from barostat.io.http import Failure
from barostat.io.kubernetes.cluster import Cluster, Reply
from barostat.io.kubernetes.live import Options
from barostat.io.remedy.campaign import Campaign
from barostat.io.remedy.ground import Pace
from barostat.io.remedy.store import Store
from barostat.remedy.acts import Conflict, Done, ReleaseHome
from barostat.remedy.state import State, WriteRecord


def record(state: State) -> WriteRecord:
    return WriteRecord("k", state.revision, state)


def test_a_later_run_does_not_write_over_what_it_has_not_read() -> None:
    """The earlier one lives and has just recorded its next step: the later one would not know the undo of it."""

    async def go(found: Scene) -> None:
        store = Store(by(Cluster(ACCESS), found.api), NAMESPACE)
        first = State(found.plan(), phase="Preparing", holder="a", revision=1, undo=(ReleaseHome(),))
        assert await store.write(record(first), "") == Done()
        assert await store.write(record(replace(first, revision=2)), "") == Done()
        second = replace(first, epoch=2, holder="b", revision=2)
        assert isinstance(await store.write(record(second), ""), Conflict)
        assert await store.write(record(replace(second, revision=3)), "") == Done()
        assert await store.write(record(replace(second, revision=3)), "") == Done()
        assert isinstance(await store.write(record(replace(first, revision=4)), ""), Conflict)
        assert isinstance(await store.write(record(replace(second, holder="c", revision=4)), ""), Conflict)

    on_a_little_kubernetes(go)


class Slow(Cluster):
    """Its `slow`th act is on its way for fourteen seconds, as long as it is waited for and no longer."""

    def __init__(self, slow: int) -> None:
        super().__init__(ACCESS)
        self.slow, self.acts = slow, 0
        self.sending = asyncio.Event()

    async def exchange(self, method: str, path: str, **more: Any) -> Reply | Failure:
        """As the real one, but for that act."""
        self.acts += is_act(method, path, more)
        if self.acts == self.slow and not self.sending.is_set():
            self.sending.set()
            await asyncio.sleep(14.0)
        return await super().exchange(method, path, **more)


@pytest.mark.parametrize("act", [2, 3, 4])
def test_a_request_of_a_run_that_was_overtaken_does_no_harm(act: int) -> None:
    """The first run's write stays on its way while another run takes everything back."""

    async def go(found: Scene) -> None:
        slow = Slow(act)
        first = asyncio.create_task(found.run(State(found.plan()), cluster=slow))
        await slow.sending.wait()
        second = await found.run(await found.recorded(), abort="too slow")
        overtaken = await first
        assert second is not None
        assert overtaken is not None
        assert overtaken.superseded
        assert (second.phase, found.kube.broken, await found.left(), found.value) == ("RolledBack", [], [], OLD), found.told

    on_a_little_kubernetes(go)


def test_a_warm_replica_that_is_not_missed_any_more_is_drained_before_it_goes() -> None:
    """Killed between taking it out and scaling home: with a GPU to spare a newborn is Ready by then."""

    async def go(found: Scene) -> None:
        found.kube.drain_s = 90.0
        assert await found.run(State(found.plan()), cluster=Mortal(ACCESS, dies_at=3, late=True)) is None
        await asyncio.sleep(20.0)
        assert sum(map(found.kube.is_listed, found.kube.all("pods"))) == 2
        state = await found.run(await found.recorded())
        assert state is not None
        assert "would be deleted" in state.why
        assert (state.phase, found.kube.broken, await found.left()) == ("RolledBack", [], []), found.told

    on_a_little_kubernetes(go, 1, gpus=3)


def test_a_newborn_is_marked_as_the_first_to_go() -> None:
    async def go(found: Scene) -> None:
        before = {pod["metadata"]["name"] for pod in found.kube.all("pods")}
        state = await found.run(State(found.plan()))
        assert state is not None
        assert (state.phase, found.kube.broken, await found.left()) == ("Done", [], []), found.told
        touched = [line.removeprefix("PATCH pods/") for line in found.api.writes if line.startswith("PATCH pods/vllm-")]
        assert set(touched) - before

    on_a_little_kubernetes(go, 1, gpus=3)


def test_a_later_run_waits_for_what_the_one_before_it_had_on_its_way() -> None:
    async def go(found: Scene) -> None:
        assert await found.run(State(found.plan()), cluster=Mortal(ACCESS, dies_at=2)) is None
        state = await found.run(await found.recorded(), abort="no")
        assert state is not None
        resumed = next(entry for entry in state.timeline if entry.event == "Resumed")
        claimed = next(entry for entry in state.timeline if entry.event == "ClaimHome" and entry.at > resumed.at)
        assert claimed.at - resumed.at >= Pace().stray_s
        assert "waited" in claimed.detail

    on_a_little_kubernetes(go)


def test_the_wait_covers_a_look_the_pause_after_it_and_the_write() -> None:
    pace = Pace()
    assert pace.stray_s >= pace.look_s + pace.fresh_s + pace.write_s + pace.late_s


def test_limits_that_cannot_be_read_are_not_taken_for_none() -> None:
    """They hold the budget and the autonomy: without them more would be allowed."""

    async def go(found: Scene) -> None:
        found.api.answer = lambda *_: failure(403, "no")  # type: ignore[method-assign]
        campaign = Campaign(by(Cluster(ACCESS), found.api), NAMESPACE, "vllm", Options(), SteadyClock(), print)
        with pytest.raises(OutsideError, match="cannot get configmaps in x"):
            await campaign.held_limits()

    on_a_little_kubernetes(go)
