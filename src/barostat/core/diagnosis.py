"""The closed list of causes, and the shape of a diagnosis."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, get_args

from barostat.core.proposed_change import ProposedChange
from barostat.core.prose import NO_PROSE, Prose
from barostat.core.verdict import Verdict

CauseName = Literal[
    "kv-preemption-thrash",
    "kv-admission-queueing",
    "slot-bound",
    "prefill-bound",
    "compute-bound",
    "host-bound",
    "network-or-gateway",
    "scaling-lag",
    "node-fault",
    "gpu-oom",
    "host-oom",
    "kv-pool-too-small",
    "bad-config",
    "hung-engine",
    "healthy-busy",
    "healthy-idle",
    "unknown",
]
CAUSES: tuple[CauseName, ...] = get_args(CauseName)
NOTHING_WRONG: tuple[CauseName, ...] = ("healthy-busy", "healthy-idle", "unknown")
"""Causes without a problem: users are not affected, or the cause is unknown."""
KV_CAUSES: tuple[CauseName, ...] = ("kv-preemption-thrash", "kv-admission-queueing")
"""Causes in which the KV pool is the bottleneck."""

VARIANTS: dict[CauseName, tuple[str, ...]] = {
    "slot-bound": ("adapters",),
    "host-bound": ("cpu", "tokenizer", "api-server"),
    "scaling-lag": ("cold-start", "pending"),
    "node-fault": ("throttle", "ecc", "xid"),
    "gpu-oom": ("startup", "graph-capture", "sampler", "serving"),
    "host-oom": ("cgroup", "node-eviction"),
    "kv-pool-too-small": ("length", "no-blocks", "states"),
    "bad-config": ("argument", "model", "shm", "probe", "pod", "slow"),
    "hung-engine": ("no-tokens", "collective"),
}

Severity = Literal["none", "info", "warning", "critical"]
Scope = Literal["replica", "some", "fleet"]
TriggerKind = Literal[
    "deploy", "longer-prompts", "longer-outputs", "more-concurrency", "burst", "scale-in", "node"
]


@dataclass(frozen=True, slots=True)
class Trigger:
    """The change before the harm: a deployment, or traffic."""

    kind: TriggerKind
    detail: str


@dataclass(frozen=True, slots=True)
class OtherCause:
    """A cause that is not named, and why."""

    cause: CauseName
    because: str


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """One cause for one replica (or the fleet), how bad it is and how sure we are.

    Units: `confidence` 0..1. `variant` is empty if the cause has none, else one of
    VARIANTS[cause].
    """

    cause: CauseName
    severity: Severity
    confidence: float
    summary: str
    variant: str = ""
    scope: Scope = "replica"
    trigger: Trigger | None = None


@dataclass(frozen=True, slots=True)
class SymptomFinding:
    """One symptom's verdict, by name."""

    name: str
    verdict: Verdict


@dataclass(frozen=True, slots=True)
class Forecast:
    """Time until the pool is full if the trend continues. None: no such trend, or the pool is
    already full.
    """

    exhaustion_in_s: float | None
    because: str = ""


@dataclass(frozen=True, slots=True)
class Expected:
    """The twin's forecast for an engine. Units: seconds, per second; `refused_ratio` of the
    requests that came. None: nothing ended.
    """

    output_tokens_per_s: float
    ttft_mean_s: float | None
    ttft_p99_s: float | None
    itl_mean_s: float | None
    itl_p99_s: float | None
    preempted_per_s: float
    refused_ratio: float


Effect = Literal["helps", "trade-off", "unsure", "nothing", "harms"]
"""Forecast effect of a step: better than today; better at a price; better or worse (the window does
not show which); no significant difference; worse.
"""
SloOutlook = Literal["meets", "may-miss", "misses"]
"""Whether a forecast meets the SLO: over its whole range, over a part of it, or nowhere."""
PreemptionOutlook = Literal["ends", "reduces", "leaves"]
"""What becomes of today's preemptions by a forecast."""


