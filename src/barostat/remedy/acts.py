"""The acts that the machine asks for, and the answers that the world can give.

`io` performs an act as it is written here and decides nothing itself. An act says what is true
afterwards, so that sending it twice changes nothing. Before a write, io checks the claim and every
value that the act names as former; the written object carries the act's key (annotation
`barostat.dev/step`), so that a late copy of an earlier request no longer fits its resourceVersion.
A new command ends the wait for the one before.

The labels that come off a pod are kept on it (annotation `barostat.dev/labels`), so that any machine
can put them back.

    home     the object that the plan is for: a Deployment, a StatefulSet, an InferenceService ...
    slot     a name for one pod (`home-K`, `spare-K`, `unit-K`, `canary`); the state and the record say which pod it is
    unit     what home replaces at a time: a pod, or a group of pods that serve as one engine
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Outcome = Literal["better", "worse", "inconclusive"]
Next = Literal["change", "former", "nothing"]
"""What home's owner makes where a unit was: one with the change, a former one, none."""


@dataclass(frozen=True, slots=True)
class PodRef:
    """One pod, and no later one of the same name."""

    name: str
    uid: str


@dataclass(frozen=True, slots=True)
class Gather:
    """Read everything that `precheck.Facts` holds. Answer: Gathered."""


@dataclass(frozen=True, slots=True)
class ClaimHome:
    """Home's annotation `barostat.dev/claim` is this claim.

    Allowed: no claim, and home as the plan found it, its `barostat.dev/ended` (the plan's parent)
    included; a claim of this incident with a lower epoch; this very claim. Else Conflict. The claim
    of a later run is Done when nothing that an earlier run sent can still arrive.
    """


@dataclass(frozen=True, slots=True)
class ReleaseHome:
    """Home carries no claim of this incident of this epoch or an earlier one; a claim of another
    run is kept.

    `barostat.dev/ended` names the incident instead, so that a run of it that was only asleep cannot
    claim again.
    """


@dataclass(frozen=True, slots=True)
class PauseOwner:
    """The owner with that number in the plan leaves home alone, by its own switch.

    Home's `barostat.dev/paused` notes the owner's former state first, and once: an owner that an
    earlier incident paused stays noted as it was then.
    """

    index: int


@dataclass(frozen=True, slots=True)
class ResumeOwner:
    """The owner with that number is as it was before any of our incidents paused it, and is no
    longer noted. Done if the owner is gone.
    """

    index: int


@dataclass(frozen=True, slots=True)
class CreateSpare:
    """The spare exists: the new template, one replica, a selector and labels of our own, no label
    that a Service selects on. The first spare of a plan with a `previous` unit is that unit, if it
    still runs: it does not end by itself any more.

    A value from a mounted file is overruled by an argument: other pods may share that ConfigMap.
    """

    index: int


@dataclass(frozen=True, slots=True)
class AwaitSpare:
    """Wait until the spare's pod is Ready and its engine resolved the new value. Answer: Done with
    the pod, or Failed with the reason.
    """

    index: int

    @property
    def slot(self) -> str:
        """The slot that its pod fills."""
        return f"spare-{self.index}"


@dataclass(frozen=True, slots=True)
class DeleteSpare:
    """The spare and its pod are gone, its GPU is free. Refused while its pod is in rotation."""

    index: int


@dataclass(frozen=True, slots=True)
class JoinRotation:
    """The spare's pod carries the Services' labels and is ready in their EndpointSlices."""

    slot: str


@dataclass(frozen=True, slots=True)
class LeaveRotation:
    """The pod lacks the Services' labels and has left the EndpointSlices. Done if it is gone or
    never joined.

    Refused if fewer than `serving` other pods would be left.
    """

    slot: str
    serving: int


@dataclass(frozen=True, slots=True)
class PickReplica:
    """Choose a replica of home: one that does not serve, else the least busy one in rotation.
    Answer: Done with the pod.
    """

    slot: str


@dataclass(frozen=True, slots=True)
class PickSurplus:
    """Choose one of home's pods beyond `over`: one that does not serve, else the newest.

    Answer: Done with the pod, or without one if home owns no more than that.
    """

    slot: str
    over: int


@dataclass(frozen=True, slots=True)
class PickUnit:
    """Wait for the pod that answers for the unit at that place; `changed`: if it runs the change.

    Answer: Done with the pod, or without one if home asks for no such unit, or it does not run the
    change. Reaching its deadline is no failure: there is none then.
    """

    slot: str
    place: int
    changed: bool = False


@dataclass(frozen=True, slots=True)
class Detach:
    """The pod lacks the Services' labels, its ReplicaSet has released it (no controller), and it
    has left the EndpointSlices.

    Refused if fewer than `serving` other pods would be left, and if the pod is not home's.
    """

    slot: str
    serving: int


