"""A proposed change as a value: levers return it, the twin tries it, remedies perform it and
reports render it (`judge/advice/change_text.py`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from barostat.core.config import ConfigScalar
from barostat.core.object_reference import ObjectReference
from barostat.core.prose import Prose

EdgeLimit = Literal["request.maxInputTokens", "request.maxOutputTokens", "edge.kvTokenBudget"]
"""The limits that a gateway enforces, by their place below `spec` of a limits file."""


@dataclass(frozen=True, slots=True)
class SetFlag:
    """Set an argument of the engine. A switch is True or False.

    `name`: vLLM's own, with underscores (`max_num_seqs`).
    """

    name: str
    value: ConfigScalar


@dataclass(frozen=True, slots=True)
class UnsetFlag:
    """Remove an argument of the engine, so that its default applies.

    `name`: vLLM's own, with underscores, or an unknown argument as it was written. `now`: its
    present value. `as_refused`: the words that the engine refused, as its log quotes them.
    """

    name: str
    now: ConfigScalar | None = None
    as_refused: str = ""


@dataclass(frozen=True, slots=True)
class SetEnvironment:
    """Set environment variables of the engine's container, as (name, value)."""

    variables: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class SetEdgeLimit:
    """Set a limit that a gateway enforces. Takes effect at once and restarts nothing."""

    limit: EdgeLimit
    tokens: int


@dataclass(frozen=True, slots=True)
class Scale:
    """Run that many replicas, or `more` than now where `replicas` is None.

    `of`: whether the workload's own number is set, or its autoscaler's maximum. `target`: the
    workload; None if the engine does not run in Kubernetes, and `engine` is its address.
    """

    replicas: int | None
    of: Literal["workload", "autoscaler"] = "workload"
    target: ObjectReference | None = None
    engine: str = ""
    more: int = 1


@dataclass(frozen=True, slots=True)
class Restart:
    """Restart one replica: its pod, or the process at the address `engine`."""

    pod: ObjectReference | None
    engine: str = ""


@dataclass(frozen=True, slots=True)
class RollBack:
    """Go back to the workload's previous revision."""

    workload: ObjectReference


@dataclass(frozen=True, slots=True)
class SetMemory:
    """Set the container's memory limit, with a request as high. `amount`: a Kubernetes quantity."""

    amount: str


@dataclass(frozen=True, slots=True)
class SetCpu:
    """Set the container's CPU limit, with a request as high."""

    cores: int


@dataclass(frozen=True, slots=True)
class SetSharedMemory:
    """Mount /dev/shm as an emptyDir in memory of that size. `amount`: a Kubernetes quantity."""

    amount: str


@dataclass(frozen=True, slots=True)
class SetServiceLinks:
    """Let the kubelet inject the variables of the namespace's Services, or not."""

    enabled: bool


@dataclass(frozen=True, slots=True)
class SetStartupProbe:
    """Give the engine time to start before its liveness probe counts."""

    path: str
    port: int
    period_s: int
    timeout_s: int
    failure_threshold: int


PodEdit = SetMemory | SetCpu | SetSharedMemory | SetServiceLinks | SetStartupProbe


@dataclass(frozen=True, slots=True)
class EditPodSpec:
    """Change the pod template in a way that is no setting of the engine."""

    edit: PodEdit


@dataclass(frozen=True, slots=True)
class Advise:
    """Something that only a person can do, in words that nothing reads."""

    instruction: Prose


ProposedChange = (
    SetFlag
    | UnsetFlag
    | SetEnvironment
    | SetEdgeLimit
    | Scale
    | Restart
    | RollBack
    | EditPodSpec
    | Advise
)
