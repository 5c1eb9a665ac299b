"""Observe: the replicas with the change under load, for as long as the plan says, held against its
baseline and against the replicas that serve without it in the same minutes.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace

from barostat.core.window import Window
from barostat.io.kubernetes.client.resources import PODS
from barostat.io.kubernetes.recording.live import Options, PodRecorder
from barostat.io.mitigation.act_context import ActContext
from barostat.io.mitigation.gateway_limits import held, pages
from barostat.io.mitigation.measuring import Following
from barostat.io.mitigation.pod_scrapes import watcher
from barostat.io.mitigation.spares import pods_of_spare
from barostat.io.mitigation.target_reader import Denied, annotation
from barostat.judge.evidence.assemble import windows
from barostat.judge.evidence.recording import Recording, ReplicaRecording
from barostat.judge.mitigation.rotation import shares_of, starved
from barostat.platform.gateway_page import GatewayPage
from barostat.platform.objects import is_going, name_of, text
from barostat.platform.workloads import CanaryKind, NumberedKind
from barostat.remedy.acts import Judged, Lost
from barostat.remedy.annotations import LABELS
from barostat.remedy.state import Do
from barostat.remedy.verify import is_over, verify

TELL_EVERY_S = 30.0
"""Time between messages about a pending verdict."""
MOST_UNCHANGED = 4
"""Replicas without the change that are looked at beside it."""
TO_THE_FIRST_RATE = 2
"""Intervals until the first rate is known: up to one until the next scrape, and one more."""


async def observe(ground: ActContext, do: Do) -> Judged:
    """Return the verdict as soon as it is clear after the sustained time, or can no longer become
    clear in the remaining time.

    Replicas that existed before have a queue to work off: for these only the last part counts, and
    no "worse" is returned before the time is over. Ownership of the target may be unknown for a
    while, as nothing is changed here. Errors: Denied.
    """
    plan, pace = ground.plan, ground.pace
    anew = plan.strategy in ("spare", "in-place", "canary")
    if anew:
        names = (do.pod.name,) if do.pod is not None else await _first_changed(ground)
    else:
        names = tuple(name_of(pod) for pod in await ground.home_pods(await ground.home()))
    eye = watcher(ground, names, Options(for_s=0.0))
    unchanged = await _unchanged(ground, names) if plan.proved_first and anew else ()
    control = watcher(ground, unchanged, Options(for_s=0.0))
    aside = watcher(ground, await _detached(ground) if anew else (), Options(for_s=0.0))
    following = Following(ground, eye)
    former = dict(plan.baseline)
    began = ground.clock.now()
    since = began + min(pace.settle_s, plan.expectation.sustained_s)
    until = began + plan.bounds.verify_s
    judged = Judged("inconclusive", ("nothing was measured",))
    told = since + plan.expectation.sustained_s
    said: list[GatewayPage] = []
    try:
        await eye.choose()
        if unchanged:
            await control.choose_again()
        if aside.wanted.targets:
            await aside.choose_again()
        turn = began
        while True:
            await _unless_lost(ground, do)
            await held(ground, do)
            await asyncio.gather(
                *(looked.look(pace.interval_s) for looked in (eye, control, aside))
            )
            following.take()
            now = ground.clock.now()
            said += await pages(ground, now)
            if not anew:
                since = max(
                    since, now - plan.expectation.sustained_s - TO_THE_FIRST_RATE * pace.interval_s
                )
            for looked in (eye, control, aside):
                for scraper in looked.scrapers.values():
                    scraper.forget_before(since)
            others = [*_windows(_seen(control, now)), *_windows(_seen(aside, now))]
            late = anew and now >= since + pace.pooled_s
            if late and (why := starved(_windows(_seen(eye, now)), others, since)):
                return Judged("inconclusive", (why,))
            if now >= since + plan.expectation.sustained_s:
                recording = replace(
                    (await eye.recording()).recording,
                    gateway_pages=tuple(page for page in said if page.at >= since),
                )
                beside = _windows(_seen(control, now))
                changed = _windows(recording)
                judged = _together(
                    [verify(plan.expectation, former, one, since, beside) for one in changed]
                )
                if others and (says := shares_of(changed, others, since)):
                    judged = replace(judged, reasons=(*judged.reasons, says))
                left_s = until - pace.interval_s - now
                if left_s <= 0 or is_over(judged, left_s, fresh=anew):
                    return judged
                if now - told >= TELL_EVERY_S:
                    told = now
                    ground.tell(
                        f"not clear after {now - began:.0f} s, {until - now:.0f} s left: "
                        f"{'; '.join(judged.reasons)}"
                    )
                turn = max(turn, now + pace.interval_s)
            turn = max(turn + pace.interval_s, ground.clock.now())
            await asyncio.sleep(turn - ground.clock.now())
    finally:
        following.end()
        await eye.rest()
        await control.rest()
        await aside.rest()


async def _unless_lost(ground: ActContext, do: Do) -> None:
    try:
        await ground.checked_home(do)
    except Denied as denied:
        if not isinstance(denied.answer, Lost):
            raise


async def _first_changed(ground: ActContext) -> tuple[str, ...]:
    """The pods of the unit that proves the change. Errors: Denied."""
    plan, kind = ground.plan, ground.kind
    if isinstance(kind, CanaryKind):
        pods = kind.newest_pods(await ground.home(), await ground.lists())
    elif isinstance(kind, NumberedKind):
        place = plan.replicas if plan.strategy == "spare" else plan.replicas - 1
        pods = kind.unit_pods(await ground.home(), await ground.lists(), place)[:1]
    else:
        pods = await pods_of_spare(ground, 0)
    if not pods:
        raise Denied(Lost("the replica with the change has no pod"))
    return tuple(map(name_of, pods))


async def _unchanged(ground: ActContext, changed: tuple[str, ...]) -> tuple[str, ...]:
    """Some of the pods in rotation that do not have the change; none where that cannot be read."""
    try:
        home = await ground.home()
        ready, _ = await ground.in_rotation(home)
        pods = await ground.home_pods(home)
    except Denied:
        return ()
    names = [name_of(pod) for pod in pods if text(pod, "metadata", "uid") in ready]
    return tuple(sorted(set(names) - set(changed))[:MOST_UNCHANGED])


async def _detached(ground: ActContext) -> tuple[str, ...]:
    """The pods that this plan took out of rotation and that are still there: clients may keep their
    connections to them.
    """
    try:
        pods = await ground.listed(PODS, "")
    except Denied:
        return ()
    marked = (pod for pod in pods if annotation(pod, LABELS) and not is_going(pod))
    return tuple(sorted(map(name_of, marked)))[:MOST_UNCHANGED]


def _seen(eye: PodRecorder, at: float) -> Recording:
    """The metrics that it has seen, and nothing else."""
    replicas = [
        ReplicaRecording(pod, scrapes=tuple(scraper.scrapes))
        for pod, scraper in eye.scrapers.items()
        if len(scraper.scrapes) > 1
    ]
    return Recording("", at, tuple(replicas))


def _windows(recording: Recording) -> list[Window]:
    return [
        window
        for replica in recording.replicas
        for window in windows(recording, replica)[0].values()
    ]


def _together(found: list[Judged]) -> Judged:
    """Of several replicas: worse if any is, better if all are."""
    for outcome in ("worse", "inconclusive"):
        if told := [judged for judged in found if judged.outcome == outcome]:
            return told[0]
    return found[0] if found else Judged("inconclusive", ("no replica was there to look at",))
