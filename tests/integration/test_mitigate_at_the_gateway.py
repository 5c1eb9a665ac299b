"""mitigate holds a limit at a real gateway before a real twin: fast, proved, and gone again when
the load, or mitigate, is gone.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import httpx
import pytest
from dev.gateway_process import GatewayProcess
from dev.twin_engine import TwinEngine
from tests.integration.gatewayed_target import (
    TOKEN,
    Load,
    RealPods,
    gateway_pod,
    preempted,
    until_preempting,
)
from tests.support.little_kubernetes import HOME, NAMESPACE, LittleKubernetes
from tests.support.remedy_runs import ACCESS, Mortal, by, unless_killed

from barostat.io.clock import SteadyClock
from barostat.io.kubernetes.client.cluster import Cluster
from barostat.io.kubernetes.recording.live import Options
from barostat.io.mitigation.campaign import Campaign, Ended, GatewayAccess
from barostat.io.mitigation.target_reader import ActTiming
from barostat.judge.mitigation.planning import Wish
from barostat.judge.mitigation.prepared import Prepared
from barostat.judge.mitigation.requested_lever import RequestedLever
from barostat.remedy.plan import LiveEdge
from barostat.remedy.state import State
from barostat.shells.cli.mitigate.mitigate import FAST_FOR_S, FAST_INTERVAL_S

PACE = ActTiming(poll_s=0.1, interval_s=1.0, settle_s=1.0, stray_s=0.5)
SMALL = (
    "--max-model-len",
    "2048",
    "--num-gpu-blocks-override",
    "33",
    "--max-num-seqs",
    "64",
    "--block-size",
    "128",
)
STEP = "base=0.004,decode=0.0001,prefill=0.00001"
LEASE_S = 3.0


@dataclass
class Stage:
    """The processes, and what runs on them."""

    engine: TwinEngine
    gateway: GatewayProcess
    told: list[str]

    async def campaign(self, cluster: Cluster | None = None) -> Campaign:
        """One on a little Kubernetes in which both are pods."""
        kube = LittleKubernetes(1, 2, start_s=0.1)
        admin = self.gateway.admin_port
        await asyncio.sleep(1.5)
        gateway_pod(kube, admin)
        api = RealPods(kube, {8000: self.engine.url, admin: self.gateway.admin})
        home = kube.home
        home["metadata"]["generation"] = 1
        home["status"] = {"observedGeneration": 1, "updatedReplicas": 1, "replicas": 1}
        self.api = api
        return self.again(cluster)

    def again(self, cluster: Cluster | None = None) -> Campaign:
        """Another program on the same."""
        own = by(cluster or Cluster(ACCESS), self.api)
        options, access = Options(for_s=6.0, interval_s=1.0), GatewayAccess(token=TOKEN)
        return Campaign(
            own,
            NAMESPACE,
            HOME,
            options,
            SteadyClock(),
            self.told.append,
            pace=PACE,
            gateway=access,
        )

    @property
    def limits(self) -> dict[str, Any]:
        """What is in force at the gateway."""
        found: dict[str, Any] = httpx.get(self.gateway.admin + "/limits", timeout=5).json()
        return found


@contextmanager
def stage(folder: Path, *options: str) -> Iterator[Stage]:
    """A twin with a small pool, and before it a gateway with those options."""
    token = folder / "token"
    token.write_text(TOKEN + "\n")
    with TwinEngine(*SMALL, latency=STEP) as engine:
        engine.wait_ready(within_s=30)
        spec = "request: {maxOutputTokens: 1500}\nslo: {ttftP99Seconds: 200}"
        with GatewayProcess(
            folder, spec, engine.url, options=("--admin-token-file", str(token), *options)
        ) as gateway:
            yield Stage(engine, gateway, [])


def crowd(gateway: GatewayProcess) -> Load:
    """Three times what fits."""
    return Load(gateway.url, 24, prompt="word " * 100, max_tokens=400)


async def planned(campaign: Campaign) -> Prepared:
    """The plan that holds the load back at the gateway, as `--autonomy act` has it."""
    budget = RequestedLever("edge-admission-budget")
    made = await campaign.prepare(Wish("i1", budget, autonomy="act", sustained_s=5.0), None)
    assert isinstance(made, Prepared), made
    assert made.plan.strategy == "edge-live", (made.plan, made.passed_over)
    assert isinstance(made.plan.edge, LiveEdge)
    assert made.against == ()
    return replace(
        made, plan=replace(made.plan, edge=replace(made.plan.edge, lease_s=LEASE_S, calm_s=3.0))
    )


def events(state: State) -> list[str]:
    """The acts of the timeline, in their order."""
    return [entry.event for entry in state.timeline]


async def until(holds: Any, within_s: float, said: Sequence[str] = ()) -> float:
    """How long it took."""
    began = time.monotonic()
    while not await asyncio.to_thread(holds):
        assert time.monotonic() - began < within_s, "\n".join(map(str, said))
        await asyncio.sleep(0.05)
    return time.monotonic() - began


def test_a_thrash_is_ended_at_a_gateway_that_only_watched_and_the_limit_goes_with_the_load(
    tmp_path: Path,
) -> None:
    async def go(found: Stage, load: Load) -> Ended:
        await asyncio.to_thread(until_preempting, found.engine.url)
        campaign = await found.campaign()
        made = await planned(campaign)
        assert made.plan.edge is not None
        assert made.plan.edge.enforces
        assert made.plan.lever == "edge-admission-budget"
        run = asyncio.create_task(campaign.carry_out(made, None))
        await until(lambda: any(line.startswith("Holding") for line in found.told), 25, found.told)
        assert found.limits["override"]["holder"] == "i1"
        assert found.limits["shadow"] is False
        before = preempted(found.engine.url)
        await asyncio.sleep(2 * LEASE_S)  # renewed
        assert found.limits["override"]["holder"] == "i1"
        assert preempted(found.engine.url) == before
        await asyncio.to_thread(load.end)
        return await run

    with stage(tmp_path, "--shadow") as found, crowd(found.gateway) as load:
        ended = asyncio.run(go(found, load))
        assert ended.state.phase == "Done", ended.state.timeline
        assert ended.state.verified == "better"
        assert found.limits["override"] is None
        assert found.limits["shadow"] is True
        put = next(entry for entry in ended.state.timeline if entry.event == "TightenGateway")
        assert float(put.detail.rpartition(" in ")[2].removesuffix(" ms")) < 1000
        assert events(ended.state)[-5:] == [
            "AwaitCalm",
            "TightenGateway",
            "Promoting",
            "ReleaseHome",
            "Done",
        ]
        assert set(load.answers) <= {200, 429, 503}


@pytest.mark.alone
def test_one_short_look_holds_the_limit_within_ten_seconds_and_it_lapses_unconfirmed(
    tmp_path: Path,
) -> None:
    async def go(found: Stage) -> float:
        await asyncio.to_thread(until_preempting, found.engine.url)
        campaign = await found.campaign()
        campaign.options = Options(for_s=FAST_FOR_S, interval_s=FAST_INTERVAL_S)
        campaign.one_look = True
        began = time.monotonic()
        made = await planned(campaign)
        run = asyncio.create_task(campaign.carry_out(made, None))
        await until(lambda: found.limits["override"] is not None, 25, found.told)
        held_s = time.monotonic() - began
        run.cancel()
        with suppress(asyncio.CancelledError):
            await run
        await until(lambda: found.limits["override"] is None, 5 * LEASE_S, found.told)
        return held_s

    with stage(tmp_path, "--shadow") as found, crowd(found.gateway):
        assert asyncio.run(go(found)) < 10.0


def at_the_gateway(method: str, path: str) -> bool:
    """True for a write to a gateway."""
    return method in ("PUT", "DELETE") and "/proxy/limits" in path


class MortalAtTheGateway(Mortal):
    """Dies at its nth write to the gateway, before it is sent or when it took effect."""

    async def exchange(self, method: str, path: str, **more: Any) -> Any:
        if not at_the_gateway(method, path) or self.died.is_set():
            return await super().exchange(method, path, **more)
        self.acts += 1
        if self.acts != self.dies_at:
            return await Cluster.exchange(self, method, path, **more)
        if self.late:
            await Cluster.exchange(self, method, path, **more)
        self.died.set()
        raise asyncio.CancelledError


@pytest.mark.parametrize(("dies_at", "late"), [(1, False), (1, True), (3, True)])
def test_mitigate_killed_at_the_gateway_leaves_nothing_and_another_goes_on(
    tmp_path: Path, dies_at: int, late: bool
) -> None:
    async def go(found: Stage, load: Load) -> None:
        await asyncio.to_thread(until_preempting, found.engine.url)
        campaign = await found.campaign()
        made = await planned(campaign)
        mortal = MortalAtTheGateway(ACCESS, 10**9)
        mortal.dies_at, mortal.late = dies_at, late
        assert await unless_killed(found.again(mortal).carry_out(made, None), mortal) is None
        lapsed_s = await until(lambda: found.limits["override"] is None, LEASE_S + 2.0, found.told)
        assert lapsed_s <= LEASE_S + 2.0
        after = found.again()
        state, limits = await after.store.read("i1")
        found.told.clear()
        run = asyncio.create_task(after.go_on(state, limits))
        await until(
            lambda: any(line.startswith("Holding") for line in found.told) or run.done(),
            60,
            found.told,
        )
        assert found.limits["override"]["epoch"] == 2
        await asyncio.to_thread(load.end)
        ended = await run
        assert ended.state.phase == "Done", "\n".join(found.told)
        assert found.limits["override"] is None

    with stage(tmp_path, "--shadow") as found, crowd(found.gateway) as load:
        asyncio.run(go(found, load))
        assert set(load.answers) <= {200, 429, 503}