@dataclass(frozen=True, slots=True)
class PutBack:
    """Home has `replicas` replicas again, this pod among them if it is missed.

    Attached pod: only the key is written. Detached, and home lacks a Ready pod: its labels are
    restored, home adopts it, and it is in rotation if it is Ready. Detached, and home is complete
    without it: it is drained for as long as the plan allows, then deleted.
    """

    slot: str
    replicas: int


@dataclass(frozen=True, slots=True)
class ScaleHome:
    """Home asks for `to` units; it asked for `former` before (or `to` already), else Conflict.

    Downwards it is Refused while more than `to` of home's pods are Ready in rotation. Where home's
    owner chooses the pod that goes, pods that never served are marked to go first
    (`controller.kubernetes.io/pod-deletion-cost`). Answer: Done, with the number of requests that
    are cut where the owner then deletes a unit.
    """

    former: int
    to: int


@dataclass(frozen=True, slots=True)
class AwaitHome:
    """Wait until `ready` units of home are Ready and in rotation."""

    ready: int


@dataclass(frozen=True, slots=True)
class AwaitDrained:
    """Wait until by the pod's own metrics no request runs, waits or comes for a whole grace period.
    Done if it is gone, with a note if clients keep sending to it.

    Reaching its deadline is no failure: the plan says what happens then.
    """

    slot: str


@dataclass(frozen=True, slots=True)
class DeletePod:
    """The detached pod is gone. Refused while it has a controller or is in rotation. Answer: Done,
    with the number of requests that it cut.
    """

    slot: str


@dataclass(frozen=True, slots=True)
class PatchTemplate:
    """Home holds the plan's change; `back`: its former state. Refused while home owns a pod or asks
    for one.
    """

    back: bool = False


@dataclass(frozen=True, slots=True)
class KeepPrevious:
    """A unit of the former version runs out of rotation, with labels of our own, and ends by itself
    after the plan's `keep_previous_s`. Answer: Done with its pod.

    Refused if no node or quota takes it; nothing of it is left then.
    """

    slot: str


@dataclass(frozen=True, slots=True)
class DropPrevious:
    """The unit with that number in the plan's `drops`, which an earlier incident keeps, is gone and
    its GPU is free. Done if it has ended, or a rollback uses it.
    """

    index: int


@dataclass(frozen=True, slots=True)
class UndoRollout:
    """Home holds the revision whose pods serve, while a later rollout is stuck.

    Refused while a pod of the newest revision serves: its owner would delete it in rotation.
    `back`: the stuck state, as it was found; Refused where that rollout may take away replicas that
    serve.
    """

    back: bool = False


@dataclass(frozen=True, slots=True)
class RemoveStuck:
    """The pods of home that are not of its present state and never got Ready are gone: their owner
    does not replace them by itself.
    """


@dataclass(frozen=True, slots=True)
class StageChange:
    """Home holds the plan's change, and its owner replaces no unit: the partition is above all.

    `back`: home and its partition as they were found. Refused while a unit runs the change, unless
    it is the only one and out of rotation.
    """

    back: bool = False


@dataclass(frozen=True, slots=True)
class MovePartition:
    """Home's owner holds back the units below `to`; it held those below `former` before (or `to`
    already), else Conflict. Refused if a unit that the owner would then replace is in rotation.
    Answer: Done, with the number of requests that are cut where the owner then deletes the unit.
    """

    former: int
    to: int


@dataclass(frozen=True, slots=True)
class RemoveUnit:
    """The unit that the slot names is gone, and its owner makes `then` in its place. Refused while
    it is in rotation. Answer: Done, with the number of requests that it cut, unless the act before
    it had the owner delete the unit.
    """

    slot: str
    place: int
    then: Next


@dataclass(frozen=True, slots=True)
class AwaitUnit:
    """Wait until the unit at that place is Ready and in rotation; `changed`: and its engine
    resolved the new value. Answer: Done with the pod that answers for it.
    """

    slot: str
    place: int
    changed: bool


@dataclass(frozen=True, slots=True)
class FinishRollout:
    """Home's partition is as it was found; every unit runs the change already."""


@dataclass(frozen=True, slots=True)
class OpenCanary:
    """Home's owner runs one unit with the change beside the others. `back`: it does not, and home
    is as it was found.
    """

    back: bool = False


@dataclass(frozen=True, slots=True)
class AwaitCanary:
    """Wait until the canary's pod is Ready and its engine resolved the new value. Answer: Done with
    the pod, or Failed with the reason.
    """

    slot: str = "canary"


@dataclass(frozen=True, slots=True)
class ShiftTraffic:
    """The canary gets `to` percent of the requests; it got `former` before (or `to` already), else
    Conflict.
    """

    former: int
    to: int


@dataclass(frozen=True, slots=True)
class RollHome:
    """Home holds the plan's change, and its owner replaces every unit by its own strategy. `back`:
    home as it was found; its owner replaces what runs the change.
    """

    back: bool = False


