"""What a run holds at a gateway: put, renewed as long as its claim is its own, taken back, and over
by itself where nobody answers.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.support.little_gateway import TOKEN, ApiBeforeTheGateway, LittleGateway, LoadedKubernetes
from tests.support.little_kubernetes import HOME, NAMESPACE
from tests.support.remedy_dialogue import a_plan
from tests.support.remedy_runs import ACCESS, by
from tests.support.virtual_time import virtual_time

from barostat.io.kubernetes.client.cluster import Cluster
from barostat.io.kubernetes.recording.gateway_door import GatewayDoors
from barostat.io.mitigation.gateway_hold import STARTS_S, GatewayHold
from barostat.io.mitigation.target_reader import Denied
from barostat.remedy.acts import Conflict, Lost, Refused
from barostat.remedy.annotations import written_claim
from barostat.remedy.plan import GatewayRef, LiveEdge

LEASE_S = 12.0
PLAN = replace(
    a_plan("edge-live"),
    edge=LiveEdge(
        (GatewayRef("Deployment", "gateway", NAMESPACE, 8081),),
        lease_s=LEASE_S,
        calm_s=6.0,
        enforces=True,
    ),
)
What = Callable[[LittleGateway, Callable[..., GatewayHold]], Coroutine[Any, Any, None]]


def claim(epoch: int) -> str:
    return written_claim("i1", epoch, "holder")


async def ours() -> None:
    """The claim is ours."""


def at_a_gateway(folder: Path, what: What) -> None:
    """`what` is given a gateway that is asked nothing, and how another program holds something
    there.
    """

    async def go() -> None:
        kube = LoadedKubernetes(1, 1, start_s=0.1)
        api = ApiBeforeTheGateway(kube)
        api.gateway = LittleGateway(kube, folder)
        api.gateway.coming = False
        held: list[GatewayHold] = []

        def another(token: str = TOKEN) -> GatewayHold:
            held.append(
                GatewayHold(GatewayDoors(by(Cluster(ACCESS), api), NAMESPACE, HOME, token=token))
            )
            return held[-1]

        await what(api.gateway, another)
        for one in held:
            await one.close()
        await api.gateway.end()

    with virtual_time() as run:
        run(go())


def test_it_is_in_force_at_once_renewed_and_taken_back(tmp_path: Path) -> None:
    async def what(gateway: LittleGateway, another: Callable[..., GatewayHold]) -> None:
        hold = another()
        assert "pod x/gateway-abc-0, in " in await hold.ensure(PLAN, claim(1), ours)
        assert gateway.override["limits"] == {"maxOutputTokens": 512}
        assert not gateway.world.desk.shadow
        assert await hold.ensure(PLAN, claim(1), ours) == ""
        await asyncio.sleep(5 * LEASE_S)
        assert gateway.override["epoch"] == 1
        assert await hold.take_back(PLAN, claim(1)) == "pod x/gateway-abc-0"
        assert gateway.override is None
        await asyncio.sleep(LEASE_S)
        assert gateway.override is None

    at_a_gateway(tmp_path, what)


def test_it_ends_with_the_program_and_with_its_claim(tmp_path: Path) -> None:
    async def what(gateway: LittleGateway, another: Callable[..., GatewayHold]) -> None:
        hold = another()
        await hold.ensure(PLAN, claim(1), ours)
        await hold.close()
        await asyncio.sleep(LEASE_S + 1.0)
        assert gateway.override is None
        mine = [True]

        async def while_mine() -> None:
            if not mine[0]:
                raise Denied(Conflict("the claim is another's"))

        await another().ensure(PLAN, claim(2), while_mine)
        await asyncio.sleep(2 * LEASE_S)
        assert gateway.override is not None
        mine[0] = False
        await asyncio.sleep(LEASE_S * 7 / 6 + 1.0)
        assert gateway.override is None

    at_a_gateway(tmp_path, what)


def test_an_api_server_that_is_away_for_a_moment_ends_nothing(tmp_path: Path) -> None:
    async def what(gateway: LittleGateway, another: Callable[..., GatewayHold]) -> None:
        away = [False]

        async def sometimes() -> None:
            if away[0]:
                raise Denied(Lost("reset"))

        await another().ensure(PLAN, claim(1), sometimes)
        away[0] = True
        await asyncio.sleep(LEASE_S * 0.7)
        away[0] = False
        await asyncio.sleep(LEASE_S)
        assert gateway.override is not None

    at_a_gateway(tmp_path, what)


def test_a_later_run_has_it_and_the_earlier_one_neither_renews_nor_takes_it_back(
    tmp_path: Path,
) -> None:
    async def what(gateway: LittleGateway, another: Callable[..., GatewayHold]) -> None:
        earlier, later = another(), another()
        await earlier.ensure(PLAN, claim(1), ours)
        await later.ensure(PLAN, claim(2), ours)
        await asyncio.sleep(LEASE_S)
        assert gateway.override["epoch"] == 2
        with pytest.raises(Denied) as caught:
            await earlier.take_back(PLAN, claim(1))
        assert isinstance(caught.value.answer, Conflict)
        with pytest.raises(Denied):
            await earlier.ensure(PLAN, claim(1), ours)
        assert gateway.override["epoch"] == 2

    at_a_gateway(tmp_path, what)


def test_another_process_of_the_gateway_has_it_within_a_renewal(tmp_path: Path) -> None:
    async def what(gateway: LittleGateway, another: Callable[..., GatewayHold]) -> None:
        await another().ensure(PLAN, claim(1), ours)
        for pod in (False, True):
            gateway.kill(pod=pod)
            gateway.start()
            assert gateway.override is None
            await asyncio.sleep(LEASE_S / 6 + 1.0)
            assert gateway.override is not None
            assert not gateway.world.desk.shadow

    at_a_gateway(tmp_path, what)


def test_one_that_is_started_anew_is_waited_for_and_one_that_is_not_is_no(tmp_path: Path) -> None:
    async def what(gateway: LittleGateway, another: Callable[..., GatewayHold]) -> None:
        gateway.kill(pod=True)
        asyncio.get_running_loop().call_later(STARTS_S - 5.0, gateway.start)
        hold = another()
        await hold.ensure(PLAN, claim(1), ours)
        assert gateway.override is not None
        await hold.take_back(PLAN, claim(1))
        gateway.kill(pod=True)
        began = time.monotonic()
        with pytest.raises(Denied) as caught:
            await another().ensure(PLAN, claim(2), ours)
        assert isinstance(caught.value.answer, Refused)
        assert "no gateway is Ready" in caught.value.answer.why
        assert STARTS_S <= time.monotonic() - began <= STARTS_S + 3.0
        gateway.start()

    at_a_gateway(tmp_path, what)


def test_a_wrong_token_is_no_and_a_gateway_that_does_not_answer_may_be_asked_again(
    tmp_path: Path,
) -> None:
    async def what(gateway: LittleGateway, another: Callable[..., GatewayHold]) -> None:
        with pytest.raises(Denied) as caught:
            await another("wrong").ensure(PLAN, claim(1), ours)
        assert isinstance(caught.value.answer, Refused)
        gateway.kill(pod=False)
        with pytest.raises(Denied) as caught:
            await another().ensure(PLAN, claim(1), ours)
        assert isinstance(caught.value.answer, Lost)
        gateway.start()

    at_a_gateway(tmp_path, what)


def test_where_the_answer_to_a_renewal_was_lost_the_lease_is_counted_from_it(
    tmp_path: Path,
) -> None:
    """A gateway that took it and could not be heard holds it until then: to say earlier that it is
    over would not be true.
    """

    async def what(gateway: LittleGateway, another: Callable[..., GatewayHold]) -> None:
        hold = another()
        await hold.ensure(PLAN, claim(1), ours)
        gateway.deaf = True
        await asyncio.sleep(LEASE_S * 0.9)
        told = await hold.take_back(PLAN, claim(1))
        assert told.startswith("by itself: the lease is over")
        gateway.deaf = False
        await asyncio.sleep(0.5)  # a tick of the gateway
        assert gateway.override is None

    at_a_gateway(tmp_path, what)
