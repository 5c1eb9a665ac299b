"""Transcripts of the remedy machine: each line is what it is told, and what it says then.

    facts            -> record
    ok               -> ClaimHome
    ok               -> record
    lost             -> CreateSpare 0

Left of the arrow: begin, facts, no facts, yes, no, abort, resume, late, ok [POD], refused,
conflict, failed, lost, better, worse, inconclusive, stale (an answer to something that is not
outstanding). Right of it: the commands (Kubernetes Events apart), or the phase where it ended.
"""

from __future__ import annotations

from dataclasses import replace

from barostat.core.change import ConfigChange, pressure_relieved
from barostat.remedy.acts import Conflict, Done, Failed, Judged, Lost, PodRef, Refused
from barostat.remedy.machine import step
from barostat.remedy.plan import (
    Autonomy,
    GatewayRef,
    LiveEdge,
    RemedyPlan,
    StepLimits,
    Strategy,
    Target,
)
from barostat.remedy.precheck import Facts
from barostat.remedy.state import (
    Aborted,
    Answer,
    Answered,
    Approved,
    Began,
    Command,
    Declined,
    Do,
    Event,
    Gathered,
    Resumed,
    State,
    Tick,
    WriteRecord,
)

ANSWERS: dict[str, Answer] = {
    "refused": Refused("no"),
    "conflict": Conflict("not as we left it"),
    "failed": Failed("Insufficient nvidia.com/gpu"),
    "lost": Lost("reset"),
    "better": Judged("better", ("preemptions_per_s 0",)),
    "worse": Judged("worse", ("itl_p99_s 2",)),
    "inconclusive": Judged("inconclusive", ("too little load",)),
}
GOOD = Facts(
    at=100.0,
    cause="kv-preemption-thrash",
    evidence_at=90.0,
    lever_fits=True,
    bad_nodes=(),
    rollout_age_s=1e9,
    template="t",
    rollout_complete=True,
    rollout_stuck=True,
    replicas=1,
    serving=1,
    spare_schedulable=True,
    quota_left=2,
    disruption_minimum=0,
    autoscaler="",
    owner="",
    separable=True,
    claim="",
    changes_last_hour=0,
    missing_rights=(),
    gateways="",
)
TO_PROOF = """
    begin        -> Gather
    facts        -> record
    ok           -> ClaimHome
    ok           -> record
    ok           -> CreateSpare 0
    ok           -> AwaitSpare 0
    ok s0        -> record
    ok           -> JoinRotation spare-0
    ok           -> PickReplica home-0
    ok h0        -> record
    ok           -> Detach home-0 1
    ok           -> record
    ok           -> ScaleHome 1 0
    ok           -> AwaitDrained home-0
    ok           -> Observe
"""
"""One replica with a spare, up to the question whether the change helped."""


def a_plan(
    strategy: Strategy = "spare",
    replicas: int = 1,
    autonomy: Autonomy = "act",
    bounds: StepLimits | None = None,
) -> RemedyPlan:
    """A plan that lowers --max-num-seqs on so many replicas, or caps outputs at the edge, adds a
    replica, undoes a rollout.
    """
    change = ConfigChange("argument", "--max-num-seqs", "64", "16")
    if strategy == "edge-only":
        change = ConfigChange("limits", "maxOutputTokens", None, "512")
    elif strategy == "edge-live":
        change = ConfigChange("limits", "request.maxOutputTokens", None, "512")
    elif strategy == "scale-out":
        change = ConfigChange("replicas", "replicas", str(replicas), str(replicas + 1))
    elif strategy == "stuck-rollout":
        change = ConfigChange("revision", "revision", "2", "1")
    return RemedyPlan(
        id="i1",
        made_at=0.0,
        target=Target("apps/v1", "Deployment", "inference", "vllm", "u-1"),
        cause="kv-preemption-thrash",
        lever="max-num-seqs",
        change=change,
        expectation=pressure_relieved(),
        strategy=strategy,
        replicas=replicas,
        serving=replicas,
        floor=0,
        baseline=(("arrivals_per_s", 4.0), ("preemptions_per_s", 3.0)),
        template="t",
        because="60 run, 64 are allowed",
        autonomy=autonomy,
        bounds=bounds or StepLimits(attempts=2),
        edge=LiveEdge((GatewayRef("Deployment", "gateway", "inference", 8081),))
        if strategy == "edge-live"
        else None,
    )


class Dialogue:
    """One machine, told things line by line. `at` moves by a second with each line, and past every
    deadline with `late`.
    """

    def __init__(self, plan: RemedyPlan, state: State | None = None) -> None:
        self.state = state or State(plan)
        self.at = 100.0
        self.record: State | None = None
        self.commands: tuple[Command, ...] = ()

    def follow(self, script: str) -> Dialogue:
        """Every line is told, and what is said then is what stands right of its arrow."""
        for number, line in enumerate(script.strip().splitlines(), 1):
            told, _, expected = (part.strip() for part in line.partition("->"))
            said = self.tell(told)
            assert said == expected, f"line {number}: {told}: {said!r}, expected {expected!r}"
        return self

    def tell(self, told: str) -> str:
        """What the machine says when it is told that."""
        self.at += 1.0
        self.state, self.commands = step(self.state, self.event(told))
        said = [
            self.spoken(command)
            for command in self.commands
            if isinstance(command, Do | WriteRecord)
        ]
        return "; ".join([*said, *([self.state.phase] if self.state.ended else [])])

    def event(self, told: str) -> Event:
        """The event that a word stands for."""
        word, _, rest = told.partition(" ")
        key = self.state.waiting.key if self.state.waiting else ""
        match word:
            case "begin":
                return Began(self.at, "a")
            case "facts":
                return Gathered(
                    self.at,
                    key,
                    replace(
                        GOOD,
                        at=self.at,
                        evidence_at=self.at,
                        replicas=self.state.plan.replicas,
                        serving=9,
                    ),
                )
            case "no":
                return (
                    Declined(self.at)
                    if not rest
                    else Gathered(self.at, key, replace(GOOD, owner=None))
                )
            case "yes":
                return Approved(self.at)
            case "abort":
                return Aborted(self.at)
            case "resume":
                return Resumed(self.at, "b")
            case "late":
                self.at = max(self.at, self.state.waiting.until if self.state.waiting else 0.0)
                return Tick(self.at)
            case "ok":
                return Answered(self.at, key, Done(PodRef(rest, f"uid-{rest}") if rest else None))
            case "stale":
                return Answered(self.at, "i1/1/another", Done())
        return Answered(self.at, key, ANSWERS[word])

    def spoken(self, command: Do | WriteRecord) -> str:
        """A command in a few words."""
        if isinstance(command, WriteRecord):
            self.record = command.state
            return "record"
        values = " ".join(
            str(getattr(command.act, name)) for name in command.act.__dataclass_fields__
        )
        return f"{type(command.act).__name__} {values}".strip()

    def killed(self) -> Dialogue:
        """The program dies; another one has read the last record that was sent."""
        assert self.record is not None
        return Dialogue(self.record.plan, self.record)
