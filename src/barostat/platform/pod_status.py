"""The state of one pod from its status and events: waiting, starting, restarted (with the reason),
killed by probes, out of host memory.

    exit 137 + reason OOMKilled   the container's memory limit (host memory), never the GPU
    exit 137 without it           a SIGKILL: a failed liveness probe, an eviction, a delete, the node's OOM killer. Events tell which

Source: core/v1 PodStatus; kubelet event reasons (Unhealthy, Killing, BackOff, Failed, FailedMount,
Evicted), Kubernetes 1.27 to 1.34.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from barostat.catalog.signals import HISTORY_S
from barostat.core.signal import Signal
from barostat.platform.events import Event
from barostat.platform.objects import (
    Object,
    ago,
    condition,
    count,
    fact,
    instant,
    is_going,
    mapping,
    name_of,
    objects,
    text,
    value,
)
from barostat.platform.pods import Container

_CANNOT_START = {
    "ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull", "RegistryUnavailable", "ImageInspectError",
    "SignatureValidationFailed", "CreateContainerConfigError", "CreateContainerError", "RunContainerError",
}  # fmt: skip
_NEVER_RAN = {"StartError", "ContainerCannotRun"}
_RUNTIMES_FRAME = re.compile(
    r"^(?:failed to create (?:containerd |shim )?task: )+(?:OCI runtime create failed: )?(?:runc create failed: )?"
    r"(?:unable to start container process: )?(?:error during container init: )?(?:error running \w+ hook #\d+: .{0,80}?stderr: )?"
    r"(?:Auto-detected mode as '?\w+'?\s*)?"
)
"""The text that containerd and runc put around their error message."""
_BEING_MADE = {"ContainerCreating", "PodInitializing", ""}
_NOT_MADE_EVENTS = {
    "FailedMount",
    "FailedAttachVolume",
    "FailedCreatePodSandBox",
    "UnexpectedAdmissionError",
}
_PROBE = re.compile(r"\b(Liveness|Readiness|Startup) probe (?:failed|errored)", re.IGNORECASE)
_PROBE_KILL = re.compile(r"failed (liveness|startup) probe", re.IGNORECASE)
_SIGNALS = {134: "SIGABRT", 135: "SIGBUS", 137: "SIGKILL", 139: "SIGSEGV", 143: "SIGTERM"}


@dataclass(frozen=True, slots=True)
class _End:
    """How a container last ended. `fresh`: recently enough to matter now, or it has not come
    back.
    """

    exit_code: int | None
    reason: str
    message: str
    finished_at: float | None
    fresh: bool


def signals(
    pod: Object, container: Container | None, events: Sequence[Event], at: float, events_known: bool
) -> list[Signal]:
    """The pod_* signals of one pod. `events`: those of this pod; `events_known`: an event list was
    given, so silence means something.
    """
    engine = _status(pod, container.name if container else "")
    named = f", container {container.name}" if container and container.name else ""
    source = f"pod {name_of(pod) or '?'}{named}"
    recent = [event for event in events if event.recent(at)]
    end = _last_end(engine, at)
    made = [
        *_scheduling(pod, recent, at, source),
        *_readiness(pod, engine, container, at, source),
        *_failing(pod, engine, recent, at, source),
        *_eviction(pod, recent, at, source),
        *_ends(pod, engine, end, container, recent, at, source),
    ]
    if events_known:
        made += _probes(recent, container, at, source)
    if container is not None and container.shm_bytes is not None:
        made += fact("pod_shm_bytes", container.shm_bytes, at, source)
    return made


def _status(pod: Object, name: str) -> Object:
    statuses = objects(pod, "status", "containerStatuses")
    return next(
        (status for status in statuses if text(status, "name") == name),
        statuses[0] if len(statuses) == 1 else {},
    )


def _last_end(status: Object, at: float) -> _End | None:
    ended = mapping(status, "state", "terminated")
    current = bool(ended)
    ended = ended or mapping(status, "lastState", "terminated")
    if not ended:
        return None
    finished_at = instant(ended, "finishedAt")
    back = bool(mapping(status, "state", "running")) and value(status, "ready") is True
    fresh = current or not back or finished_at is None or at - finished_at <= HISTORY_S
    return _End(
        count(ended, "exitCode"), text(ended, "reason"), text(ended, "message"), finished_at, fresh
    )


def _scheduling(pod: Object, recent: Sequence[Event], at: float, source: str) -> list[Signal]:
    phase = text(pod, "status", "phase")
    if not phase:
        return []
    scheduled = condition(pod, "PodScheduled")
    waits = unschedulable(pod)
    why = text(scheduled, "message") or next(
        (event.message for event in reversed(recent) if event.reason == "FailedScheduling"), ""
    )
    made = fact(
        "pod_pending", float(waits), at, source, (why or "no node is assigned") if waits else ""
    )
    since = instant(pod, "metadata", "creationTimestamp") or instant(
        scheduled, "lastTransitionTime"
    )
    if waits and since is not None:
        made += fact("pod_pending_s", max(0.0, at - since), at, source)
    return made


def unschedulable(pod: Object) -> bool:
    """True if the pod waits for a node."""
    if text(pod, "status", "phase") != "Pending" or text(pod, "spec", "nodeName"):
        return False
    return text(condition(pod, "PodScheduled"), "status") != "True"


def _readiness(
    pod: Object, engine: Object, container: Container | None, at: float, source: str
) -> list[Signal]:
    ready = condition(pod, "Ready")
    if ready:
        is_ready = ready.get("status") == "True"
    elif isinstance(value(engine, "ready"), bool):
        is_ready = engine["ready"] is True
    else:
        return []
    made = fact(
        "pod_not_ready",
        float(not is_ready),
        at,
        source,
        "" if is_ready else _not_ready_detail(pod, ready),
    )
    since = None if value(engine, "ready") is True else _starting_since(pod, engine, ready)
    detail = ""
    if since is not None:
        running = bool(mapping(engine, "state", "running"))
        detail = (
            "runs and is not Ready yet"
            if running
            else f"{text(engine, 'state', 'waiting', 'reason') or 'the container is being made'}"
        )
        startup = container.probes.get("startup") if container else None
        if running and startup and (allowed := _allowed_s(startup)) is not None:
            detail += f"; its startup probe allows {allowed:.0f} s"
    made += fact("pod_starting", float(since is not None), at, source, detail)
    return made + (
        fact("pod_starting_s", max(0.0, at - since), at, source) if since is not None else []
    )


def _not_ready_detail(pod: Object, ready: Object) -> str:
    parts = [text(ready, "reason"), text(ready, "message")]
    if deleted_at := text(pod, "metadata", "deletionTimestamp"):
        parts.append(f"being deleted since {deleted_at}")
    return ": ".join(part for part in parts if part)


def _starting_since(pod: Object, engine: Object, ready: Object) -> float | None:
    """Since when the container has been on its way to its first Ready; None if it is not (it was
    Ready before, or it crashed).
    """
    running = mapping(engine, "state", "running")
    if running:
        started_at = instant(running, "startedAt")
        flipped_at = instant(ready, "lastTransitionTime")
        # Ready that was lost after this start is another matter: the engine had come up.
        was_ready = (
            started_at is not None and flipped_at is not None and flipped_at > started_at + 5.0
        )
        return None if was_ready and value(engine, "started") is not False else started_at
    waiting = mapping(engine, "state", "waiting")
    being_made = (
        text(waiting, "reason") in _BEING_MADE
        and text(pod, "status", "phase") == "Pending"
        and text(pod, "spec", "nodeName")
    )
    if being_made and not mapping(engine, "lastState", "terminated"):
        return instant(pod, "status", "startTime") or instant(
            condition(pod, "PodScheduled"), "lastTransitionTime"
        )
    return None


def _allowed_s(probe: Object) -> float | None:
    """How long a startup probe lets a container start: delay, then failures times period."""
    period, failures = count(probe, "periodSeconds") or 10, count(probe, "failureThreshold") or 3
    return (
        float((count(probe, "initialDelaySeconds") or 0) + period * failures)
        if period > 0 and failures > 0
        else None
    )


def _failing(
    pod: Object, engine: Object, recent: Iterable[Event], at: float, source: str
) -> list[Signal]:
    """Crash loops, and containers that cannot be made; those of init containers too."""
    looping: list[str] = []
    unmade: list[str] = []
    seen = False
    for status, title in [
        (engine, ""),
        *(
            (status, f"init container {text(status, 'name')}: ")
            for status in objects(pod, "status", "initContainerStatuses")
        ),
    ]:
        seen = seen or bool(mapping(status, "state"))
        if mapping(status, "state", "running"):
            continue
        waiting, ended = mapping(status, "state", "waiting"), mapping(status, "state", "terminated")
        last = ended or mapping(status, "lastState", "terminated")
        reason = text(waiting, "reason")
        words = (
            f"{title}{reason or text(last, 'reason')}: {_ending(last)} "
            f"{text(last, 'message') or text(waiting, 'message')}"
        ).strip()
        again = (count(status, "restartCount") or 0) >= 1 and (count(ended, "exitCode") or 0) != 0
        if text(last, "reason") in _NEVER_RAN or reason in _CANNOT_START:
            said = _RUNTIMES_FRAME.sub("", text(waiting, "message") or text(last, "message"))
            unmade.append(f"{title}{reason or text(last, 'reason')}: {said}")
        elif reason == "CrashLoopBackOff" or again:
            looping.append(words)
    if text(pod, "status", "reason") in _NOT_MADE_EVENTS:
        unmade.append(f"{text(pod, 'status', 'reason')}: {text(pod, 'status', 'message')}")
    if not mapping(engine, "state", "running") and text(pod, "status", "phase") == "Pending":
        unmade += [
            f"{event.reason}: {event.message}"
            for event in recent
            if event.reason in _NOT_MADE_EVENTS
        ][-1:]
    if not seen and not unmade:
        return []
    return [
        *fact("pod_crash_looping", float(bool(looping)), at, source, "; ".join(looping)),
        *fact("pod_image_error", float(bool(unmade)), at, source, "; ".join(unmade)),
    ]


def _ending(ended: Object) -> str:
    code = count(ended, "exitCode")
    reason = text(ended, "reason")
    return f"last end {reason or 'without a reason'}, exit {code}." if code is not None else ""


def _eviction(pod: Object, recent: Iterable[Event], at: float, source: str) -> list[Signal]:
    disruption = condition(pod, "DisruptionTarget")
    why = ""
    if text(pod, "status", "reason") == "Evicted":
        why = text(pod, "status", "message") or "evicted"
    elif disruption.get("status") == "True" and disruption.get("reason") == "TerminationByKubelet":
        why = text(disruption, "message") or "ended by the kubelet for lack of resources"
    else:
        why = next(
            (f"Evicted: {event.message}" for event in recent if event.reason == "Evicted"), ""
        )
    return (
        fact("pod_evicted", float(bool(why)), at, source, why)
        if text(pod, "status", "phase") or why
        else []
    )


def _ends(
    pod: Object,
    engine: Object,
    end: _End | None,
    container: Container | None,
    recent: Sequence[Event],
    at: float,
    source: str,
) -> list[Signal]:
    """Restarts, host OOM kills and the last exit code. What ended long ago and runs since is told
    and not counted.
    """
    restarts = count(engine, "restartCount")
    made: list[Signal] = []
    inits = [
        ended
        for status in objects(pod, "status", "initContainerStatuses")
        if (ended := _init_oom(status))
    ]
    if restarts is not None:
        old = restarts > 0 and end is not None and not end.fresh
        detail = _restart_detail(restarts, end, pod, recent, at) if restarts else ""
        made += fact("pod_restarts", 0.0 if old else float(restarts), at, source, detail)
        killed = end is not None and end.fresh and end.reason == "OOMKilled"
        limit = container.limits.get("memory") if container else None
        when = _ago(end, at, ", {} ago") if end else ""
        code = end.exit_code if end else None
        words = (
            f"OOMKilled, exit {code}, limit {limit or 'none'}{when}" if killed else "; ".join(inits)
        )
        made += fact("pod_oom_killed", float(killed or bool(inits)), at, source, words)
    if end is not None and end.fresh and end.exit_code is not None:
        made += fact(
            "pod_last_exit_code",
            float(end.exit_code),
            at,
            source,
            exit_meaning(end.exit_code, end.reason, pod, recent),
        )
    return made


def _ago(end: _End, at: float, words: str) -> str:
    """How long ago it ended. Empty if nothing newer is recorded: `kubectl describe` states no time
    of its own.
    """
    if end.finished_at is None or end.finished_at >= at:
        return ""
    return words.format(ago(at - end.finished_at))


def _init_oom(status: Object) -> str:
    """An init container that host memory ended and that has not got through since."""
    now = mapping(status, "state", "terminated")
    ended = now or mapping(status, "lastState", "terminated")
    through = bool(now) and count(now, "exitCode") == 0
    return (
        f"init container {text(status, 'name')}: OOMKilled"
        if ended.get("reason") == "OOMKilled" and not through
        else ""
    )


def _restart_detail(
    restarts: int, end: _End | None, pod: Object, recent: Sequence[Event], at: float
) -> str:
    said = f"{restarts} restart{'s' if restarts > 1 else ''}"
    if end is None:
        return said
    when = _ago(end, at, ", the last {} ago")
    meaning = (
        exit_meaning(end.exit_code, end.reason, pod, recent)
        if end.exit_code is not None
        else end.reason
    )
    return f"{said}{when}: {meaning}"


def exit_meaning(code: int, reason: str, pod: Object, recent: Iterable[Event]) -> str:
    """Return the meaning of an exit code, with the sender of a SIGKILL if events name it."""
    shown = f"{reason or 'Error'}, exit {code}"
    if reason == "OOMKilled":
        return f"{shown}: the container's memory limit (host memory, not the GPU)"
    if code != 137:
        return f"{shown} ({_SIGNALS[code]})" if code in _SIGNALS else shown
    for event in recent:
        if event.reason == "Killing" and (probe := _PROBE_KILL.search(event.message)):
            return f"{shown} (SIGKILL): ended after a failed {probe[1].lower()} probe"
    if text(pod, "status", "reason") == "Evicted" or any(
        event.reason == "Evicted" for event in recent
    ):
        return f"{shown} (SIGKILL): evicted from its node"
    if is_going(pod):
        return f"{shown} (SIGKILL): the pod is being deleted"
    return (
        f"{shown} (SIGKILL), and not by the container's memory limit: a probe, an eviction, a "
        "delete or the node's OOM killer"
    )


def _probes(
    recent: Iterable[Event], container: Container | None, at: float, source: str
) -> list[Signal]:
    failures: dict[str, int] = {}
    last = ""
    kills = 0
    kill_words = ""
    for event in recent:
        if (
            container
            and event.field_path.endswith("}")
            and not event.field_path.endswith(f"{{{container.name}}}")
        ):
            continue
        if event.reason == "Killing" and _PROBE_KILL.search(event.message):
            kills += event.times
            kill_words = event.message
        elif event.reason in ("Unhealthy", "ProbeWarning") and (
            probe := _PROBE.search(event.message)
        ):
            failures[probe[1].lower()] = failures.get(probe[1].lower(), 0) + event.times
            last = event.message
    counts = ", ".join(f"{kind} {number}" for kind, number in sorted(failures.items()))
    return [
        *fact(
            "pod_probe_failures",
            float(sum(failures.values())),
            at,
            f"events of {source}",
            f"{counts}; last: {last}" if failures else "",
        ),
        *fact("pod_probe_kills", float(kills), at, f"events of {source}", kill_words),
    ]
