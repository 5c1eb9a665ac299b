"""A plan: everything decided before anything is done. Immutable, lintable, refusable; carrying it
out decides nothing more.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from barostat.core.change import ConfigChange, Expectation
from barostat.core.diagnosis import NOTHING_WRONG, CauseName

Strategy = Literal[
    "spare", "in-place", "scale-out", "stuck-rollout", "canary", "rolling", "edge-only", "edge-live",
]  # fmt: skip
"""How a change reaches the workload.

spare          one unit more serves meanwhile; each unit is drained before it is replaced
in-place       one unit less serves meanwhile
scale-out      one unit is added
stuck-rollout  a rollout of which nothing serves is undone
canary         the owner runs one unit with the change first, then rolls the others
rolling        the owner rolls every unit; nothing proves the change before
edge-only      a limit in the file that gateways watch
edge-live      a limit that running gateways hold for as long as it is needed
"""
Rolls = Literal["spares", "ordinals", "canary", "owner"]
"""How the target's kind replaces its units (`platform.workloads`)."""
Canary = Literal["none", "dark", "live"]
"""Whether a canary gets requests: `dark` proves only that the engine starts with the change."""
Autonomy = Literal["recommend", "act"]
OnDrainBound = Literal["cut", "roll-back"]
LONGEST_KEPT_S = 86400.0
ROLLBACK = "rollback"
"""The lever of a rollback plan, which does not depend on the current cause."""
SCALING = ("HorizontalPodAutoscaler", "ScaledObject")
"""Kinds of owners that write the number of replicas and nothing else."""


ASKED_FOR = "asked for"
"""How the reason of a change begins that a person named."""


def taking_back(incident: str) -> str:
    """Why there is a plan that takes that incident back."""
    return f"takes incident {incident} back"


@dataclass(frozen=True, slots=True)
class Target:
    """The object that is changed: one, and no later one of the same name."""

    api_version: str
    kind: str
    namespace: str
    name: str
    uid: str

    def __str__(self) -> str:
        return f"{self.kind.lower()}/{self.name} in {self.namespace}"


@dataclass(frozen=True, slots=True)
class PausedOwner:
    """Another writer of the target, and how to pause it.

    `kind`, `namespace`, `name`: of the owner's own object. `pause`, `resume`: merge patches of it,
    as JSON. `note`: the effect of pausing, for the user. `by`: the incident that has already paused
    it; empty if this plan does.
    """

    kind: str
    namespace: str
    name: str
    pause: str
    resume: str
    note: str = ""
    by: str = ""

    def __str__(self) -> str:
        found = f"{self.kind.lower()}/{self.name}"
        return f"{found} in {self.namespace}" if self.namespace else found


def takes_back(owner_kind: str, change: ConfigChange) -> bool:
    """True if such an owner, left to itself, would undo that very change: an autoscaler the
    number of replicas, others all the rest.
    """
    return (owner_kind in SCALING) is (change.kind == "replicas")


@dataclass(frozen=True, slots=True)
class GatewayRef:
    """A gateway before the target. `kind`: Deployment (its ready pods, by the port for its admin
    page), or URL (`name` is the page's).
    """

    kind: Literal["Deployment", "URL"]
    name: str
    namespace: str = ""
    port: int = 0

    def __str__(self) -> str:
        return (
            f"deployment/{self.name} in {self.namespace}"
            if self.kind == "Deployment"
            else self.name
        )


@dataclass(frozen=True, slots=True)
class LiveEdge:
    """How running gateways hold a limit.

    Units: seconds. `lease_s`: after so long without a renewal a gateway goes by its file again. The
    limit is needed until the pool of no engine has been fuller than `calm_ratio`, with no request
    waiting, refused or preempted, for `calm_s`; but no longer than `longest_s`. `enforces`: a
    gateway only watched (--shadow), and holds the limits of its file too for that time.
    """

    gateways: tuple[GatewayRef, ...]
    lease_s: float = 60.0
    calm_ratio: float = 0.5
    calm_s: float = 60.0
    longest_s: float = 43200.0
    enforces: bool = False


@dataclass(frozen=True, slots=True)
class StepLimits:
    """Time limits and retries of each kind of step.

    Units: seconds. `drain_s`: longest wait for a draining replica; remaining requests are then cut
    off and counted, or the change is reverted. `ready_s`: for a start; `end_s`: a pod's termination
    grace period, in addition to `answer_s`. `confirm_s`: an intermittent cause is retried for this
    long before it counts as gone. `resume_s`: a run resumed later than this after its facts were
    judged goes back instead of forward.
    """

    answer_s: float = 90.0
    ready_s: float = 900.0
    drain_s: float = 300.0
    end_s: float = 30.0
    confirm_s: float = 180.0
    verify_s: float = 600.0
    consent_s: float = 1800.0
    evidence_s: float = 120.0
    rest_s: float = 15.0
    resume_s: float = 7200.0
    attempts: int = 3
    on_drain_bound: OnDrainBound = "cut"


