"""Acts at gateways: put a temporary limit in force, renew it, and remove it when it is no longer
needed.
"""

from __future__ import annotations

import asyncio
from functools import partial

from barostat.core.errors import OutsideError
from barostat.core.window import Window
from barostat.io.kubernetes.recording.live import PodRecorder
from barostat.io.mitigation.act_context import ActContext
from barostat.io.mitigation.gateway_hold import GatewayHold, edge_of
from barostat.io.mitigation.measuring import Following
from barostat.io.mitigation.pod_scrapes import of_home
from barostat.io.mitigation.target_reader import Denied
from barostat.judge.evidence.assemble import windows
from barostat.judge.evidence.recording import Recording, ReplicaRecording
from barostat.judge.mitigation.gateways import is_calm
from barostat.platform.gateway_page import GatewayPage
from barostat.remedy.acts import Done, Lost, Refused, TightenGateway
from barostat.remedy.state import Do

TELL_EVERY_S = 60.0


def _hold(ground: ActContext) -> GatewayHold:
    if ground.hold is None:
        raise Denied(Refused("the gateways' token was not given: --gateway-token-file FILE"))
    return ground.hold


async def held(ground: ActContext, do: Do) -> None:
    """Keep the plan's limit in force during a wait; set it again if another run has replaced it.
    Errors: Denied.
    """
    if ground.plan.edge is not None:
        hold = _hold(ground)
        try:
            await hold.ensure(ground.plan, do.claim, partial(ground.claimed_home, do))
        except Denied as denied:
            if not isinstance(denied.answer, Lost) or hold.put_at is None:
                raise


async def tighten(ground: ActContext, do: Do, act: TightenGateway) -> Done:
    """Perform Perform TightenGateway. Errors: Denied."""
    hold = _hold(ground)
    if act.back:
        await ground.claimed_home(do)
        return Done(note=await hold.take_back(ground.plan, do.claim))
    await ground.checked_home(do)
    return Done(note=await hold.ensure(ground.plan, do.claim, partial(ground.claimed_home, do)))


async def pages(ground: ActContext, at: float) -> tuple[GatewayPage, ...]:
    """Scrape the plan's gateways; empty if there are none or none responds."""
    if ground.hold is None or ground.plan.edge is None:
        return ()
    try:
        return await ground.hold.doors.pages(ground.plan.edge.gateways, at)
    except OutsideError:
        return ()


async def await_calm(ground: ActContext, do: Do) -> Done:
    """Perform AwaitCalm: watch the target's engines and the gateways until they have been calm for
    long enough. Errors: Denied.
    """
    edge, pace = edge_of(ground.plan), ground.pace
    began = ground.clock.now()
    eye = of_home(ground)
    following = Following(ground, eye)
    seen: list[GatewayPage] = []
    told = began
    try:
        while True:
            await ground.claimed_home(do)
            await held(ground, do)
            await eye.choose()
            await eye.look(pace.interval_s)
            following.take()
            now = ground.clock.now()
            since = max(began, now - edge.calm_s - pace.interval_s)
            seen = [*(page for page in seen if page.at >= since), *await pages(ground, now)]
            for scraper in eye.scrapers.values():
                scraper.forget_before(since)
            found = _windows(eye, seen, now)
            calm, why = is_calm(edge, found, since)
            if calm and now - began >= edge.calm_s:
                return Done(note=why)
            if now - told >= TELL_EVERY_S:
                told = now
                ground.tell(f"held for {(now - began) / 60:.0f} min: {why}")
            await asyncio.sleep(max(0.0, now + pace.interval_s - ground.clock.now()))
    finally:
        following.end()
        await eye.rest()


def _windows(eye: PodRecorder, seen: list[GatewayPage], at: float) -> list[Window]:
    """Return a window of each engine, from its scrapes and the gateways' metrics alone, because
    this runs for hours.
    """
    replicas = tuple(
        ReplicaRecording(name, scrapes=tuple(scraper.scrapes))
        for name, scraper in eye.scrapers.items()
    )
    recording = Recording("", at, replicas, gateway_pages=tuple(seen))
    return [window for replica in replicas for window in windows(recording, replica)[0].values()]
