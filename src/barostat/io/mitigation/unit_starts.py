"""Pods that start with a change: whether they took it, and why they never will be Ready."""

from __future__ import annotations

from dataclasses import dataclass, field

from barostat.io.kubernetes.client.cluster import Object
from barostat.io.mitigation.act_context import ActContext
from barostat.io.mitigation.pod_scrapes import named, resolved
from barostat.io.mitigation.target_reader import Denied
from barostat.platform.objects import condition, count, mapping, name_of, objects, text
from barostat.platform.pod_status import unschedulable
from barostat.platform.pods import engine_container
from barostat.remedy.acts import Failed
from barostat.remedy.state import Do

UNSCHEDULABLE_S = 60.0
"""A pod that no node takes for so long does not get a node in time."""
MOST_RESTARTS = 2
LAST_LOOK_S = 5.0
"""So long before the deadline, the containers beside the engine count, too."""
_NO_IMAGE = (
    "ErrImagePull",
    "ImagePullBackOff",
    "InvalidImageName",
    "ErrImageNeverPull",
    "CreateContainerConfigError",
    "CreateContainerError",
)


@dataclass(slots=True)
class Start:
    """The pods of one unit on their way to Ready. `changed`: a crash of the engine is the change's
    fault.
    """

    ground: ActContext
    do: Do
    changed: bool = True
    _scheduled_at: float = field(init=False)

    def __post_init__(self) -> None:
        self._scheduled_at = self.ground.clock.now()

    async def took_change(self, pod: Object) -> None:
        """Nothing if the pod's engine holds the new value. Errors: Denied, with Failed."""
        if self.changed and (other := await resolved(self.ground, pod)) is not None:
            why = f"the engine of {name_of(pod)} did not take the change: {other}"
            raise Denied(Failed(why, by_change=True))

    async def check(self, home: Object, pods: list[Object]) -> None:
        """Nothing while the pods may still get Ready. Errors: Denied, with Failed."""
        container = engine_container(self.ground.kind.template(home))
        engine = container.name if container is not None else ""
        for pod in pods:
            if (why := _no_image(pod)) is not None:
                raise Denied(Failed(why))
            if (why := _ends(pod, "containerStatuses", engine)) is not None:
                cause = await named(self.ground, pod)
                raise Denied(Failed(f"{why}: {cause}" if cause else why, by_change=self.changed))
            if (why := _ends(pod, "initContainerStatuses")) is not None:
                raise Denied(Failed(why))
            last = self.ground.clock.now() > self.do.until - LAST_LOOK_S
            if last and (why := _ends(pod, "containerStatuses")) is not None:
                raise Denied(Failed(why))  # a companion may end until the engine is there
        waiting = [pod for pod in pods if unschedulable(pod)]
        if not waiting:
            self._scheduled_at = self.ground.clock.now()
        elif self.ground.clock.now() - self._scheduled_at > UNSCHEDULABLE_S:
            message = text(condition(waiting[0], "PodScheduled"), "message")[:200]
            raise Denied(Failed(f"{name_of(waiting[0])} stays Pending: {message}"))

    def said(self) -> str:
        """The note of an answer."""
        change = self.ground.plan.change
        value = change.value if change.value is not None else "absent"
        return f"Ready with {change.name} {value}" if self.changed else "Ready"


def _no_image(pod: Object) -> str | None:
    """Why one of its containers cannot be made."""
    for status in (
        *objects(pod, "status", "initContainerStatuses"),
        *objects(pod, "status", "containerStatuses"),
    ):
        waits = text(status, "state", "waiting", "reason")
        if waits in _NO_IMAGE:
            message = text(status, "state", "waiting", "message")[:200]
            return f"{name_of(pod)}: {waits} {message}".strip()
    return None


def _ends(pod: Object, statuses: str, container: str = "") -> str | None:
    """How that container of it ended again and again; without a name, any of these."""
    for status in objects(pod, "status", statuses):
        looping = text(status, "state", "waiting", "reason") == "CrashLoopBackOff"
        name = text(status, "name")
        restarts = count(status, "restartCount") or 0
        if looping and restarts >= MOST_RESTARTS and container in ("", name):
            ended = mapping(status, "lastState", "terminated")
            which = "" if container else f", container {name},"
            return (
                f"{name_of(pod)}{which} ends again and again ({text(ended, 'reason')}, exit "
                f"code {count(ended, 'exitCode')})"
            )
    return None
