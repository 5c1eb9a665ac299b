"""Looking at single pods while a plan is carried out: what their engines resolved, what runs in them, how they do for a while."""

from __future__ import annotations

import re

from barostat.catalog.vllm_flags import canonical_name
from barostat.core.window import Window
from barostat.engines.vllm import metrics
from barostat.io.http import Answer
from barostat.io.kubernetes.cluster import Object
from barostat.io.kubernetes.live import Options, Watcher
from barostat.io.kubernetes.pod_door import PodDoor
from barostat.io.kubernetes.target import Wanted
from barostat.io.remedy.ground import Denied, Ground, is_ready
from barostat.judge.assemble import windows
from barostat.judge.diagnose import diagnose
from barostat.judge.endpoint import endpoints
from barostat.judge.recording import Recording
from barostat.platform.objects import name_of
from barostat.remedy.acts import Lost

ASK_S = 8.0
_RUNNING = re.compile(rb"^vllm:num_requests_(?:running|waiting)(?:\{[^}]*\})? ([0-9.eE+]+)", re.MULTILINE)


def watcher(ground: Ground, pods: tuple[str, ...], options: Options) -> Watcher:
    """What looks at these pods, within the ground's own cluster."""
    wanted = Wanted(tuple(f"pod/{pod}" for pod in pods), namespace=ground.namespace)
    return Watcher(ground.cluster, wanted, options, ground.clock, lambda _: None)


async def requests_in(ground: Ground, pod: Object) -> float | None:
    """Requests that run or wait in the pod's engine by its own metrics, or None where it does not tell."""
    door = PodDoor(ground.cluster, ground.namespace, name_of(pod), name_of(pod), endpoints(pod))
    try:
        answer = await door.ask("/metrics", within_s=ASK_S)
    finally:
        await door.close()
    if not isinstance(answer, Answer) or answer.status != 200 or answer.cut:
        return None
    found = _RUNNING.findall(answer.body)
    return sum(map(float, found)) if found else None


async def requests_cut(ground: Ground, pod: Object) -> str:
    """How many requests the pod's end may cut, for the timeline: those under way just before it. Empty for none.

    Some of them end well in the second or two until the engine is told to stop.
    """
    if not is_ready(pod):
        return ""
    found = await requests_in(ground, pod)
    if found is None:
        return "whether requests were cut is not known: its metrics did not answer"
    return f"at most {found:.0f} {'request was' if found == 1 else 'requests were'} cut" if found else ""


async def resolved(ground: Ground, pod: Object) -> str | None:
    """None if the pod's engine holds the plan's new value, by its metrics, log or arguments; else what it holds.

    Errors: Denied, where the engine could not be asked.
    """
    change = ground.plan.change
    if change.kind not in ("argument", "config-file"):
        return None
    eye = watcher(ground, (name_of(pod),), Options(for_s=0.0))
    try:
        await eye.window()
        recording = (await eye.recording()).recording
    finally:
        await eye.rest()
    window = only_window(recording, name_of(pod))
    found = window.config.get(canonical_name(change.name)) if window is not None else None
    asked = any(replica.scrapes for replica in recording.replicas)
    if window is None or (found is None and change.value is not None and not asked):
        raise Denied(Lost(f"the engine of {name_of(pod)} could not be asked: {'; '.join(recording.problems)[:200]}"))
    if change.value is None:
        given = found is not None and found.provenance in ("flag", "config-file", "log")
        return f"{change.name} is still {found.value}" if given and found is not None else None
    if found is None:
        return f"{change.name} is not among what it resolved"
    return None if _same(str(found.value), change.value) else f"{change.name} is {found.value} ({found.source})"


async def named(ground: Ground, pod: Object) -> str:
    """Why the pod does not serve, as a diagnosis names it; empty where it does not tell."""
    eye = watcher(ground, (name_of(pod),), Options(for_s=0.0))
    try:
        await eye.window()
        report = diagnose((await eye.recording()).recording)
    finally:
        await eye.rest()
    return next(
        (f"{found.diagnosis.cause}. {found.diagnosis.summary}" for found in report.replicas if found.diagnosis.cause != "unknown"), ""
    )


def only_window(recording: Recording, pod: str) -> Window | None:
    """The window of that pod's engine (the first, where it has several)."""
    for replica in recording.replicas:
        if replica.name == pod:
            return next(iter(windows(recording, replica)[0].values()), None)
    return None


def is_vllm(text: str) -> bool:
    """True for a page of vLLM's metrics."""
    return metrics.read(text).is_vllm


def _same(one: str, other: str) -> bool:
    try:
        return float(one) == float(other)
    except ValueError:
        return one.lower() == other.lower()