@dataclass(frozen=True, slots=True)
class StepForecast:
    """The twin's forecast for a step, compared with today.

    `better`, `worse`: figures that change significantly. `may_change`: range of each figure, if it
    decides whether the step helps. `stuck`: why the engine would never finish. `between`: lowest
    and highest value of each figure, if step times are not known exactly. `slo`: None without an
    SLO. `preemptions`: None if there are none today. `capacity_ratio`: number of GPUs relative to
    today.
    """

    expected: Expected
    effect: Effect
    better: Prose = NO_PROSE
    worse: Prose = NO_PROSE
    may_change: Prose = NO_PROSE
    stuck: Prose = NO_PROSE
    between: tuple[Expected, Expected] | None = None
    slo: SloOutlook | None = None
    preemptions: PreemptionOutlook | None = None
    capacity_ratio: float = 1.0


@dataclass(frozen=True, slots=True)
class NextStep:
    """One change to make. `untried`: why it has no forecast where other steps have one."""

    lever: str
    change: ProposedChange
    because: Prose
    restarts: bool
    forecast: StepForecast | None = None
    untried: Prose = NO_PROSE


@dataclass(frozen=True, slots=True)
class Trials:
    """Basis of the order of the next steps: the twin's figures of today and `basis` (how they were
    found), or `why_not`, with what would make trials possible. `assumptions`: what the twin rests
    on and was not seen. `start_s`: how long the engine's last start took; None if that was not
    seen. `source`: the arguments with which `what-if` looks at the same engine again; empty if it
    takes more than one target.
    """

    today: Expected | None = None
    basis: Prose = NO_PROSE
    why_not: Prose = NO_PROSE
    assumptions: tuple[Prose, ...] = ()
    start_s: float | None = None
    source: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ReplicaReport:
    """Everything the diagnosis says about one replica."""

    name: str
    engine_version: str
    diagnosis: Diagnosis
    forecast: Forecast
    symptoms: tuple[SymptomFinding, ...]
    rests_on: tuple[str, ...] = ()
    """Names of the symptoms that carry the diagnosis, strongest first."""
    contributing: tuple[str, ...] = ()
    ruled_out: tuple[OtherCause, ...] = ()
    """Causes that the evidence rules out."""
    not_ruled_out: tuple[OtherCause, ...] = ()
    """Causes that take precedence but for which evidence is missing."""
    missing: tuple[str, ...] = ()
    next: tuple[NextStep, ...] = ()
    not_advised: tuple[NextStep, ...] = ()
    """Classic advice that is wrong here, each with the reason."""
    problems: tuple[str, ...] = ()
    """Problems of the input itself: a truncated scrape, a clock that went backwards, a rule that
    crashed.
    """
    unreachable: bool = False
    """True if nothing of the replica could be read because it did not answer, or was not
    vLLM.
    """
    trials: Trials | None = None
    """None if no trial was asked for, or none of the next steps is one that the twin can try."""


@dataclass(frozen=True, slots=True)
class HeldLimit:
    """A limit that an incident holds at a gateway, and for how long unless it is renewed."""

    gateway: str
    name: str
    value: float
    lease_s: float


PodRole = Literal["spare", "detached", "previous"]


@dataclass(frozen=True, slots=True)
class RunningRemedy:
    """A remedy in progress at the time of a diagnosis.

    `phase`, `change`: empty if its record cannot be read. `pods`: pods that it created next to the
    target or took out of rotation. `warm_until`: of an incident that is over and keeps a replica of
    the former version warm (its pod is the `previous` one): RFC 3339.
    """

    incident: str
    target: str
    phase: str = ""
    change: str = ""
    holder: str = ""
    pods: tuple[tuple[str, PodRole], ...] = ()
    limits: tuple[HeldLimit, ...] = ()
    warm_until: str = ""


@dataclass(frozen=True, slots=True)
class Report:
    """The result of one diagnosis. `at`: unix seconds of the judgement."""

    at: float
    target: str
    replicas: tuple[ReplicaReport, ...]
    fleet: Diagnosis
    problems: tuple[str, ...] = field(default_factory=tuple)
    remedies: tuple[RunningRemedy, ...] = ()
    """Remedies in progress: their limits and pods are not the workload's own state."""
