"""Looking at single pods while a plan is carried out: what their engines resolved, what runs in
them, how they do for a while.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass

from barostat.catalog import metric_names
from barostat.catalog.settings.table import canonical_name
from barostat.core.window import Window
from barostat.engines.vllm.command_line.config import read_value
from barostat.engines.vllm.metrics import signals as metrics
from barostat.io.engine_http.http import Answer
from barostat.io.kubernetes.client.cluster import Object
from barostat.io.kubernetes.recording.live import Options, PodRecorder
from barostat.io.kubernetes.recording.pod_route import PodRoute
from barostat.io.kubernetes.recording.target import Wanted
from barostat.io.mitigation.act_context import ActContext
from barostat.io.mitigation.target_reader import Denied, controller, is_ready
from barostat.judge.diagnosis.diagnose import diagnose
from barostat.judge.evidence.assemble import windows
from barostat.judge.evidence.endpoint import endpoints
from barostat.judge.evidence.recording import Recording
from barostat.platform.objects import is_going, name_of
from barostat.remedy.acts import NOTHING_CUT, Cut, Lost

ASK_S = 8.0
BY_ITSELF = -1
"""What `auto` of a length reads as: the engine finds a number of its own."""
AUTO = "auto"
_ALSO_CALLED = {"half": "float16", "float": "float32", "fp8": "fp8_e4m3"}
"""What the engine's log calls a value that has two names. Source: vLLM 0.32.0
_STR_DTYPE_TO_TORCH_DTYPE, CacheDType.
"""
UNDER_WAY = (*metric_names.RUNNING, *metric_names.WAITING)
ENDED = tuple(f"{name}_total" for name in metric_names.FINISHED)


def watcher(ground: ActContext, pods: tuple[str, ...], options: Options) -> PodRecorder:
    """Return a recorder for these pods in the context's cluster."""
    wanted = Wanted(tuple(f"pod/{pod}" for pod in pods), namespace=ground.namespace)
    return PodRecorder(ground.cluster, wanted, options, ground.clock, lambda _: None)


def of_home(ground: ActContext) -> PodRecorder:
    """Return a recorder for the target's current pods."""
    wanted = Wanted((ground.kind.typed(ground.plan.target.name),), namespace=ground.namespace)
    return PodRecorder(ground.cluster, wanted, Options(for_s=0.0), ground.clock, lambda _: None)


@dataclass(frozen=True, slots=True)
class Activity:
    """Requests of a pod's engine at an instant. `under_way`: run or wait. `came`: up to now, also
    those that have ended; None if the engine does not count them.
    """

    under_way: float
    came: float | None


async def activity_of(ground: ActContext, pod: Object) -> Activity | None:
    """The pod's requests by its own metrics, or None if it does not tell."""
    door = PodRoute(ground.cluster, ground.namespace, name_of(pod), name_of(pod), endpoints(pod))
    try:
        answer = await door.ask("/metrics", within_s=ASK_S)
    finally:
        await door.close()
    if not isinstance(answer, Answer) or answer.status != 200 or answer.cut:
        return None
    read = metrics.read(answer.text)
    found = [sample.value for name in UNDER_WAY for sample in read.named(name)]
    ended = [sample.value for name in ENDED for sample in read.named(name)]
    if not found:
        return None
    return Activity(sum(found), sum(found) + sum(ended) if ended else None)


async def requests_in(ground: ActContext, pod: Object) -> float | None:
    """Requests that run or wait in the pod's engine, or None if it does not tell."""
    found = await activity_of(ground, pod)
    return found.under_way if found is not None else None


async def requests_cut(ground: ActContext, *pods: Object) -> tuple[Cut, str]:
    """Return how many requests the end of these pods cuts off at most: those running just before,
    and those that clients still send; and a note about such clients, empty for none.

    Some of them complete in the second or two until the engine stops.
    """
    cut, notes = NOTHING_CUT, []
    for pod in filter(is_ready, pods):
        found = await activity_of(ground, pod)
        if found is None:
            cut += Cut(unknown_pods=1)
            continue
        await asyncio.sleep(ground.pace.poll_s)  # none under way at one instant is no sign of none
        later = await activity_of(ground, pod) or found
        came = (later.came or 0.0) - (found.came or 0.0)
        cut += Cut(round(max(found.under_way, later.under_way, came)))
        if came > 0:
            per_s = came / ground.pace.poll_s
            notes.append(
                f"its clients still sent {per_s:.0f} requests/s to {name_of(pod)}, which failed "
                "until it was gone"
            )
    return cut, "; ".join(notes)


async def cut_by_owner(ground: ActContext, pods: Iterable[Object]) -> tuple[Cut, str]:
    """The same for those of the pods that their owner deletes once the act is written; one that it
    has released stays until we delete it.
    """
    return await requests_cut(
        ground, *(pod for pod in pods if controller(pod) and not is_going(pod))
    )


async def resolved(ground: ActContext, pod: Object) -> str | None:
    """None if the pod's engine holds the plan's new value, by its metrics, log or arguments; else
    what it holds.

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
        raise Denied(
            Lost(
                f"the engine of {name_of(pod)} could not be asked: "
                f"{'; '.join(recording.problems)[:200]}"
            )
        )
    if change.value is None:
        given = found is not None and found.provenance in ("flag", "config-file", "log")
        return f"{change.name} is still {found.value}" if given and found is not None else None
    if found is None:
        return f"{change.name} is not among what it resolved"
    if change.value == AUTO or read_value(canonical_name(change.name), change.value) == BY_ITSELF:
        return None
    return (
        None
        if _same(str(found.value), change.value)
        else f"{change.name} is {found.value} ({found.source})"
    )


async def named(ground: ActContext, pod: Object) -> str:
    """Why the pod does not serve, as a diagnosis names it; empty if it does not tell."""
    eye = watcher(ground, (name_of(pod),), Options(for_s=0.0))
    try:
        await eye.window()
        report = diagnose((await eye.recording()).recording)
    finally:
        await eye.rest()
    return next(
        (
            f"{found.diagnosis.cause}. {found.diagnosis.summary}"
            for found in report.replicas
            if found.diagnosis.cause != "unknown"
        ),
        "",
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
        return _plain(one) == _plain(other)


def _plain(value: str) -> str:
    """Normalise an argument's value: `torch.float16` and `half` are equal, and awq is computed by
    `awq_marlin`.
    """
    name = value.lower().removeprefix("torch.").removesuffix("_marlin")
    return _ALSO_CALLED.get(name, name)
