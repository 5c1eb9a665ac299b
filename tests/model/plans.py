"""The plans that the model tries one after the other, and what a look at the world says before
each.
"""

from __future__ import annotations

from tests.model.cluster import OLD, READY, ROLLOUT, Setting, World, home_serving

from barostat.core.change import ChangeKind, ConfigChange, pressure_relieved
from barostat.remedy.plan import (
    ROLLBACK,
    GatewayRef,
    LiveEdge,
    PausedOwner,
    RemedyPlan,
    StepLimits,
    Strategy,
    Target,
)
from barostat.remedy.precheck import Facts
from barostat.remedy.state import State

AGAIN = 3
"""Plans that are tried one after the other: each lever once, and the first once more, which the
budget must refuse.
"""


OWNERS = {"git-ops": "Kustomization", "autoscaler": "HorizontalPodAutoscaler"}
KINDS: dict[Strategy, ChangeKind] = {
    "scale-out": "replicas",
    "stuck-rollout": "revision",
    "edge-live": "limits",
}
GATEWAY = LiveEdge((GatewayRef("Deployment", "gateway", "inference", 8081),))


def plan_of(setting: Setting, number: int) -> RemedyPlan:
    """The plan that is tried as that number."""
    lever = setting.levers[number % len(setting.levers)]
    return RemedyPlan(
        id=f"i{number}",
        made_at=0.0,
        target=Target("apps/v1", "Deployment", "inference", "vllm", "u-1"),
        cause="kv-preemption-thrash",
        lever=lever,
        change=ConfigChange(KINDS.get(setting.strategy, "argument"), f"--{lever}", None, "1"),
        expectation=pressure_relieved(),
        strategy=setting.strategy,
        replicas=setting.replicas,
        serving=setting.replicas
        - (setting.rolls == "ordinals" and setting.strategy == "stuck-rollout"),
        floor=setting.replicas - 1,
        baseline=(("arrivals_per_s", 4.0),),
        template="as-found",
        because="the model",
        autonomy="act" if proved_first(setting) else "recommend",
        bounds=StepLimits(attempts=setting.attempts),
        owners=(PausedOwner(OWNERS[setting.owner], "inference", "vllm", "{}", "{}"),)
        if setting.owner
        else (),
        edge=GATEWAY if setting.strategy == "edge-live" else None,
        rolls=setting.rolls,
        canary=setting.canary,
        canary_percent=setting.percent,
        surge=setting.surge,
        unavailable=setting.unavailable,
        keep_previous_s=1800.0 if setting.keeps and number == 0 else 0.0,
        previous="w0" if setting.keeps and lever == ROLLBACK else "",
        drops=("w0",) if setting.keeps and number == 1 and lever != ROLLBACK else (),
    )


def proved_first(setting: Setting) -> bool:
    """True where one unit proves the change; else a person has said yes to the plan."""
    return setting.strategy not in ("canary", "rolling") or setting.canary == "live"


def first_state(plan: RemedyPlan) -> State:
    """The machine before that plan."""
    return State(plan, approved=plan.autonomy != "act")


def facts_of(world: World, setting: Setting) -> Facts:
    """What a look at that world says, with everything else in order."""
    return Facts(
        at=0.0,
        cause="kv-preemption-thrash",
        evidence_at=0.0,
        lever_fits=True,
        bad_nodes=(),
        rollout_age_s=1e9,
        template="as-found" if world.disturbed != "template" else "another",
        rollout_complete=True,
        rollout_stuck=not any(
            pod.stage == READY
            and (pod.owner == ROLLOUT or (setting.rolls != "spares" and pod.version == OLD))
            for pod in world.pods
        ),
        replicas=world.replicas,
        serving=home_serving(world),
        spare_schedulable=True,
        quota_left=2,
        disruption_minimum=0,
        autoscaler="",
        owner="",
        separable=True,
        claim="" if world.claim is None else f"i{world.claim.plan}#{world.claim.epoch}",
        changes_last_hour=world.changes,
        changes_per_hour=setting.changes_per_hour,
        missing_rights=(),
        gateways="",
    )
