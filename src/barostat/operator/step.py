"""The operator's decisions: step(state, seen, now) -> state, commands. Pure.

    harm seen            -> an incident opens; an Event and a notification go out
    autonomy recommend   -> one plan is asked for
    autonomy act         -> one remedy is asked for, unless the budget, the breaker or the switch forbids it
    calm for CALM_S      -> the incident ends
    third incident of one cause in a week -> what would prevent the fourth

Laws: nothing is written or healed unless the operator leads. `observe` asks for nothing but its own
objects. A look that failed concludes nothing. At most one remedy runs for each workload.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal, NamedTuple

from barostat.operator.incident import (
    MOST_ROWS,
    ConditionType,
    EvidenceRow,
    Figures,
    IncidentPlan,
    IncidentSpec,
    IncidentStatus,
    IncidentTarget,
    Phase,
    PressureIncident,
    Severity,
    incident_name,
    rfc3339,
    seconds_of,
)
from barostat.operator.policy import Policy

CALM_S = 120.0
"""Harm that has not been seen for this long is over: thrash comes in episodes."""
WEEK_S = 7 * 86_400.0
RECURS_AT = 3
HOUR_S = 3600.0
BREAKER_AT = 2
BREAKER_S = 86_400.0
"""Time without remedies after two that did not help, so that a person can investigate."""
RETRY_S = 300.0
"""Time before a refused plan is requested again, and before another remedy follows a change."""
RETENTION_S = 30 * 86_400.0
GONE_S = 300.0
"""A workload that has no engine for this long is gone, and its incident with it."""


class Key(NamedTuple):
    """Identity of a workload."""

    namespace: str
    kind: str
    name: str

    def __str__(self) -> str:
        return f"{self.kind.lower()}/{self.name} in {self.namespace}"


@dataclass(frozen=True, slots=True)
class Harm:
    """A diagnosis of a workload with harm."""

    cause: str
    severity: Severity
    summary: str
    variant: str = ""
    replicas: tuple[str, ...] = ()
    evidence: tuple[EvidenceRow, ...] = ()
    plan: IncidentPlan | None = None


@dataclass(frozen=True, slots=True)
class Prediction:
    """Harm predicted if the trend continues. `in_s`: None if no time can be said."""

    kind: str
    sentence: str
    in_s: float | None = None


@dataclass(frozen=True, slots=True)
class TargetSeen:
    """The observation of one workload. `judged`: False if there was no conclusion.

    `present`: False if no engine is in rotation, for example during a remedy.

    `can_act`: why a remedy is impossible regardless of policy; empty if it is possible. `alert`: a
    firing alert of Alertmanager, with `verdict`, the diagnosis in a sentence.
    """

    target: IncidentTarget
    policy: Policy
    judged: bool = True
    harm: Harm | None = None
    figures: Figures | None = None
    predictions: tuple[Prediction, ...] = ()
    can_act: str = ""
    alert: str = ""
    verdict: str = ""
    present: bool = True


Outcome = Literal[
    "verified",
    "taken-back",
    "refused",
    "inconclusive",
    "handed-off",
    "proposed",
    "deferred",
    "stopped",
]
"""`proposed`: a plan was made and not carried out. `deferred`: it waits for the quiet hours.
`stopped`: this operator stopped; the record says where another one goes on.
"""
DID_NOT_HELP: tuple[Outcome, ...] = ("taken-back", "inconclusive", "handed-off")


@dataclass(frozen=True, slots=True)
class RemedyEnded:
    """Event: a requested plan or remedy has ended."""

    key: Key
    outcome: Outcome
    why: str
    plan: IncidentPlan | None = None
    changed: bool = False
    """True if it counts against the change budget."""


@dataclass(frozen=True, slots=True)
class Seen:
    """All that was seen since the last step. `leads`: this operator holds the lease.

    `kept`: incidents that the cluster holds, read when the lease was taken; None if they were not
    read. `switched_off`: the switch for all is off: nothing is healed. `clock_set_s`: how far the
    machine's clock was set since this operator started; `now` is monotonic.
    """

    leads: bool
    targets: Mapping[Key, TargetSeen] = field(default_factory=dict)
    ended: tuple[RemedyEnded, ...] = ()
    kept: tuple[PressureIncident, ...] | None = None
    switched_off: bool = False
    clock_set_s: float = 0.0


# --- commands


@dataclass(frozen=True, slots=True)
class Keep:
    """The cluster holds this incident as it is here."""

    incident: PressureIncident


@dataclass(frozen=True, slots=True)
class Forget:
    """The incident is deleted: its retention is over."""

    namespace: str
    name: str


@dataclass(frozen=True, slots=True)
class Emit:
    """An Event on the workload."""

    namespace: str
    target: IncidentTarget
    reason: str
    message: str
    warning: bool = False


@dataclass(frozen=True, slots=True)
class Notify:
    """A message to the webhooks."""

    incident: PressureIncident
    firing: bool


@dataclass(frozen=True, slots=True)
class Answer:
    """A message to the webhooks that is about no new incident: the diagnosis behind an alert."""

    text: str


@dataclass(frozen=True, slots=True)
class Plan:
    """A plan is made and nothing is carried out."""

    key: Key
    incident: str


@dataclass(frozen=True, slots=True)
class Heal:
    """A plan is made and carried out. `may_restart`: False outside quiet hours: only changes that
    restart and replace nothing. `resume`: another operator may have begun one; it is gone on with.
    """

    key: Key
    incident: str
    may_restart: bool = True
    resume: bool = False
    cause: str = ""


@dataclass(frozen=True, slots=True)
class StopHealing:
    """The remedy finishes the write that is under way and begins nothing more."""

    key: Key


Command = Keep | Forget | Emit | Notify | Answer | Plan | Heal | StopHealing


# --- state


@dataclass(frozen=True, slots=True)
class TargetState:
    """The operator's memory of one workload.

    `harmed_at`: time of the last harm. `busy`: a plan or a remedy is in progress. `healing`: it is
    a remedy. `asked_at`: time of the last request for one, or of its last change. `predicted`: kinds
    of current predictions.
    """

    incident: PressureIncident | None = None
    harmed_at: float = 0.0
    seen_at: float = 0.0
    busy: bool = False
    healing: bool = False
    asked_at: float = float("-inf")
    changes: tuple[float, ...] = ()
    predicted: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class OperatorState:
    """The operator's memory. All of it that has to outlive a crash is in the incidents.

    `past`: incidents that are over, within the retention.
    """

    leads: bool = False
    targets: Mapping[Key, TargetState] = field(default_factory=dict)
    past: tuple[tuple[Key, PressureIncident], ...] = ()


def step(state: OperatorState, seen: Seen, now: float) -> tuple[OperatorState, list[Command]]:
    """The next state, and what is to be done."""
    if not seen.leads:
        stop: list[Command] = [
            StopHealing(key) for key, target in state.targets.items() if target.busy
        ]
        return OperatorState(), stop
    if not state.leads:
        if seen.kept is None:
            return state, []  # whose incidents are not known yet would open them twice
        state = _adopted(seen.kept, now)
    commands: list[Command] = []
    targets = dict(state.targets)
    past = list(state.past)
    for ended in seen.ended:
        if ended.key in targets:
            targets[ended.key] = _after_remedy(targets[ended.key], ended, now, commands)
    for key in (*seen.targets, *(known for known in targets if known not in seen.targets)):
        target = targets.get(key, TargetState(seen_at=now))
        look = seen.targets.get(key)
        if look is None:
            target = _gone(target, now, commands)
        elif look.policy.disabled:
            target = _left_alone(key, target, commands)
        else:
            if look.present:
                target = _looked(key, target, look, past, now, commands)
            else:
                target = _gone(target, now, commands)
            target = _remedied(key, target, look, seen, past, now, commands)
        if target.incident is not None and target.incident.ended and not target.busy:
            past.append((key, target.incident))
            target = replace(target, incident=None, asked_at=float("-inf"))
        if look is None and target.incident is None and not target.busy:
            targets.pop(key, None)
        else:
            targets[key] = target
    kept = []
    for key, incident in past:
        if now - seconds_of(incident.status.ended_at or incident.spec.detected_at) > RETENTION_S:
            commands.append(Forget(incident.namespace, incident.name))
        else:
            kept.append((key, incident))
    return OperatorState(True, targets, tuple(kept)), commands


def key_of(incident: PressureIncident) -> Key:
    """The workload of the incident."""
    target = incident.spec.target_ref
    return Key(incident.namespace, target.kind, target.name)


def _adopted(kept: Iterable[PressureIncident], now: float) -> OperatorState:
    """Restore the state from the incidents in the cluster. If a workload has two open incidents,
    the older one continues.
    """
    targets: dict[Key, TargetState] = {}
    past: list[tuple[Key, PressureIncident]] = []
    for incident in sorted(kept, key=lambda one: one.spec.first_harm_at):
        key = key_of(incident)
        if incident.ended or key in targets:
            past.append((key, incident))
            continue
        targets[key] = TargetState(incident, harmed_at=now, seen_at=now)
    return OperatorState(True, targets, tuple(past))


def _gone(target: TargetState, now: float, commands: list[Command]) -> TargetState:
    if target.incident is None or target.busy or now - target.seen_at < GONE_S:
        return target
    made = _closed(target.incident, "Recovered", "WorkloadGone", "It has no engine any more.", now)
    commands.append(Keep(made))
    return replace(target, incident=made)


def _left_alone(key: Key, target: TargetState, commands: list[Command]) -> TargetState:
    """The switch of the object is off: what runs stops, what is open stays as it is."""
    if target.busy:
        commands.append(StopHealing(key))
    return target


def _looked(
    key: Key,
    target: TargetState,
    look: TargetSeen,
    past: list[tuple[Key, PressureIncident]],
    now: float,
    commands: list[Command],
) -> TargetState:
    """Apply an observation: open, update or close an incident."""
    if not look.judged:
        return replace(target, seen_at=now)
    target = replace(target, seen_at=now, harmed_at=now if look.harm else target.harmed_at)
    target = _predicted(key, target, look, commands)
    if look.alert:
        answer = f"{look.alert}: {look.verdict}"
        commands.append(Emit(key.namespace, look.target, "AlertDiagnosed", answer))
        if look.harm is None or target.incident is not None:
            commands.append(Answer(f"{key}: {answer}"))
    incident = target.incident
    if look.harm is not None and incident is None:
        incident = _opened(key, look, look.harm, past, now)
        commands += [
            Keep(incident),
            Emit(key.namespace, look.target, "PressureDetected", _headline(look.harm), True),
            Notify(incident, firing=True),
        ]
    elif look.harm is not None and incident is not None:
        after = _updated(incident, look.harm, now)
        if after.status.cause != incident.status.cause:
            commands.append(
                Emit(key.namespace, look.target, "CauseChanged", _headline(look.harm), True)
            )
        if after != incident:
            commands.append(Keep(after))
        incident = after
    elif incident is not None and not target.busy and now - target.harmed_at >= CALM_S:
        healed = _is_remedied(incident)
        reason = "Remedied" if healed else "RecoveredByItself"
        message = f"No harm was seen for {CALM_S:.0f} s."
        ended = replace(incident, status=replace(incident.status, after=look.figures))
        incident = _closed(ended, "Healed" if healed else "Recovered", reason, message, now)
        commands += [
            Keep(incident),
            Emit(key.namespace, look.target, "PressureEnded", f"{incident.name}: {message}"),
            Notify(incident, firing=False),
        ]
    return replace(target, incident=incident)


def _opened(
    key: Key,
    look: TargetSeen,
    harm: Harm,
    past: list[tuple[Key, PressureIncident]],
    now: float,
) -> PressureIncident:
    at = rfc3339(now)
    spec = IncidentSpec(look.target, harm.cause, harm.severity, at, at, harm.variant)
    made = PressureIncident(key.namespace, incident_name(key.name, now), spec)
    status = IncidentStatus(
        cause=harm.cause,
        summary=harm.summary,
        replicas=harm.replicas[:100],
        evidence=harm.evidence[:MOST_ROWS],
        plan=harm.plan,
        proposals=_proposals(key, harm, look, past, now),
        before=look.figures,
    )
    made = replace(made, status=status)
    if harm.plan is not None:
        made = made.with_condition("Planned", "True", "Proposed", harm.plan.change, now)
    if look.policy.problem:
        made = made.with_condition(
            "Planned", "Unknown", "PolicyUnreadable", look.policy.problem, now
        )
    return made.with_condition("Harmful", "True", "HarmDetected", harm.summary, now)


def _updated(incident: PressureIncident, harm: Harm, now: float) -> PressureIncident:
    """Update the incident. Evidence is written only when the cause changes: its numbers differ at
    every observation, and constant writes are noise.
    """
    changed = harm.cause != incident.status.cause
    more = tuple(name for name in harm.replicas if name not in incident.status.replicas)
    tried = harm.plan is not None and harm.plan.is_tried and wants_trial(incident)
    if not changed and not more and not tried:
        return incident
    status = replace(
        incident.status,
        replicas=(*incident.status.replicas, *more)[:100],
        plan=harm.plan if tried else incident.status.plan,
    )
    if changed:
        plan = incident.status.plan
        status = replace(
            status,
            cause=harm.cause,
            summary=harm.summary,
            evidence=harm.evidence[:MOST_ROWS],
            plan=plan if plan is not None and plan.record else harm.plan,
        )
    made = replace(incident, status=status)
    return made.with_condition("Harmful", "True", "HarmDetected", harm.summary, now)


def wants_trial(incident: PressureIncident | None) -> bool:
    """True if the plan of an open incident has not been tried on the twin. One that is carried
    out is measured instead.
    """
    if incident is None or incident.ended or incident.status.plan is None:
        return False
    return not incident.status.plan.is_tried and not incident.status.plan.record


def _closed(
    incident: PressureIncident,
    phase: Literal["Healed", "Recovered"],
    reason: str,
    message: str,
    now: float,
) -> PressureIncident:
    made = incident.with_condition("Harmful", "False", reason, message, now)
    return replace(made, status=replace(made.status, phase=phase, ended_at=rfc3339(now)))


def _headline(harm: Harm) -> str:
    return f"{harm.cause}: {harm.summary}"


def _proposals(
    key: Key,
    harm: Harm,
    look: TargetSeen,
    past: list[tuple[Key, PressureIncident]],
    now: float,
) -> tuple[str, ...]:
    """Return proposals that would prevent the next incident, from the third incident of one cause
    within a week.
    """
    earlier = sum(
        1
        for other, incident in past
        if other == key
        and incident.spec.cause == harm.cause
        and now - seconds_of(incident.spec.first_harm_at) <= WEEK_S
    )
    if earlier + 1 < RECURS_AT:
        return ()
    found = [f"This is incident {earlier + 1} of {harm.cause} within 7 days. Prevent the next one:"]
    workload = f"{key.kind.lower()}/{key.name} -n {key.namespace}"
    if harm.cause in ("kv-preemption-thrash", "kv-admission-queueing", "kv-pool-too-small"):
        found += [
            f"Set limits from the traffic: barostat plan --from {workload} -o limits",
            "Enforce them at the gateway: barostat gateway --limits FILE --shadow first",
            "If prompt lengths are mixed, separate long and short requests into two pools.",
        ]
    if harm.cause in ("slot-bound", "prefill-bound", "compute-bound", "scaling-lag", *_KV):
        limit = look.policy.max_replicas
        ceiling = f" (spec.remedy.maxReplicas is {limit})" if limit is not None else ""
        found.append(f"Request capacity for the peak: more replicas{ceiling} or larger cards.")
    if harm.cause in ("host-oom", "gpu-oom", "hung-engine", "node-fault"):
        found.append(f"Read what the incidents have in common: barostat diagnose {workload}")
    return tuple(found)


_KV = ("kv-preemption-thrash", "kv-admission-queueing")


def _predicted(
    key: Key, target: TargetState, look: TargetSeen, commands: list[Command]
) -> TargetState:
    """An Event for each prediction that is new. One that stands is not repeated."""
    kinds = frozenset(one.kind for one in look.predictions)
    commands += [
        Emit(key.namespace, look.target, one.kind, one.sentence, True)
        for one in look.predictions
        if one.kind not in target.predicted and target.incident is None
    ]
    return replace(target, predicted=kinds)


# --- remedies


def _remedied(
    key: Key,
    target: TargetState,
    look: TargetSeen,
    seen: Seen,
    past: list[tuple[Key, PressureIncident]],
    now: float,
    commands: list[Command],
) -> TargetState:
    """Request a plan or a remedy, or stop one."""
    incident = target.incident
    if incident is None or incident.ended:
        return target
    if target.busy:
        if target.healing and (seen.switched_off or look.policy.autonomy != "act"):
            commands.append(StopHealing(key))
        return target
    if look.policy.autonomy == "observe" or look.policy.problem:
        return target
    resume = _unfinished(incident)
    if resume and seen.switched_off:
        return _held_back(key, target, look, incident, ("SwitchedOff", _CUT_OFF), now, commands)
    if not resume and (look.harm is None or now - target.asked_at < RETRY_S):
        return target
    if look.policy.autonomy == "recommend":
        if resume or target.asked_at > float("-inf"):
            return target
        commands.append(Plan(key, incident.name))
        return replace(target, busy=True, asked_at=now)
    incident = _with_what_is_left(incident, look.harm, now)
    against = _against(key, target, look, seen, past, now)
    if against and not resume:
        return _held_back(key, target, look, incident, against, now, commands)
    may_restart = look.policy.quiet is None or look.policy.quiet.covers(now + seen.clock_set_s)
    made = incident
    if not _is_remedied(incident):
        under_way = "A remedy is under way."
        made = incident.with_condition("Remedied", "Unknown", "Healing", under_way, now)
    made = replace(made, status=replace(made.status, phase="Healing"))
    commands += [Keep(made), Heal(key, incident.name, may_restart, resume, made.status.cause)]
    return replace(target, incident=made, busy=True, healing=True, asked_at=now)


_CUT_OFF = "A remedy was cut off. It goes on once the switch for all workloads is on again."


def _held_back(
    key: Key,
    target: TargetState,
    look: TargetSeen,
    incident: PressureIncident,
    against: tuple[str, str],
    now: float,
    commands: list[Command],
) -> TargetState:
    """No remedy is asked for: the incident says why, and an Event once."""
    made = _without_remedy(incident, *against, now)
    if made != target.incident:
        commands.append(Keep(made))
    if made != incident:
        message = f"{incident.name}: {against[1]}"
        commands.append(Emit(key.namespace, look.target, against[0], message, True))
    return replace(target, incident=made, asked_at=now)


def _without_remedy(
    incident: PressureIncident, reason: str, message: str, now: float
) -> PressureIncident:
    """The incident says why no remedy follows. An earlier one that was verified stays so: then it
    is no further plan that there is.
    """
    kind: ConditionType = "Planned" if _is_remedied(incident) else "Remedied"
    return incident.with_condition(kind, "False", reason, message, now)


def _is_remedied(incident: PressureIncident) -> bool:
    """True if a remedy was verified and none after it did not help."""
    found = incident.condition("Remedied")
    return found is not None and found.status == "True"


def _with_what_is_left(
    incident: PressureIncident, harm: Harm | None, now: float
) -> PressureIncident:
    """The incident says what a verified remedy has left, once it had time to show."""
    if harm is None or not _is_remedied(incident):
        return incident
    return incident.with_condition("Harmful", "True", "HarmRemains", harm.summary, now)


def _unfinished(incident: PressureIncident) -> bool:
    """True if a remedy was under way when its operator went."""
    return incident.status.phase == "Healing"


def _against(
    key: Key,
    target: TargetState,
    look: TargetSeen,
    seen: Seen,
    past: list[tuple[Key, PressureIncident]],
    now: float,
) -> tuple[str, str] | None:
    """Why nothing is healed now, as reason and message; None if nothing forbids it."""
    if seen.switched_off:
        return "SwitchedOff", "The switch for all workloads is off."
    if look.can_act:
        return "CannotAct", look.can_act
    limit = look.policy.changes_per_hour
    recent = [at for at in target.changes if now - at < HOUR_S]
    if len(recent) >= limit:
        return (
            "BudgetSpent",
            f"{len(recent)} changes were made within the hour; {limit} are allowed.",
        )
    if (failed := _failures(key, target, past, now)) >= BREAKER_AT:
        rest_h = BREAKER_S / HOUR_S
        return (
            "BreakerOpen",
            f"{failed} remedies in a row did not help. A person has to look; it tries again after {rest_h:.0f} h.",
        )
    return None


def _failures(
    key: Key, target: TargetState, past: list[tuple[Key, PressureIncident]], now: float
) -> int:
    """Remedies within the breaker's time that did not help, back to the last one that did."""
    own = [incident for other, incident in past if other == key]
    if target.incident is not None:
        own.append(target.incident)
    count = 0
    for incident in sorted(own, key=lambda one: one.spec.first_harm_at, reverse=True):
        found = incident.condition("Remedied")
        if found is None or now - seconds_of(found.last_transition_time) > BREAKER_S:
            continue
        if found.status == "True":
            break
        count += incident.status.failed_remedies or 0
    return count


