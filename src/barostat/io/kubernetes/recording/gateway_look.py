"""Gateways looked at for as long as their engines are: their pages of metrics, at the same
interval.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

from barostat.core.errors import OutsideError
from barostat.io.clock import Clock
from barostat.io.kubernetes.recording.gateway_door import GatewayDoors
from barostat.platform.gateway_page import GatewayPage
from barostat.remedy.plan import GatewayRef


@dataclass(slots=True)
class GatewayLook:
    """The metrics of the gateways in front of one target from `begin` to `end`. `pages`: so far.
    `why`: why gateways could not be searched for.
    """

    doors: GatewayDoors
    clock: Clock
    interval_s: float
    pages: list[GatewayPage] = field(default_factory=list)
    why: str = ""
    _refs: tuple[GatewayRef, ...] = ()
    _task: asyncio.Task[None] | None = None

    async def begin(self) -> None:
        """Find the gateways and start observing them. Problems are not errors; they are reported in
        `why`.
        """
        try:
            self._refs = tuple(await self.doors.find())
        except OutsideError as error:
            self.why = str(error)
        if self._refs:
            self._task = asyncio.create_task(self._look())

    async def end(self) -> tuple[GatewayPage, ...]:
        """All pages, with a last one of now."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
            self._task = None
            await self._once()
        return tuple(self.pages)

    async def _look(self) -> None:
        while True:
            began = self.clock.now()
            await self._once()
            await asyncio.sleep(max(0.0, began + self.interval_s - self.clock.now()))

    async def _once(self) -> None:
        try:
            self.pages += await self.doors.pages(self._refs, self.clock.now())
        except OutsideError as error:
            self.why = str(error)
