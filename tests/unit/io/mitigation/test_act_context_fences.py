"""What keeps two runs of one incident apart, and a replica from being cut: the record, the claim,
keys on what was touched, waits.
"""

from __future__ import annotations

import asyncio
import copy
import time
from dataclasses import replace
from typing import Any

import pytest
from dev.cluster.chaos import Kind
from tests.support.little_api_server import failure
from tests.support.little_kubernetes import NAMESPACE, OLD
from tests.support.owned_workload import Owned
from tests.support.remedy_runs import (
    ACCESS,
    Killed,
    Mortal,
    Scene,
    by,
    is_act,
    on_a_little_kubernetes,
)

from barostat.core.errors import OutsideError
from barostat.io.clock import SteadyClock
from barostat.io.engine_http.http import Failure
from barostat.io.kubernetes.client.cluster import READ_S, Cluster, Reply
from barostat.io.kubernetes.client.failures import RequestFailed
from barostat.io.kubernetes.client.resources import PODS
from barostat.io.kubernetes.recording.live import Options
from barostat.io.mitigation import target_acts as home
from barostat.io.mitigation.act_context import ActContext
from barostat.io.mitigation.campaign import Campaign
from barostat.io.mitigation.owner_pausing import pause_owner, resume_owner
from barostat.io.mitigation.store import Store
from barostat.io.mitigation.target_reader import ActTiming, Denied, no
from barostat.judge.mitigation.paused_mark import planned
from barostat.remedy.acts import (
    ClaimHome,
    Conflict,
    Done,
    JoinRotation,
    Lost,
    PauseOwner,
    Refused,
    ReleaseHome,
    ResumeOwner,
    ScaleHome,
)
from barostat.remedy.state import Do, State, WriteRecord


def record(state: State) -> WriteRecord:
    return WriteRecord("k", state.revision, state)


def test_a_later_run_does_not_write_over_what_it_has_not_read() -> None:
    """The earlier one lives and has just recorded its next step: the later one would not know the
    undo of it.
    """

    async def go(found: Scene) -> None:
        store = Store(by(Cluster(ACCESS), found.api), NAMESPACE)
        first = State(
            found.plan(), phase="Preparing", holder="a", revision=1, undo=(ReleaseHome(),)
        )
        assert await store.write(record(first), "") == Done()
        assert await store.write(record(replace(first, revision=2)), "") == Done()
        second = replace(first, epoch=2, holder="b", revision=2)
        assert isinstance(await store.write(record(second), ""), Conflict)
        assert await store.write(record(replace(second, revision=3)), "") == Done()
        assert await store.write(record(replace(second, revision=3)), "") == Done()
        assert isinstance(await store.write(record(replace(first, revision=4)), ""), Conflict)
        assert isinstance(
            await store.write(record(replace(second, holder="c", revision=4)), ""), Conflict
        )

    on_a_little_kubernetes(go)


class Slow(Cluster):
    """Its `slow`th act is on its way for fourteen seconds, as long as it is waited for and no
    longer.
    """

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
        assert (second.phase, found.kube.broken, await found.left(), found.value) == (
            "RolledBack",
            [],
            [],
            OLD,
        ), found.told

    on_a_little_kubernetes(go)


class DiesReleased(Mortal):
    """Dies when home is released, before it hears of it."""

    async def exchange(self, method: str, path: str, **more: Any) -> Reply | Failure:
        """As the real one, while it lives."""
        answer = await super().exchange(method, path, **more)
        if method == "PATCH" and b"barostat.dev/ended" in more["content"]:
            self.died.set()
            raise Killed
        return answer


@pytest.mark.parametrize(("abort", "phase"), [("", "Done"), ("a person ended it", "RolledBack")])
def test_a_run_that_died_as_home_was_released_is_brought_to_its_end(abort: str, phase: str) -> None:
    async def go(found: Scene) -> None:
        if abort:
            assert await found.run(State(found.plan()), cluster=Mortal(ACCESS, dies_at=3)) is None
            assert (
                await found.run(
                    await found.recorded(), abort=abort, cluster=DiesReleased(ACCESS, dies_at=99)
                )
                is None
            )
        else:
            assert (
                await found.run(State(found.plan()), cluster=DiesReleased(ACCESS, dies_at=99))
                is None
            )
        before = len(found.api.writes)
        state = await found.run(await found.recorded())
        assert state is not None
        assert (state.phase, found.kube.broken, await found.left()) == (phase, [], []), found.told
        assert (await found.recorded()).phase == phase
        assert not [
            line for line in found.api.writes[before:] if "deployments/" in line or "pods/" in line
        ]

    on_a_little_kubernetes(go)