@dataclass(frozen=True, slots=True)
class AwaitRolled:
    """Wait until every unit of home runs its present state and is Ready in rotation."""


@dataclass(frozen=True, slots=True)
class WriteLimits:
    """The target's limits (ConfigMap) are the plan's; `back`: the former ones."""

    back: bool = False


@dataclass(frozen=True, slots=True)
class TightenGateway:
    """Set the plan's limit at the gateways in front of the target, under a lease that this run
    renews; `back`: remove all limits of this incident.

    Each write carries the run's epoch: a gateway that has seen a later run of the incident rejects
    the writes of an earlier one. `back` is also Done if a gateway does not respond for as long as
    the lease can last: the lease has then expired.
    """

    back: bool = False


@dataclass(frozen=True, slots=True)
class AwaitCalm:
    """Wait, renewing the lease, until the load is so low that the limit is no longer needed
    (`LiveEdge`). Reaching its deadline is no failure: the limit is then removed.
    """


@dataclass(frozen=True, slots=True)
class Observe:
    """Watch the units with the change under load for as long as the plan says. Answer: Judged."""


Act = (
    Gather | ClaimHome | ReleaseHome | PauseOwner | ResumeOwner | CreateSpare | AwaitSpare | DeleteSpare | JoinRotation | LeaveRotation
    | PickReplica | PickSurplus | PickUnit | Detach | PutBack | ScaleHome | AwaitHome | AwaitDrained | DeletePod | PatchTemplate
    | KeepPrevious | DropPrevious
    | UndoRollout | RemoveStuck | StageChange | MovePartition | RemoveUnit | AwaitUnit | FinishRollout | OpenCanary | AwaitCanary
    | ShiftTraffic | RollHome | AwaitRolled | WriteLimits | TightenGateway | AwaitCalm | Observe
)  # fmt: skip

READS = (
    Gather, AwaitSpare, PickReplica, PickSurplus, PickUnit, AwaitHome, AwaitDrained, AwaitUnit, AwaitCanary, AwaitRolled, AwaitCalm,
    Observe,
)  # fmt: skip
"""Acts that change nothing outside: they need no record before them."""
WAITS = (
    AwaitSpare, AwaitHome, AwaitDrained, PickUnit, AwaitUnit, AwaitCanary, AwaitRolled, AwaitCalm,
)  # fmt: skip
"""Acts that last as long as the world needs. The plan gives their deadline, and passing it is no
lost answer.
"""
NAMES_POD = (
    AwaitSpare, PickReplica, PickSurplus, PickUnit, AwaitUnit, AwaitCanary, KeepPrevious,
)  # fmt: skip
"""Acts whose answer says which pod their slot is."""
MUST_NAME = (AwaitSpare, PickReplica, AwaitUnit, AwaitCanary)
"""Those of them that are not done without a pod."""
OPTIONAL = (KeepPrevious,)
"""Acts without which the change is in force as well: if one is refused or gets no answer, the
remedy goes on.
"""


@dataclass(frozen=True, slots=True)
class Cut:
    """Requests that the end of pods cuts off. `requests`: at most so many, those that ran or came
    just before. `unknown_pods`: pods whose metrics did not answer then.
    """

    requests: int = 0
    unknown_pods: int = 0

    def __add__(self, other: Cut) -> Cut:
        """Both together."""
        return Cut(self.requests + other.requests, self.unknown_pods + other.unknown_pods)


NOTHING_CUT = Cut()


@dataclass(frozen=True, slots=True)
class Done:
    """The act succeeded. `pod`: the pod that the slot now names. `note`: for the timeline (a pod
    that was no longer missed). `cut`: the requests that the act cut off.
    """

    pod: PodRef | None = None
    note: str = ""
    cut: Cut = NOTHING_CUT


@dataclass(frozen=True, slots=True)
class Refused:
    """The act was refused: a precondition failed, a permission is missing, or admission or quota
    denied it. The machine undoes it all the same.
    """

    why: str


@dataclass(frozen=True, slots=True)
class Conflict:
    """The act was not performed: the object was changed, or the claim is not ours."""

    why: str


@dataclass(frozen=True, slots=True)
class Failed:
    """The awaited state will not come: unschedulable, a crash loop, an image that cannot be pulled.

    `by_change`: the engine itself ended because of the change; another node or time would not help.
    """

    why: str
    by_change: bool = False


@dataclass(frozen=True, slots=True)
class Lost:
    """No response. The request took effect or never will: io reports this only once the connection
    is closed and the server's timeout has passed.
    """

    why: str


@dataclass(frozen=True, slots=True)
class Judged:
    """The verdict of an observation, with its reasons for a person.

    `more_s`: of an inconclusive one, seconds more that a clear answer takes at least; infinite where
    time does not bring one.
    """

    outcome: Outcome
    reasons: tuple[str, ...] = ()
    more_s: float = 0.0
