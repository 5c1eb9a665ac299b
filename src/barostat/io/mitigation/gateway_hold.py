"""What one run holds at gateways: set, renewed while this process lives and owns the claim, and
removed.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any

from barostat.core.errors import OutsideError
from barostat.io.kubernetes.recording.gateway_door import (
    GatewayDoors,
    GatewayResponse,
    limits_path,
    until_answered,
)
from barostat.io.mitigation.target_reader import Denied
from barostat.judge.mitigation.gateways import FIELDS
from barostat.remedy.acts import Conflict, Lost, Refused
from barostat.remedy.annotations import read_claim
from barostat.remedy.plan import GatewayRef, LiveEdge, RemedyPlan

StillOurs = Callable[[], Awaitable[object]]
"""A look at the claim. Errors: Denied."""
RENEWALS = 6
"""Renewals per lease, so that some may be lost."""
PUT_S = 10.0
STARTS_S = 45.0
"""Time to wait for a restarting gateway, whose pod is missing or not Ready yet."""
_STATUS_TAKEN, _STATUS_NO = 409, (400, 401, 403, 404, 405)


@dataclass(slots=True)
class GatewayHold:
    """The limit that this run holds at the gateways. `put_at`: time.monotonic() of the last
    success.

    `asked_at`: when it was last over that one of them was asked to: one whose answer was lost may
    have taken it until then.
    """

    doors: GatewayDoors
    put_at: float | None = None
    asked_at: float | None = None
    _keeper: asyncio.Task[None] | None = None

    async def close(self) -> None:
        """Stop renewing and close all connections. Limits at gateways expire by themselves."""
        await self.stop()
        await self.doors.close()

    async def stop(self) -> None:
        """Nothing is renewed any more, and no renewal is on its way."""
        if self._keeper is not None:
            self._keeper.cancel()
            await asyncio.gather(self._keeper, return_exceptions=True)
            self._keeper = None

    async def ensure(self, plan: RemedyPlan, claim: str, still_ours: StillOurs) -> str:
        """The limit is in force at every gateway and will be renewed as long as the claim is ours;
        where, and how fast. Errors: Denied.
        """
        if self._keeper is not None and not self._keeper.done():
            return ""
        edge = edge_of(plan)
        began = time.monotonic()
        places = await self._places(edge)
        while not places:
            if time.monotonic() - began >= STARTS_S:
                raise Denied(Refused(f"no gateway is Ready: {', '.join(map(str, edge.gateways))}"))
            await asyncio.sleep(1.0)
            await still_ours()
            places = await self._places(edge)
        body = _asked(plan, claim, edge)
        said = await self._put(
            until_answered(
                partial(self.doors.ask, ref, pod, "PUT", "/limits", body, within_s=PUT_S), PUT_S
            )
            for ref, pod in places
        )
        _all_took(said)
        self.put_at = time.monotonic()
        self._keeper = asyncio.create_task(self._keep(edge, body, still_ours))
        return f"{', '.join(one.where for one in said)}, in {1000 * (self.put_at - began):.0f} ms"

    async def _put(self, asks: Iterable[Awaitable[GatewayResponse]]) -> list[GatewayResponse]:
        try:
            return await asyncio.gather(*asks)
        finally:
            self.asked_at = time.monotonic()

    async def _places(self, edge: LiveEdge) -> list[tuple[GatewayRef, str]]:
        try:
            return await self.doors.places(edge.gateways)
        except OutsideError as error:
            raise Denied(Lost(str(error)) if error.retryable else Refused(str(error))) from None

    async def _keep(self, edge: LiveEdge, body: dict[str, Any], still_ours: StillOurs) -> None:
        """Renewed until the claim is another's: also on gateways that were added or restarted
        meanwhile.
        """
        while True:
            await asyncio.sleep(edge.lease_s / RENEWALS)
            try:
                await still_ours()
                places = await self.doors.places(edge.gateways)
            except Denied as denied:
                if isinstance(denied.answer, Conflict):
                    return
                continue
            except OutsideError:
                continue
            said = await self._put(
                self.doors.ask(ref, pod, "PUT", "/limits", body) for ref, pod in places
            )
            if any(one.status == 200 for one in said):
                self.put_at = time.monotonic()
            if any(one.status == _STATUS_TAKEN for one in said):
                return

    async def take_back(self, plan: RemedyPlan, claim: str) -> str:
        """No limit of the incident is in force at any gateway. Where one does not answer it is
        waited for until the lease must be over.

        Errors: Denied, where a later run of the incident holds it.
        """
        await self.stop()
        edge = edge_of(plan)
        over = (self.asked_at if self.asked_at is not None else time.monotonic()) + edge.lease_s
        path = limits_path(plan.id, read_claim(claim).epoch)
        while True:
            left_s = max(0.0, over - time.monotonic())
            said: list[GatewayResponse] = []
            try:
                places = await self.doors.places(edge.gateways)
                asks = (partial(self.doors.ask, ref, pod, "DELETE", path) for ref, pod in places)
                said = await asyncio.gather(
                    *(until_answered(ask, min(left_s, PUT_S)) for ask in asks)
                )
            except OutsideError as error:
                trouble = str(error)
            else:
                if taken := next((one for one in said if one.status == _STATUS_TAKEN), None):
                    raise Denied(Conflict(taken.told))
                trouble = next((one.told for one in said if one.status != 200), "")
                if not trouble and said:
                    return ", ".join(one.where for one in said)
                trouble = trouble or "no gateway is Ready"
            if time.monotonic() >= over:
                return f"by itself: the lease is over ({trouble})"
            await asyncio.sleep(min(1.0, max(0.05, over - time.monotonic())))


def edge_of(plan: RemedyPlan) -> LiveEdge:
    """How the plan's gateways hold its limit: of a plan that has some."""
    assert plan.edge is not None
    return plan.edge


def _asked(plan: RemedyPlan, claim: str, edge: LiveEdge) -> dict[str, Any]:
    """The body of the request that holds the plan's limit for one lease."""
    change = plan.change
    limit = {FIELDS[change.name][1]: int(float(change.value or 0))}
    epoch = read_claim(claim).epoch
    return {
        "holder": plan.id,
        "epoch": epoch,
        "leaseSeconds": edge.lease_s,
        "limits": limit,
        "enforce": edge.enforces,
    }


def _all_took(said: Iterable[GatewayResponse]) -> None:
    """Nothing, where every gateway has the limit. Errors: Denied."""
    for one in said:
        if one.status == _STATUS_TAKEN:
            raise Denied(Conflict(one.told))
        if one.status in _STATUS_NO:
            raise Denied(Refused(one.told))
        if one.status != 200:
            raise Denied(Lost(one.told))
