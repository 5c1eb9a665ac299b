"""The operator's decisions, without a cluster: what opens, what heals, what forbids it, what ends."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from barostat.operator.incident import IncidentPlan, IncidentTarget, PressureIncident
from barostat.operator.policy import Autonomy, Policy, quiet_hours
from barostat.operator.step import (
    BREAKER_S,
    CALM_S,
    RETENTION_S,
    RETRY_S,
    Answer,
    Command,
    Emit,
    Forget,
    Harm,
    Heal,
    Keep,
    Key,
    Notify,
    OperatorState,
    Outcome,
    Plan,
    Prediction,
    RemedyEnded,
    Seen,
    StopHealing,
    TargetSeen,
    step,
    wants_trial,
)

KEY = Key("inference", "Deployment", "vllm")
TARGET = IncidentTarget("apps/v1", "Deployment", "vllm", "u1")
THRASH = Harm(
    "kv-preemption-thrash", "warning", "8 preemptions/s", plan=IncidentPlan("edge", "edge: 4096")
)
DAY_S = 86_400.0
BEGIN = 1_790_000_000.0


def look(harm: Harm | None = THRASH, autonomy: Autonomy = "observe", **more: object) -> TargetSeen:
    policy = more.pop("policy", None) or Policy(autonomy)
    return TargetSeen(TARGET, policy, harm=harm, **more)  # type: ignore[arg-type]


@dataclass
class World:
    """An operator that leads, and what the cluster holds."""

    now: float = BEGIN
    state: OperatorState = field(default_factory=OperatorState)
    kept: dict[str, PressureIncident] = field(default_factory=dict)
    commands: list[Command] = field(default_factory=list)

    def sees(
        self,
        found: TargetSeen | None = None,
        *ended: RemedyEnded,
        after_s: float = 10.0,
        **more: object,
    ) -> list[Command]:
        self.now += after_s
        targets = {KEY: found} if found is not None else {}
        held = tuple(self.kept.values()) if not self.state.leads else None
        seen = Seen(True, targets, ended, held, **more)  # type: ignore[arg-type]
        self.state, commands = step(self.state, seen, self.now)
        for command in commands:
            if isinstance(command, Keep):
                self.kept[command.incident.name] = command.incident
            if isinstance(command, Forget):
                del self.kept[command.name]
        self.commands += commands
        return commands

    def restarts(self) -> None:
        self.state = OperatorState()

    @property
    def incident(self) -> PressureIncident:
        return max(self.kept.values(), key=lambda one: one.spec.first_harm_at)

    def heals(self, outcome: Outcome, autonomy: Autonomy = "act") -> None:
        """Harm is seen, a remedy is asked for and ends so."""
        commands = self.sees(look(autonomy=autonomy), after_s=RETRY_S)
        assert kinds(commands, Heal), commands
        self.sees(look(autonomy=autonomy), RemedyEnded(KEY, outcome, "so it was", changed=True))

    def is_calm(self) -> None:
        self.sees(look(None), after_s=CALM_S)


def kinds(commands: Sequence[Command], kind: type) -> list[Command]:
    return [command for command in commands if isinstance(command, kind)]


def reasons(commands: Sequence[Command]) -> list[str]:
    return [command.reason for command in commands if isinstance(command, Emit)]


def test_the_first_harm_opens_an_incident_with_cause_evidence_and_plan() -> None:
    world = World()
    world.sees(look(None))
    assert not world.kept
    commands = world.sees(look())
    assert [type(one) for one in commands] == [Keep, Emit, Notify]
    assert world.incident.spec.cause == "kv-preemption-thrash"
    assert world.incident.status.plan == THRASH.plan
    assert world.incident.status.phase == "Open"
    assert world.sees(look()) == []


def test_observe_asks_for_no_plan_and_no_remedy() -> None:
    world = World()
    for _ in range(200):
        world.sees(look(), after_s=30.0)
    assert not kinds(world.commands, Heal)
    assert not kinds(world.commands, Plan)


def test_recommend_asks_for_one_plan() -> None:
    world = World()
    for _ in range(100):
        world.sees(look(autonomy="recommend"), after_s=30.0)
    assert len(kinds(world.commands, Plan)) == 1
    assert not kinds(world.commands, Heal)


def test_harm_that_comes_and_goes_is_one_incident() -> None:
    world = World()
    for index in range(20):
        world.sees(look() if index % 3 == 0 else look(None), after_s=CALM_S / 3)
    assert len(world.kept) == 1
    world.is_calm()
    assert world.incident.status.phase == "Recovered"
    assert world.incident.status.reason == "RecoveredByItself"
    assert world.incident.status.ended_at


def test_a_look_that_failed_concludes_nothing() -> None:
    world = World()
    world.sees(look())
    for _ in range(100):
        assert world.sees(look(None, judged=False), after_s=30.0) == []
    assert world.incident.status.phase == "Open"


def test_a_verified_remedy_heals_and_the_incident_ends_once_it_is_calm() -> None:
    world = World()
    world.heals("verified")
    assert world.incident.condition("Remedied").status == "True"  # type: ignore[union-attr]
    world.is_calm()
    assert world.incident.status.phase == "Healed"


def test_what_was_changed_has_time_to_show_before_another_remedy_is_asked_for() -> None:
    world = World()
    policy = Policy("act", changes_per_hour=5)
    world.sees(look(policy=policy))
    world.sees(
        look(policy=policy), RemedyEnded(KEY, "verified", "so it was", changed=True), after_s=400.0
    )
    assert not kinds(world.commands, Heal)[1:]
    assert not kinds(world.sees(look(policy=policy), after_s=RETRY_S - 1.0), Heal)
    assert world.incident.condition("Remedied").status == "True"  # type: ignore[union-attr]
    assert kinds(world.sees(look(policy=policy), after_s=1.0), Heal)


def test_what_a_verified_remedy_has_left_is_told_with_why_nothing_follows() -> None:
    world = World()
    policy = Policy("act", changes_per_hour=1)
    world.sees(look(policy=policy))
    world.sees(look(policy=policy), RemedyEnded(KEY, "verified", "so it was", changed=True))
    left = replace(THRASH, summary="7 preemptions, 0.05 per finished request")
    world.sees(look(left, policy=policy), after_s=RETRY_S)
    harmful, planned = (world.incident.condition(kind) for kind in ("Harmful", "Planned"))
    assert harmful is not None
    assert planned is not None
    assert (harmful.reason, harmful.message) == ("HarmRemains", left.summary)
    assert (planned.reason, world.incident.condition("Remedied").status) == ("BudgetSpent", "True")  # type: ignore[union-attr]
    assert world.sees(look(left, policy=policy), after_s=RETRY_S) == []


def test_one_remedy_at_a_time() -> None:
    world = World()
    assert kinds(world.sees(look(autonomy="act")), Heal)
    for _ in range(200):
        assert not kinds(world.sees(look(autonomy="act"), after_s=60.0), Heal)


def test_after_two_remedies_that_did_not_help_a_person_has_to_look() -> None:
    world = World()
    world.heals("taken-back")
    world.heals("inconclusive")
    assert world.incident.status.failed_remedies == 2
    for _ in range(20):
        assert not kinds(world.sees(look(autonomy="act"), after_s=3600.0), Heal)
    assert "BreakerOpen" in reasons(world.commands)
    assert reasons(world.commands).count("BreakerOpen") == 1
    assert kinds(world.sees(look(autonomy="act"), after_s=BREAKER_S), Heal)


def test_the_breaker_outlives_a_restart() -> None:
    world = World()
    world.heals("taken-back")
    world.heals("handed-off")
    world.restarts()
    assert not kinds(world.sees(look(autonomy="act"), after_s=2 * RETRY_S), Heal)


def test_a_remedy_that_helped_closes_the_breaker() -> None:
    world = World()
    world.heals("taken-back")
    world.heals("verified")
    world.is_calm()
    world.now += 3600.0
    world.heals("taken-back")
    assert kinds(world.sees(look(autonomy="act"), after_s=3600.0), Heal)


def test_the_change_budget_of_the_hour_holds() -> None:
    world = World()
    policy = Policy("act", changes_per_hour=1)
    world.sees(look(policy=policy))
    world.sees(look(policy=policy), RemedyEnded(KEY, "verified", "so it was", changed=True))
    assert not kinds(world.sees(look(policy=policy), after_s=RETRY_S), Heal)
    assert "BudgetSpent" in reasons(world.commands)
    assert kinds(world.sees(look(policy=policy), after_s=3600.0), Heal)


def test_no_budget_at_all_is_none() -> None:
    world = World()
    world.sees(look(policy=Policy("act", changes_per_hour=0)))
    assert not kinds(world.commands, Heal)


def test_the_switch_for_all_stops_what_runs_and_begins_nothing() -> None:
    world = World()
    world.sees(look(autonomy="act"))
    assert world.sees(look(autonomy="act"), switched_off=True) == [StopHealing(KEY)]
    world.sees(look(autonomy="act"), RemedyEnded(KEY, "stopped", "the switch"), switched_off=True)
    for _ in range(20):
        assert not kinds(world.sees(look(autonomy="act"), after_s=RETRY_S, switched_off=True), Heal)
    assert "SwitchedOff" not in reasons(world.sees(look(autonomy="act"), after_s=RETRY_S))


def test_the_switch_of_one_object_leaves_it_alone() -> None:
    world = World()
    off = look(policy=Policy("act", disabled=True))
    assert world.sees(off) == []
    world.sees(look(autonomy="act"))
    assert world.sees(off) == [StopHealing(KEY)]


def test_outside_quiet_hours_nothing_is_restarted() -> None:
    world = World()
    at_two = quiet_hours("0 2 * * * 4h")
    (heal,) = kinds(world.sees(look(policy=Policy("act", quiet=at_two))), Heal)
    assert isinstance(heal, Heal)
    assert heal.may_restart is at_two.covers(world.now)
    assert not heal.may_restart


def test_an_operator_that_lost_the_lease_writes_nothing_and_stops_what_runs() -> None:
    world = World()
    world.sees(look(autonomy="act"))
    state, commands = step(world.state, Seen(False, {KEY: look(autonomy="act")}), world.now + 10)
    assert commands == [StopHealing(KEY)]
    assert step(state, Seen(False, {KEY: look(autonomy="act")}), world.now + 20)[1] == []


def test_who_does_not_know_the_incidents_yet_opens_none() -> None:
    state, commands = step(OperatorState(), Seen(True, {KEY: look()}, kept=None), BEGIN)
    assert (state.leads, commands) == (False, [])


def test_the_next_operator_goes_on_with_the_incident_and_its_remedy() -> None:
    world = World()
    world.sees(look(autonomy="act"))
    assert world.incident.status.phase == "Healing"
    world.restarts()
    (heal,) = kinds(world.sees(look(autonomy="act")), Heal)
    assert isinstance(heal, Heal)
    assert heal.resume
    assert len(world.kept) == 1


def test_a_remedy_is_gone_on_with_where_no_engine_of_the_workload_is_left_in_rotation() -> None:
    world = World()
    world.sees(look(autonomy="act"))
    world.restarts()
    bare = look(None, "act", judged=False, present=False)
    assert kinds(world.sees(bare, after_s=600.0), Heal)
    assert world.incident.status.phase == "Healing"


def test_the_third_incident_of_one_cause_in_a_week_yields_what_prevents_the_next() -> None:
    world = World()
    for number in (1, 2, 3):
        world.sees(look(), after_s=DAY_S)
        assert bool(world.incident.status.proposals) is (number == 3)
        world.is_calm()
    assert "incident 3 of kv-preemption-thrash within 7 days" in world.incident.status.proposals[0]
    world.sees(look(), after_s=8 * DAY_S)
    assert not world.incident.status.proposals


def test_incidents_are_forgotten_after_their_retention() -> None:
    world = World()
    world.sees(look())
    world.is_calm()
    assert not kinds(world.sees(look(None), after_s=RETENTION_S - 3600.0), Forget)
    assert kinds(world.sees(look(None), after_s=7200.0), Forget)
    assert not world.kept


def test_a_workload_that_is_gone_takes_its_incident_along() -> None:
    world = World()
    world.sees(look())
    assert world.sees(None, after_s=60.0) == []
    world.sees(None, after_s=600.0)
    assert world.incident.status.reason == "WorkloadGone"
    assert not world.state.targets


def test_a_prediction_is_told_once_and_again_once_it_came_back() -> None:
    world = World()
    coming = look(None, predictions=(Prediction("PoolWillFill", "in 40 s", 40.0),))
    assert reasons(world.sees(coming)) == ["PoolWillFill"]
    assert world.sees(coming) == []
    assert world.sees(look(None)) == []
    assert reasons(world.sees(coming)) == ["PoolWillFill"]


def test_an_alert_gets_the_diagnosis_back() -> None:
    world = World()
    quiet = look(None, alert="VllmDown", verdict="healthy-idle: nothing runs")
    commands = world.sees(quiet)
    assert reasons(commands) == ["AlertDiagnosed"]
    assert kinds(commands, Answer) == [
        Answer("deployment/vllm in inference: VllmDown: healthy-idle: nothing runs")
    ]
    commands = world.sees(look(alert="VllmDown", verdict="kv-preemption-thrash: so"))
    assert [type(one) for one in commands] == [Emit, Keep, Emit, Notify]


def test_a_setting_that_cannot_be_read_is_in_the_incident() -> None:
    world = World()
    world.sees(look(policy=Policy("observe", problem="autonomy is 'full'")))
    assert world.incident.condition("Planned").reason == "PolicyUnreadable"  # type: ignore[union-attr]


def test_a_plan_that_was_tried_later_is_kept_and_asks_for_no_second_trial() -> None:
    world = World()
    world.sees(look())
    assert wants_trial(world.incident)
    assert THRASH.plan is not None
    tried = replace(THRASH, plan=replace(THRASH.plan, effect="helps"))
    world.sees(look(tried))
    assert world.incident.status.plan == tried.plan
    assert not wants_trial(world.incident)
    assert not kinds(world.sees(look()), Keep)
    world.is_calm()
    assert not wants_trial(world.incident)


def test_a_remedy_that_was_cut_off_and_is_held_back_by_the_switch_says_so_once() -> None:
    world = World()
    assert kinds(world.sees(look(autonomy="act")), Heal)
    world.restarts()
    commands = world.sees(look(autonomy="act"), switched_off=True)
    assert (kinds(commands, Heal), reasons(commands)) == ([], ["SwitchedOff"])
    found = world.incident.condition("Remedied")
    assert found is not None
    assert (found.status, found.reason) == ("False", "SwitchedOff")
    assert world.sees(look(autonomy="act"), switched_off=True) == []
    (heal,) = kinds(world.sees(look(autonomy="act")), Heal)
    assert isinstance(heal, Heal)
    assert heal.resume


def test_what_is_refused_after_a_verified_remedy_leaves_it_verified() -> None:
    world = World()
    world.heals("verified")
    assert kinds(world.sees(look(autonomy="act"), after_s=RETRY_S), Heal)
    world.sees(look(autonomy="act"), RemedyEnded(KEY, "refused", "no lever is left"))
    remedied, planned = (world.incident.condition(kind) for kind in ("Remedied", "Planned"))
    assert remedied is not None
    assert planned is not None
    assert (remedied.status, remedied.reason) == ("True", "Verified")
    assert (planned.status, planned.reason) == ("False", "Refused")
    assert (planned.message, world.incident.status.phase) == ("no lever is left", "Open")
    world.is_calm()
    assert world.incident.status.phase == "Healed"
