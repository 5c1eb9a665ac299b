"""A plan: everything decided before anything is done. Immutable, lintable, refusable; carrying it out decides nothing more."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from barostat.core.change import Change, Expectation
from barostat.core.diagnosis import NOTHING_WRONG, CauseName

Strategy = Literal["spare", "in-place", "scale-out", "stuck-rollout", "edge-only"]
Autonomy = Literal["recommend", "act"]
OnDrainBound = Literal["cut", "roll-back"]
ROLLBACK = "rollback"
"""The lever of a plan that takes one back: a person wants it, whatever the cause is by now."""


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
class Bounds:
    """How long each kind of step may take, and how often it is tried.

    Units: seconds. `drain_s` bounds the wait for a drained replica; what still runs then is cut and counted, or the change is taken back.
    `confirm_s`: as long it is looked for a cause that comes and goes before it is said to be gone.
    `resume_s`: a run that is resumed later than that after its facts were judged goes back instead of on.
    """

    answer_s: float = 90.0
    ready_s: float = 900.0
    drain_s: float = 300.0
    confirm_s: float = 180.0
    verify_s: float = 600.0
    consent_s: float = 1800.0
    evidence_s: float = 120.0
    rest_s: float = 15.0
    resume_s: float = 7200.0
    attempts: int = 3
    on_drain_bound: OnDrainBound = "cut"


@dataclass(frozen=True, slots=True)
class Plan:
    """One change of one target, its undo and its proof.

    `replicas`: what home asks for now. `serving`: how many of them serve. `floor`: fewer than that are never in rotation, but where fewer
    serve already. `max_replicas`: more are never asked for (None: no limit is set). `baseline`: by signal, what the expectation is held
    against (`verify.baseline`). `template`: digest of home's template as found; a home that differs is somebody else's change. `gpus`: of
    one replica. `parent`: the incident that ended last on home, as the plan found it; empty for none.
    """

    id: str
    made_at: float
    target: Target
    cause: CauseName
    lever: str
    change: Change
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
    bounds: Bounds = field(default_factory=Bounds)

    def __hash__(self) -> int:
        """By the id: no two plans share one, and a plan is asked for its program at every step."""
        return hash(self.id)

    @property
    def kept_in_rotation(self) -> int:
        """Replicas that serve at every instant: as many as now with a spare; in place one less, unless one is down anyway."""
        return min(self.serving, self.replicas - 1) if self.strategy == "in-place" else self.serving

    @property
    def gpus_needed(self) -> int:
        """GPUs that must be free before it starts."""
        return self.gpus if self.strategy in ("spare", "scale-out") else 0

    @property
    def starts(self) -> int:
        """Engine starts until home runs the change: each replica once as a spare and once in home; one where one is added."""
        return {"edge-only": 0, "scale-out": 1, "stuck-rollout": 0}.get(self.strategy, 2 * self.replicas)

    def spare_name(self, index: int) -> str:
        """The name of a spare Deployment: the same for the same plan, within Kubernetes' 63 characters."""
        tail = f"-spare-{self.id[-12:].lower()}-{index}"
        return self.target.name[: 63 - len(tail)].rstrip("-.") + tail

    @property
    def asked_for(self) -> bool:
        """True where a person named the change: the diagnosis did not propose it."""
        return self.because.startswith(ASKED_FOR)

    @property
    def undoes(self) -> str:
        """The incident whose change the plan takes back; empty for any but a rollback."""
        before, after = taking_back("#").split("#")
        return self.because.removeprefix(before).removesuffix(after) if self.lever == ROLLBACK else ""

    def undo_sentence(self) -> str:
        """What takes the change back, for a person."""
        return f"set {self.change.reversed()} on {self.target}"


def lint(plan: Plan) -> tuple[str, ...]:
    """What is wrong with the plan itself, a sentence each; nothing for one that may be carried out.

    Law: L4 and L8, before anything is asked of the world.
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
        wrong.append("the load before was not measured, so nothing could be held against it")
    if not any(expect.essential for expect in plan.expectation.expects):
        wrong.append("nothing is expected of the change, so nothing could prove it")
    if plan.strategy == "edge-only" and plan.change.kind != "limits":
        wrong.append("only limits can be changed at the edge alone")
    if (plan.strategy == "scale-out") != (plan.change.kind == "replicas"):
        wrong.append("the number of replicas is changed by scaling out, and nothing else is")
    if plan.strategy == "stuck-rollout" and plan.change.kind != "revision":
        wrong.append("a stuck rollout is undone, and nothing else is changed then")
    if plan.strategy == "scale-out" and plan.max_replicas is not None and plan.replicas >= plan.max_replicas:
        wrong.append(f"{plan.replicas} replicas are asked for, at most {plan.max_replicas} are allowed")
    if plan.strategy != "edge-only":
        if plan.change.kind == "limits":
            wrong.append("limits are written at the edge, no replica changes")
        if plan.target.kind != "Deployment":
            wrong.append(f"a {plan.target.kind} is not changed by us: its owner gets a patch")
        if plan.replicas < 1:
            wrong.append("there is no replica to change")
        if not 0 <= plan.serving <= plan.replicas:
            wrong.append(f"{plan.serving} of {plan.replicas} replicas cannot serve")
        if plan.kept_in_rotation < min(plan.floor, plan.serving):
            wrong.append(f"{plan.kept_in_rotation} replicas would serve meanwhile, the floor is {plan.floor}")
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
    if bounds.attempts < 1:
        wrong.append("at least one attempt is needed")
    if plan.expectation.sustained_s > bounds.verify_s:
        wrong.append(f"what must hold for {plan.expectation.sustained_s:.0f} s cannot be seen in {bounds.verify_s:.0f} s")
    return tuple(wrong)