def test_a_warm_replica_that_is_not_missed_any_more_is_drained_before_it_goes() -> None:
    """Killed between taking it out and scaling home: with a GPU to spare a newborn is Ready by
    then.
    """

    async def go(found: Scene) -> None:
        found.kube.drain_s = 90.0
        assert (
            await found.run(State(found.plan()), cluster=Mortal(ACCESS, dies_at=3, late=True))
            is None
        )
        await asyncio.sleep(20.0)
        assert sum(map(found.kube.is_listed, found.kube.all("pods"))) == 2
        state = await found.run(await found.recorded())
        assert state is not None
        assert "would be deleted" in state.why
        assert (state.phase, found.kube.broken, await found.left()) == ("RolledBack", [], []), (
            found.told
        )

    on_a_little_kubernetes(go, 1, gpus=3)


@pytest.mark.parametrize("act", [4, 5])
def test_a_newborn_that_stays_loses_its_mark(act: int) -> None:
    """Killed between marking it and scaling home, or after it: it is Ready by then, stays, and is
    no more the first to go than others.
    """

    async def go(found: Scene) -> None:
        assert (
            await found.run(State(found.plan()), cluster=Mortal(ACCESS, dies_at=act, late=act == 4))
            is None
        )
        await asyncio.sleep(20.0)
        state = await found.run(await found.recorded(), abort="a person ended it")
        assert state is not None
        assert (state.phase, found.kube.broken, await found.left()) == ("RolledBack", [], []), (
            found.told
        )

    on_a_little_kubernetes(go, 2, gpus=4)


def test_a_newborn_is_marked_as_the_first_to_go() -> None:
    async def go(found: Scene) -> None:
        before = {pod["metadata"]["name"] for pod in found.kube.all("pods")}
        state = await found.run(State(found.plan()))
        assert state is not None
        assert (state.phase, found.kube.broken, await found.left()) == ("Done", [], []), found.told
        touched = [
            line.removeprefix("PATCH pods/")
            for line in found.api.writes
            if line.startswith("PATCH pods/vllm-")
        ]
        assert set(touched) - before

    on_a_little_kubernetes(go, 1, gpus=3)


def test_a_later_run_waits_for_what_the_one_before_it_had_on_its_way() -> None:
    async def go(found: Scene) -> None:
        assert await found.run(State(found.plan()), cluster=Mortal(ACCESS, dies_at=2)) is None
        state = await found.run(await found.recorded(), abort="no")
        assert state is not None
        resumed = next(entry for entry in state.timeline if entry.event == "Resumed")
        claimed = next(
            entry
            for entry in state.timeline
            if entry.event == "ClaimHome" and entry.at > resumed.at
        )
        assert claimed.at - resumed.at >= ActTiming().stray_s
        assert "waited" in claimed.detail

    on_a_little_kubernetes(go)


def test_the_wait_covers_a_look_the_pause_after_it_and_the_write() -> None:
    pace = ActTiming()
    assert pace.stray_s >= pace.look_s + pace.fresh_s + pace.write_s + pace.late_s


def test_limits_that_cannot_be_read_are_not_taken_for_none() -> None:
    """They hold the budget and the autonomy: without them more would be allowed."""

    async def go(found: Scene) -> None:
        found.api.answer = lambda *_: failure(403, "no")  # type: ignore[method-assign]
        campaign = Campaign(
            by(Cluster(ACCESS), found.api), NAMESPACE, "vllm", Options(), SteadyClock(), print
        )
        with pytest.raises(OutsideError, match="cannot get configmaps in x"):
            await campaign.held_limits()

    on_a_little_kubernetes(go)


async def claimed(found: Scene) -> tuple[ActContext, Do]:
    """A run that holds the claim, and its next command."""
    plan = found.plan()
    ground = ActContext(by(Cluster(ACCESS), found.api), plan, SteadyClock())
    do = Do("i1/1/f0", "i1#1#a", ClaimHome(), "planned", None, ground.clock.now() + 90.0)
    assert await home.claim(ground, do) == Done()
    return ground, replace(do, key="i1/1/f3", act=JoinRotation("spare-0"))


def test_a_write_is_sent_only_while_the_look_at_the_claim_is_young() -> None:
    """A laptop that slept between the two: another run has gone on meanwhile."""

    async def go(found: Scene) -> None:
        ground, do = await claimed(found)
        await ground.checked_home(do)
        (pod,) = await ground.listed(PODS)
        assert await ground.merged(do, PODS, pod, {}) is not None
        found.kube.home["metadata"]["annotations"]["barostat.dev/claim"] = "i1#2#b"
        await asyncio.sleep(ActTiming().fresh_s + 1.0)
        with pytest.raises(Denied, match="the claim on home is i1#2#b"):
            await ground.merged(do, PODS, pod, {})

    on_a_little_kubernetes(go)


