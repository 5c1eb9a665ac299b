"""What the machine asks of the world, and what the world can answer. `io` performs an act as
written here and decides nothing itself.

Every act says what should be true afterwards, so that sending it again changes nothing. Before it
writes, io checks the claim and what the act names as found; after it wrote, the object carries the
act's key (annotation `barostat.dev/step`), also where nothing else had to change: a late copy of an
earlier request then no longer fits the resourceVersion. A new command ends whatever is still waited
for.

The labels that come off a pod are kept on it (annotation `barostat.dev/labels`), so that they can
go on again from any machine.

    home     the Deployment that the plan is for            spare-K  a Deployment of one replica that we made, with the new template
    slot     a name for one pod: `home-K`, `spare-K`, `surplus`; which pod it is stands in the state and in the record
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Outcome = Literal["better", "worse", "inconclusive"]


@dataclass(frozen=True, slots=True)
class PodRef:
    """One pod, and no later one of the same name."""

    name: str
    uid: str


@dataclass(frozen=True, slots=True)
class Gather:
    """Reads: everything that `precheck.Facts` holds is known. Answer: Gathered."""


@dataclass(frozen=True, slots=True)
class ClaimHome:
    """Home's annotation `barostat.dev/claim` is this claim.

    Fits: no claim, and a home as the plan found it, its `barostat.dev/ended` (the plan's parent)
    included; a claim of this incident with a lower epoch; this very one. Else Conflict. A later
    run's is Done when nothing that an earlier one sent can still arrive.
    """


@dataclass(frozen=True, slots=True)
class ReleaseHome:
    """Home carries no claim of this incident, of this epoch or an earlier one; somebody else's
    claim stays.

    `barostat.dev/ended` names the incident instead: a run of it, or of an earlier one, that was
    only asleep cannot claim again.
    """


@dataclass(frozen=True, slots=True)
class PauseOwner:
    """The owner with that number in the plan leaves home alone, by its own switch; home's
    `barostat.dev/paused` notes how it was before.

    Noted before it is paused, and once: whom an earlier incident has paused stays noted as it was
    then.
    """

    index: int


@dataclass(frozen=True, slots=True)
class ResumeOwner:
    """The owner with that number has home again as it was before anybody of ours paused it, and is
    noted no more; gone is fine.
    """

    index: int


@dataclass(frozen=True, slots=True)
class CreateSpare:
    """The spare Deployment exists: the new template, one replica, selector and labels of our own,
    no label that a Service selects on.

    What a mounted file sets is changed by an argument, which is stronger: others may share that
    ConfigMap.
    """

    index: int


@dataclass(frozen=True, slots=True)
class AwaitSpare:
    """Waits: its pod is Ready and the engine resolved the new value. Answer: Done with the pod;
    Failed where it cannot be (says why).
    """

    index: int

    @property
    def slot(self) -> str:
        """The slot that its pod fills."""
        return f"spare-{self.index}"


@dataclass(frozen=True, slots=True)
class DeleteSpare:
    """The spare Deployment and its pod are gone, the GPU is free. Refused while its pod is in
    rotation. Gone already is fine.
    """

    index: int


@dataclass(frozen=True, slots=True)
class JoinRotation:
    """The spare's pod carries the Services' labels and stands ready in their EndpointSlices."""

    slot: str


@dataclass(frozen=True, slots=True)
class LeaveRotation:
    """The spare's pod lacks the Services' labels and has left the EndpointSlices; gone or never
    joined is fine.

    Refused where fewer than `serving` others would be left.
    """

    slot: str
    serving: int


@dataclass(frozen=True, slots=True)
class PickReplica:
    """Reads: one replica of home is chosen: one that does not serve, else the least busy in
    rotation. Answer: Done with the pod.
    """

    slot: str


@dataclass(frozen=True, slots=True)
class PickSurplus:
    """Reads: of home's pods beyond `over` one is chosen: one that does not serve, else the newest.

    Answer: Done with the pod, or without one where home owns no more than that.
    """

    slot: str
    over: int


@dataclass(frozen=True, slots=True)
class Detach:
    """The pod lacks the Services' labels, its ReplicaSet has released it (no controller), and it
    has left the EndpointSlices.

    Refused where fewer than `serving` others would be left, and where the pod is not home's.
    """

    slot: str
    serving: int


@dataclass(frozen=True, slots=True)
class PutBack:
    """Home has `replicas` replicas again, this pod among them if it is missed.

    Attached: only the key is written. Detached and home lacks a Ready one: its labels are as they
    were, it is adopted, and in rotation if it is Ready. Detached and home is whole without it: it
    is drained, as long as the plan allows, and deleted.
    """

    slot: str
    replicas: int


@dataclass(frozen=True, slots=True)
class ScaleHome:
    """Home asks for `to` replicas. Found: `former`, or `to` already; else Conflict.

    Downwards it is Refused while more than `to` of home's pods are Ready: only what never served is
    taken away, and it is marked with the lowest `controller.kubernetes.io/pod-deletion-cost` first,
    should it get Ready in that very moment.
    """

    former: int
    to: int


@dataclass(frozen=True, slots=True)
class AwaitHome:
    """Waits: `ready` replicas of home are Ready and in rotation. Failed where that cannot be."""

    ready: int


@dataclass(frozen=True, slots=True)
class AwaitDrained:
    """Waits: the pod's own metrics show no request running or waiting, twice. Gone is fine.

    Its deadline is no failure: the plan says what happens then.
    """

    slot: str


@dataclass(frozen=True, slots=True)
class DeletePod:
    """The detached pod is gone. Refused while it has a controller or stands in rotation. Answer:
    Done, with the requests that it cut.
    """

    slot: str


@dataclass(frozen=True, slots=True)
class PatchTemplate:
    """Home's template holds the plan's change, by our field manager. `back`: the former value
    instead.

    Refused while home owns a pod or asks for one.
    """

    back: bool = False


@dataclass(frozen=True, slots=True)
class UndoRollout:
    """Home's template is again that of the revision whose pods serve, while a rollout is stuck; the
    controllers do the rest.

    Refused while a pod of the newest revision serves: the controllers would delete it in rotation.
    `back`: the template that was stuck, as it was found; Refused where the rollout may take away
    replicas that serve.
    """

    back: bool = False


@dataclass(frozen=True, slots=True)
class WriteLimits:
    """The target's limits (ConfigMap) are the plan's; `back`: the former ones."""

    back: bool = False


@dataclass(frozen=True, slots=True)
class TightenGateway:
    """The gateways before home go by the plan's limit, under a lease that this run renews while it
    lives; `back`: by none of its incident.

    Each write carries the run's epoch: a gateway that has heard a later run of the incident refuses
    what an earlier one has on its way. Back is Done as well where a gateway does not answer for as
    long as the lease may last: it has then run out by itself.
    """

    back: bool = False


@dataclass(frozen=True, slots=True)
class AwaitCalm:
    """Waits, with the lease renewed: so little comes that the limit is not needed any more
    (`LiveEdge`).

    Its deadline is no failure: the limit is taken back then.
    """


@dataclass(frozen=True, slots=True)
class Observe:
    """Watches what the plan says under load, for as long as it says. Answer: Judged."""


Act = (
    Gather | ClaimHome | ReleaseHome | PauseOwner | ResumeOwner | CreateSpare | AwaitSpare | DeleteSpare | JoinRotation | LeaveRotation
    | PickReplica | PickSurplus | Detach | PutBack | ScaleHome | AwaitHome | AwaitDrained | DeletePod | PatchTemplate | UndoRollout
    | WriteLimits | TightenGateway | AwaitCalm | Observe
)  # fmt: skip

READS = (Gather, AwaitSpare, PickReplica, PickSurplus, AwaitHome, AwaitDrained, AwaitCalm, Observe)
"""Acts that change nothing outside: they need no record before them."""
WAITS = (AwaitSpare, AwaitHome, AwaitDrained, AwaitCalm)
"""Acts that take as long as the world takes; their deadline is the plan's, and passing it is no
lost answer.
"""


@dataclass(frozen=True, slots=True)
class Done:
    """It is so. `pod`: the one that a slot now names. `note`: for the timeline (requests cut, a pod
    that was no longer missed).
    """

    pod: PodRef | None = None
    note: str = ""


@dataclass(frozen=True, slots=True)
class Refused:
    """It was not done: a precondition does not hold, a right is missing, admission or quota said
    no. It is undone all the same.
    """

    why: str


@dataclass(frozen=True, slots=True)
class Conflict:
    """It was not done: the object is not as we left it, or the claim is not ours."""

    why: str


@dataclass(frozen=True, slots=True)
class Failed:
    """What is waited for will not come: unschedulable, a crash loop, an image that cannot be
    pulled.

    `by_change`: the engine itself ended with the change; no other place and no other time would do.
    """

    why: str
    by_change: bool = False


@dataclass(frozen=True, slots=True)
class Lost:
    """No answer. It took effect or never will: io says so only when the connection is gone and the
    server's own time for it is over.
    """

    why: str


@dataclass(frozen=True, slots=True)
class Judged:
    """What the observation comes to, with the reasons that a person reads."""

    outcome: Outcome
    reasons: tuple[str, ...] = ()