def _after_remedy(
    target: TargetState, ended: RemedyEnded, now: float, commands: list[Command]
) -> TargetState:
    """The incident with what its remedy came to."""
    changes = (
        *(at for at in target.changes if now - at < HOUR_S),
        *([now] if ended.changed else []),
    )
    after = replace(
        target,
        busy=False,
        healing=False,
        changes=changes,
        # the change needs time to show: harm that is still seen may be older than it
        asked_at=now if ended.changed else target.asked_at,
    )
    incident = target.incident
    if incident is None:
        return after
    made = incident
    if ended.plan is not None:
        plan = ended.plan.with_trial_of(made.status.plan)
        made = replace(made, status=replace(made.status, plan=plan))
    if ended.outcome == "proposed":
        refused = ended.plan is not None and ended.plan.refused_because
        reason = "WouldBeRefused" if refused else "Proposed"
        made = made.with_condition("Planned", "True", reason, ended.why, now)
    elif ended.outcome == "stopped":
        commands.append(Keep(made))
        return replace(after, incident=made)
    else:
        made = _with_outcome(made, ended, now)
    commands += [
        Keep(made),
        Emit(
            made.namespace,
            made.spec.target_ref,
            _REASONS[ended.outcome],
            f"{made.name}: {ended.why}",
            ended.outcome != "verified",
        ),
    ]
    if ended.outcome not in ("proposed", "deferred", "refused"):
        commands.append(Notify(made, firing=True))
    return replace(after, incident=made)


def _with_outcome(incident: PressureIncident, ended: RemedyEnded, now: float) -> PressureIncident:
    if ended.outcome == "verified":
        made = incident.with_condition("Remedied", "True", "Verified", ended.why, now)
        return replace(made, status=replace(made.status, phase="Open"))
    reason = _REASONS[ended.outcome]
    if ended.outcome not in DID_NOT_HELP:
        phase: Phase = "Open" if _is_remedied(incident) else "NotHealed"
        made = _without_remedy(incident, reason, ended.why, now)
        return replace(made, status=replace(made.status, phase=phase))
    failed = (incident.status.failed_remedies or 0) + 1
    made = incident.with_condition("Remedied", "False", reason, ended.why, now)
    return replace(made, status=replace(made.status, phase="NotHealed", failed_remedies=failed))


_REASONS: dict[Outcome, str] = {
    "verified": "Verified",
    "taken-back": "DidNotHelp",
    "inconclusive": "DidNotHelp",
    "handed-off": "DidNotHelp",
    "refused": "Refused",
    "proposed": "PlanProposed",
    "deferred": "WaitsForQuietHours",
    "stopped": "Stopped",
}