class Asleep(Cluster):
    """A machine that sleeps when it has heard of the first such answer, until another run has gone
    on.
    """

    def __init__(self, found: Scene, method: str, told: bytes) -> None:
        super().__init__(ACCESS)
        self.found, self.method, self.told = found, method, told

    async def exchange(self, method: str, path: str, **more: Any) -> Reply | Failure:
        """As the real one."""
        answer = await super().exchange(method, path, **more)
        if method == self.method and self.told in (more.get("content") or path.encode()):
            self.found.kube.home["metadata"]["annotations"]["barostat.dev/claim"] = "i1#2#b"
            await asyncio.sleep(ActTiming().fresh_s + 1.0)
        return answer


@pytest.mark.parametrize("act", [PauseOwner(0), ResumeOwner(0)])
def test_an_owner_is_written_only_while_the_look_at_the_claim_is_young(
    act: PauseOwner | ResumeOwner,
) -> None:
    """Else it stays paused when the incident is over, or undoes a change that is in the middle."""

    async def go(found: Scene) -> None:
        owned = Owned(found)
        plan = found.plan(owners=tuple(map(planned, owned.switches())))
        pauses = isinstance(act, PauseOwner)
        if not pauses:
            await owned.pause("i1")
        before, mark = copy.deepcopy(owned.chat["spec"]), owned.mark
        slow = (
            Asleep(found, "PATCH", b"barostat.dev/paused")
            if pauses
            else Asleep(found, "GET", b"/deployments/vllm")
        )
        ground = ActContext(by(slow, found.api), plan, SteadyClock())
        found.kube.home["metadata"]["annotations"]["barostat.dev/claim"] = "i1#1#a"
        do = Do("i1/1/f1", "i1#1#a", act, "planned", None, ground.clock.now() + 90.0)
        with pytest.raises(Denied, match="the claim on home is i1#2#b"):
            await (
                pause_owner(ground, do, act)
                if isinstance(act, PauseOwner)
                else resume_owner(ground, do, act)
            )
        assert owned.chat["spec"] == before
        assert pauses or owned.mark == mark

    on_a_little_kubernetes(go)


def test_what_is_deleted_must_be_as_it_was_read() -> None:
    async def go(found: Scene) -> None:
        ground, do = await claimed(found)
        await ground.checked_home(do)
        (read,) = copy.deepcopy(await ground.listed(PODS))
        (pod,) = found.kube.all("pods")
        found.kube.touch(pod)
        assert not await ground.deleted(do, PODS, read)
        assert "deletionTimestamp" not in pod["metadata"]

    on_a_little_kubernetes(go)


@pytest.mark.parametrize("cancelled", [False, True])
def test_an_answer_that_is_lost_is_told_when_the_server_must_have_given_up(cancelled: bool) -> None:
    async def go(found: Scene) -> None:
        ground, do = await claimed(found)
        found.api.choose = lambda method, _: "reset-before" if method == "PATCH" else None
        began = time.monotonic()
        told = asyncio.create_task(
            home.scale(ground, replace(do, act=ScaleHome(1, 2)), ScaleHome(1, 2))
        )
        await asyncio.sleep(1.0)
        if cancelled:
            told.cancel()
        with pytest.raises(asyncio.CancelledError if cancelled else Denied):
            await told
        assert time.monotonic() - began >= ActTiming().write_s + ActTiming().late_s

    on_a_little_kubernetes(go)


def test_a_write_that_is_tried_again_does_not_outlast_its_time() -> None:
    async def go(found: Scene) -> None:
        ground, do = await claimed(found)
        left: list[Kind] = ["busy"] * 3
        found.api.choose = lambda method, _: left.pop() if method == "PATCH" and left else None
        await home.scale(ground, replace(do, act=ScaleHome(1, 2)), ScaleHome(1, 2))
        told = [
            int(target.partition("timeout=")[2].partition("s")[0])
            for method, target in found.api.asked
            if method == "PATCH"
        ]
        assert told[-4] == ActTiming().write_s
        assert told[-1] <= ActTiming().write_s - 3

    on_a_little_kubernetes(go)


def test_a_look_whose_answer_does_not_come_is_taken_again_over_another_connection() -> None:
    async def go(found: Scene) -> None:
        ground, _ = await claimed(found)
        left: list[Kind] = ["stall-after"]
        found.api.choose = lambda *_: left.pop() if left else None
        began = time.monotonic()
        assert await ground.home()
        assert time.monotonic() - began < READ_S

    on_a_little_kubernetes(go)


def test_a_server_that_is_busy_or_has_forgotten_may_be_asked_again_and_one_that_forbids_has_refused() -> (
    None
):
    async def go(_: Scene) -> None:
        began = time.monotonic()
        assert isinstance(await no(RequestFailed("throttled", "cannot", retry_after_s=20.0)), Lost)
        assert time.monotonic() - began >= 20.0
        assert isinstance(await no(RequestFailed("gone", "cannot")), Lost)
        assert isinstance(await no(RequestFailed("forbidden", "cannot")), Refused)

    on_a_little_kubernetes(go)