@dataclass(frozen=True, slots=True)
class RemedyPlan:
    """One change of one target, its undo and its proof.

    `replicas`: units that home asks for now. `serving`: units that serve. `floor`: no fewer are
    ever in rotation, unless fewer serve already. `max_replicas`: no more are ever asked for (None:
    no limit is set). `baseline`: by signal, the values that the expectation is compared with
    (`verify.baseline`). `template`: digest of the part of home that a change edits, as found; a
    target that differs was changed by someone else. `gpus`: of one unit. `unit_pods`: pods in a
    unit. `parent`: the incident that ended last on home, as the plan found it; empty for none.
    `owners`: the owners that are paused for it. `edge`: the gateways that hold the limit live.
    `rolls`: how home's kind replaces units. `canary_percent`: requests that the canary gets by a
    weight of home's own; 0 where it gets its share by itself. `surge`, `unavailable`: units that
    home's owner starts beyond those asked for, or takes away, at a time while it rolls.
    `keep_previous_s`: how long a unit of the former version stays warm once every unit runs the
    change; `not_kept`: why it does not although that was asked for. `previous`: such a unit (its
    Job) of the incident that the plan takes back, which serves as the first spare. `drops`: those
    of earlier incidents that end for this plan.
    """

    id: str
    made_at: float
    target: Target
    cause: CauseName
    lever: str
    change: ConfigChange
    expectation: Expectation
    strategy: Strategy
    replicas: int
    serving: int
    floor: int
    baseline: tuple[tuple[str, float], ...]
    template: str
    because: str
    variant: str = ""
    gpus: int = 1
    max_replicas: int | None = None
    autonomy: Autonomy = "recommend"
    parent: str = ""
    bounds: StepLimits = field(default_factory=StepLimits)
    owners: tuple[PausedOwner, ...] = ()
    edge: LiveEdge | None = None
    rolls: Rolls = "spares"
    canary: Canary = "none"
    canary_percent: int = 0
    surge: int = 0
    unavailable: int = 0
    unit_pods: int = 1
    keep_previous_s: float = 0.0
    not_kept: str = ""
    previous: str = ""
    drops: tuple[str, ...] = ()

    def __hash__(self) -> int:
        """By the id: no two plans share one, and its program is computed at every step."""
        return hash(self.id)

    @property
    def kept_in_rotation(self) -> int:
        """Units that serve at every instant: as many as now with a spare; in place one less, unless
        one is down anyway.
        """
        if self.strategy == "in-place":
            return min(self.serving, self.replicas - 1)
        if self.strategy in ("canary", "rolling") or self.rolls == "owner":
            return min(self.serving, max(0, self.replicas - self.unavailable))
        return self.serving

    @property
    def spare_stays(self) -> bool:
        """True if a spare serves until home's owner has replaced every unit: the rollout needs no
        GPU beside those of home.
        """
        return self.strategy == "spare" and not self.surge

    @property
    def units_needed(self) -> int:
        """Units beyond those asked for that must find GPUs."""
        match self.strategy:
            case "spare" if self.previous:
                return 0
            case "spare" if self.rolls == "owner":
                return max(1, self.surge)
            case "spare" | "scale-out":
                return 1
            case "canary" if self.canary == "live" and self.canary_percent:
                return 1 + self.surge
            case "canary":
                return max(1, self.surge)
            case "rolling":
                return self.surge
        return 0

    @property
    def starts(self) -> int:
        """Engine starts until home runs the change."""
        match self.strategy:
            case "edge-only" | "edge-live" | "stuck-rollout":
                return 0
            case "scale-out":
                return 1
            case "canary" if not (self.canary == "live" and not self.canary_percent):
                return self.replicas + 1
            case "canary" | "rolling":
                return self.replicas
        if self.rolls in ("ordinals", "owner"):
            return self.replicas + (self.strategy == "spare")
        # once as a spare, once in home
        return 2 * self.replicas - bool(self.previous) + bool(self.keep_previous_s)

    @property
    def proved_first(self) -> bool:
        """True if one unit proves the change under load before another one gets it."""
        return self.strategy != "rolling" and not (
            self.strategy == "canary" and self.canary == "dark"
        )

    @property
    def at_edge(self) -> bool:
        """True if no replica is touched."""
        return self.strategy in ("edge-only", "edge-live")

    @property
    def lasts(self) -> bool:
        """True if the change stays in force once the incident is over."""
        return self.strategy != "edge-live"

    @property
    def done_sentence(self) -> str:
        """Return the sentence for the completed plan."""
        return (
            f"{self.change} is in force"
            if self.lasts
            else f"{self.change} was held while it was needed, and is taken back"
        )

    def spare_name(self, index: int) -> str:
        """The name of a spare Deployment: the same for the same plan, within Kubernetes' 63
        characters.
        """
        tail = f"-spare-{self.id[-12:].lower()}-{index}"
        return self.target.name[: 63 - len(tail)].rstrip("-.") + tail

    @property
    def uses_spares(self) -> bool:
        """True if units get the change in objects of ours beside home."""
        return self.rolls == "spares" and self.strategy in ("spare", "in-place")

    @property
    def asked_for(self) -> bool:
        """True if a person named the change: the diagnosis did not propose it."""
        return self.because.startswith(ASKED_FOR)

    @property
    def undoes(self) -> str:
        """The incident whose change the plan takes back; empty for any but a rollback."""
        before, after = taking_back("#").split("#")
        return (
            self.because.removeprefix(before).removesuffix(after) if self.lever == ROLLBACK else ""
        )

    def stays_paused(self, owner: PausedOwner) -> bool:
        """True for an owner that would revert the change: it stays paused until a person has put
        the change into its source.
        """
        return self.lever != ROLLBACK and takes_back(owner.kind, self.change)

    def undo_sentence(self) -> str:
        """Return the undo as a sentence."""
        if self.edge is not None:
            gateways = ", ".join(map(str, self.edge.gateways))
            return (
                f"the limit is taken off {gateways}; by itself {self.edge.lease_s:.0f} s after "
                "whoever holds it is gone"
            )
        return f"set {self.change.reversed()} on {self.target}"


_ROLLED_BY: dict[Strategy, tuple[Rolls, ...]] = {
    "spare": ("spares", "ordinals", "owner"),
    "in-place": ("spares", "ordinals"),
    "canary": ("canary",),
    "rolling": ("owner",),
}
"""How a kind has to replace its units for each strategy that depends on it."""


def lint(plan: RemedyPlan) -> tuple[str, ...]:
    """Return the problems of the plan itself, a sentence each; empty for a plan that may be carried
    out.

    Law: L4 and L8, before anything is sent.
    """
    wrong: list[str] = []
    bounds = plan.bounds
    if not plan.id or "#" in plan.id or "/" in plan.id:
        wrong.append("the id is empty or holds # or /")
    if plan.change.former == plan.change.value:
        wrong.append(f"{plan.change.name} would stay what it is")
    if plan.cause in NOTHING_WRONG:
        wrong.append(f"nothing is changed for the cause {plan.cause}")
    if not set(plan.expectation.load_signals) & {name for name, _ in plan.baseline}:
        wrong.append(
            "the load before the change was not measured, so its effect could not be compared"
        )
    if not any(expect.essential for expect in plan.expectation.expects):
        wrong.append("nothing is expected of the change, so nothing could prove it")
    if plan.at_edge and plan.change.kind != "limits":
        wrong.append("only limits can be changed at the edge alone")
    if (plan.strategy == "scale-out") != (plan.change.kind == "replicas"):
        wrong.append("the number of replicas is changed by scaling out, and nothing else is")
    if plan.strategy == "stuck-rollout" and plan.change.kind != "revision":
        wrong.append("a stuck rollout is undone, and nothing else is changed then")
    if (
        plan.strategy == "scale-out"
        and plan.max_replicas is not None
        and plan.replicas >= plan.max_replicas
    ):
        wrong.append(
            f"{plan.replicas} replicas are asked for, at most {plan.max_replicas} are allowed"
        )
    if (plan.strategy == "edge-live") != bool(plan.edge is not None and plan.edge.gateways):
        wrong.append(
            "a limit is held live by the gateways that the plan names, and no other change is"
        )
    if not plan.at_edge:
        if plan.change.kind == "limits":
            wrong.append("limits are written at the edge, no replica changes")
        if plan.strategy in _ROLLED_BY and plan.rolls not in _ROLLED_BY[plan.strategy]:
            wrong.append(f"{plan.strategy} is no way to change a {plan.target.kind}")
        if plan.replicas < 1:
            wrong.append("there is no replica to change")
        if not 0 <= plan.serving <= plan.replicas:
            wrong.append(f"{plan.serving} of {plan.replicas} replicas cannot serve")
        if plan.kept_in_rotation < min(plan.floor, plan.serving):
            wrong.append(
                f"{plan.kept_in_rotation} replicas would serve meanwhile, the floor is {plan.floor}"
            )
        if not plan.template:
            wrong.append("the template was not read, so somebody else's change could not be told")
    if (
        min(
            bounds.answer_s,
            bounds.ready_s,
            bounds.drain_s,
            bounds.confirm_s,
            bounds.verify_s,
            bounds.consent_s,
            bounds.evidence_s,
            bounds.rest_s,
            bounds.resume_s,
        )
        <= 0
    ):
        wrong.append("every bound on time must be above 0")
    if plan.at_edge and plan.owners:
        wrong.append("nobody is paused for limits at the edge")
    if not 0.0 <= plan.keep_previous_s <= LONGEST_KEPT_S:
        wrong.append(f"the previous version is kept for {LONGEST_KEPT_S / 3600:.0f} h at most")
    if (plan.keep_previous_s or plan.previous) and not plan.uses_spares:
        wrong.append("the previous version is kept only where units are replaced by spares")
    if bounds.attempts < 1:
        wrong.append("at least one attempt is needed")
    if plan.expectation.sustained_s > bounds.verify_s:
        wrong.append(
            f"what must hold for {plan.expectation.sustained_s:.0f} s cannot be seen in "
            f"{bounds.verify_s:.0f} s"
        )
    return tuple(wrong)
