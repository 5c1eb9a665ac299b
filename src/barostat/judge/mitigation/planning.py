"""A diagnosis and what surrounds the target -> a plan: which lever, to which value, how, and what
will prove it. Or why there is none.

The levers are the diagnosis' own next steps: first those that a gateway before the target can hold
at once, then in their order; what a machine cannot do (advice, a card, a node) and what would not
be enforced (limits at the edge, where no gateway takes them) is passed over, with the reason.
Strategy: held live by the gateways for a limit at the edge; a spare where a node takes one more
replica; in place where that was asked for or nothing serves anyway; limits alone where only they
were asked for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from barostat.catalog.settings.table import canonical_name
from barostat.core.change import ConfigChange, Expectation
from barostat.core.config import ConfigScalar
from barostat.core.diagnosis import Expected, NextStep, ReplicaReport, StepForecast
from barostat.core.limits import (
    LimitsSpec,
    RemedyLimits,
    ServiceLevel,
    ServingLimits,
    contradictions,
)
from barostat.core.proposed_change import (
    EditPodSpec,
    ProposedChange,
    Scale,
    SetEdgeLimit,
    SetEnvironment,
    SetFlag,
)
from barostat.core.units import many
from barostat.core.window import Window
from barostat.judge.advice.change_text import as_written, beside_today
from barostat.judge.advice.tried_steps import TRIED_FOR, with_ranked_steps
from barostat.judge.diagnosis.diagnose import examine
from barostat.judge.diagnosis.fleet import badness
from barostat.judge.manifest_edit.config_change import change_of, digest, setting_change
from barostat.judge.manifest_edit.flag_surgery import NotChanged, is_former_whole
from barostat.judge.mitigation.changed_source import changed_source
from barostat.judge.mitigation.facts import spare_place, worse_before, written_number
from barostat.judge.mitigation.gateways import at_gateways, live_edge, why_none
from barostat.judge.mitigation.kept_units import jobs_of, kept_of, why_not_kept
from barostat.judge.mitigation.paused_mark import paused_by
from barostat.judge.mitigation.pod_times import drain_s_of, with_times_of
from barostat.judge.mitigation.promise import promise, promise_of_rollback
from barostat.judge.mitigation.requested_lever import Requested, RequestedChange, RequestedLever
from barostat.judge.mitigation.rollout_gpus import rollout_gpus
from barostat.judge.mitigation.rotation import rotation_labels, selects, separable
from barostat.judge.mitigation.standing_change import made_else
from barostat.judge.mitigation.start_refused import would_not_start
from barostat.judge.mitigation.target_objects import former_revision, is_stuck
from barostat.judge.mitigation.target_snapshot import TargetSnapshot
from barostat.platform.objects import mapping, name_of, text
from barostat.platform.workloads import CanaryKind, NumberedKind, OwnedKind, marks
from barostat.remedy.annotations import ENDED
from barostat.remedy.plan import (
    ASKED_FOR,
    ROLLBACK,
    Autonomy,
    RemedyPlan,
    StepLimits,
    Strategy,
    Target,
    taking_back,
)
from barostat.remedy.state import State
from barostat.twin.summary import Slo

_POOL_STAYS = ("max_num_active_seqs", "max_num_seqs", "watermark", "enable_prefix_caching")
"""Settings beside which the pool that was seen is still the pool afterwards."""


@dataclass(frozen=True, slots=True)
class Wish:
    """The user's options besides the target. `requested`: None if the diagnosis chooses; `drain_s`:
    None if it follows from the length of the requests; `edge_only`: only a limit that a gateway
    holds live, nothing that restarts an engine; `keep_previous_s`: None if the limits say how long
    the former version stays warm.
    """

    id: str
    requested: Requested | None = None
    autonomy: Autonomy = "recommend"
    in_place: bool = False
    sustained_s: float = 120.0
    drain_s: float | None = None
    bounds: StepLimits = field(default_factory=StepLimits)
    edge_only: bool = False
    keep_previous_s: float | None = None


@dataclass(frozen=True, slots=True)
class NoRemedy:
    """Nothing is proposed, and why; what was passed over on the way, a sentence each."""

    why: str
    passed_over: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Planned:
    """The plan, the replica that it was read from, and what was passed over before this lever, a
    sentence each.
    """

    plan: RemedyPlan
    replica: ReplicaReport
    passed_over: tuple[str, ...]


def plan_for(
    seen: TargetSnapshot, wish: Wish, limits: ServingLimits | None, earlier: Sequence[State] = ()
) -> Planned | NoRemedy:
    """The plan for this target, or why there is none. `earlier`: its incidents; what was worse then
    is not tried again by itself.
    """
    windows = seen.windows()
    sick = [
        replica
        for replica in seen.report.replicas
        if not replica.diagnosis.cause.startswith("healthy")
        and replica.diagnosis.cause != "unknown"
    ]
    if not seen.report.replicas:
        wanted = (
            "no replica is asked for"
            if seen.replicas == 0
            else f"none of its pods ({seen.replicas} are asked for) is a vLLM"
        )
        return NoRemedy(f"nothing to look at: {wanted}")
    if not sick:
        causes = ", ".join(sorted({replica.diagnosis.cause for replica in seen.report.replicas}))
        typed = (
            f"{seen.kind.typed(name_of(seen.home))} -n {text(seen.home, 'metadata', 'namespace')}"
        )
        return NoRemedy(
            f"no cause to act on was found: {causes}; the evidence: barostat diagnose {typed}"
        )
    worst = max(sick, key=lambda replica: badness(replica.diagnosis))
    if worst.name not in windows:
        return NoRemedy(f"{worst.name} has no readings")
    remedy = limits.spec.remedy if limits is not None else RemedyLimits()
    if not isinstance(wish.requested, RequestedChange):
        worst = _ranked(seen, worst, limits)
    serving = seen.serving()
    if serving is None:
        return NoRemedy(
            f"how many replicas serve could not be read: {'; '.join(seen.unread.values())}"
        )
    if wish.requested is None:
        chosen = _first(seen, wish, worst, limits, serving, earlier)
    else:
        chosen = _requested(seen, wish.requested, worst)
    if isinstance(chosen, NoRemedy):
        return chosen
    change, passed = chosen.change, chosen.passed_over
    if change.kind == "limits" and (against := _limit_against(change, windows[worst.name], limits)):
        return NoRemedy(f"{change}: {against}", passed)
    strategy = _strategy(seen, wish, change, serving, remedy)
    if isinstance(strategy, NoRemedy):
        return replace(strategy, passed_over=passed)
    slo = limits.spec.slo if limits is not None else ServiceLevel()
    expectation, former = promise(
        worst.diagnosis.cause,
        change,
        windows[worst.name],
        slo,
        replicas=seen.replicas,
        sustained_s=wish.sustained_s,
        fleet=list(windows.values()),
        live=strategy == "edge-live",
        forecast=chosen.forecast,
    )
    metadata = mapping(seen.home, "metadata")
    return Planned(
        RemedyPlan(
            id=wish.id,
            made_at=seen.at,
            target=Target(
                seen.kind.api.api_version,
                seen.kind.api.kind,
                text(metadata, "namespace"),
                name_of(seen.home),
                text(metadata, "uid"),
            ),
            cause=worst.diagnosis.cause,
            variant=worst.diagnosis.variant,
            lever=chosen.lever,
            change=change,
            expectation=expectation,
            strategy=strategy,
            replicas=seen.replicas,
            serving=min(serving, seen.replicas),
            floor=remedy.floor_replicas
            if remedy.floor_replicas is not None
            else max(1, seen.replicas - 1),
            max_replicas=remedy.max_replicas,
            baseline=former,
            template=digest(seen.source),
            because=chosen.because,
            gpus=seen.kind.unit_gpus(seen.home),
            autonomy=wish.autonomy,
            parent=text(marks(seen.home), ENDED),
            bounds=_bounds(seen, wish, expectation),
            edge=live_edge(seen.gateways) if strategy == "edge-live" else None,
            **_owners_roll(seen, strategy),
            unit_pods=seen.kind.pods_per_unit(seen.home),
            **_kept(seen, wish, strategy, remedy),
        ),
        worst,
        passed,
    )


def _owners_roll(seen: TargetSnapshot, strategy: Strategy) -> dict[str, Any]:
    """How the units get the change, as fields of the plan."""
    if strategy not in ("canary", "rolling") and not isinstance(seen.kind, OwnedKind):
        return {"rolls": seen.kind.rolls or "spares"}
    return {
        "rolls": "canary" if strategy == "canary" else "owner",
        "canary": "live" if strategy == "canary" else "none",
        "surge": seen.kind.surge(seen.home),
        "unavailable": seen.kind.unavailable(seen.home),
    }


def _kept(
    seen: TargetSnapshot, wish: Wish, strategy: Strategy, remedy: RemedyLimits
) -> dict[str, Any]:
    """Whether a unit of the former version stays warm, and which of earlier ones end for the plan,
    as fields of it.
    """
    needs_room = strategy in ("spare", "in-place", "scale-out")
    drops = jobs_of(seen) if needs_room else ()
    asked_s = wish.keep_previous_s
    kept_s = (remedy.keep_previous_seconds or 0.0) if asked_s is None else asked_s
    if not kept_s:
        return {"drops": drops}
    if not_kept := why_not_kept(seen, strategy, spare_place(seen)):
        return {"drops": drops, "not_kept": not_kept}
    return {"drops": drops, "keep_previous_s": kept_s}


@dataclass(frozen=True, slots=True)
class Chosen:
    """The change to plan for. `forecast`: the twin's, with its figures of today, where it has one;
    `passed_over`: the levers before it, a sentence each.
    """

    lever: str
    change: ConfigChange
    because: str
    passed_over: tuple[str, ...] = ()
    forecast: tuple[Expected, StepForecast] | None = None


def _ranked(
    seen: TargetSnapshot, worst: ReplicaReport, limits: ServingLimits | None
) -> ReplicaReport:
    """The report with its next steps in the order in which `diagnose` shows them."""
    if worst.diagnosis.cause not in TRIED_FOR:
        return worst
    slo = limits.spec.slo if limits is not None else ServiceLevel()
    asked = Slo(slo.ttft_p99_seconds, slo.itl_p99_seconds)
    return with_ranked_steps(worst, examine(seen.recording), seen.recording, asked)


def _first(
    seen: TargetSnapshot,
    wish: Wish,
    worst: ReplicaReport,
    limits: ServingLimits | None,
    serving: int,
    earlier: Sequence[State],
) -> Chosen | NoRemedy:
    """The first next step that can be carried out here, and that was not worse before."""
    passed: list[str] = []
    for step in _edge_first(worst.next) if seen.gateways else worst.next:
        change = _usable(seen, wish, step, worst, limits, serving, earlier)
        if isinstance(change, ConfigChange):
            return _chosen(step, change, worst, passed)
        passed.append(f"{step.lever} ({as_written(step.change)}): {change.why}")
    return NoRemedy(
        f"{worst.diagnosis.cause}: no lever that can be carried out here", tuple(passed)
    )


def _edge_first(steps: Sequence[NextStep]) -> list[NextStep]:
    """The steps with those first that a gateway holds live and that the twin says help: they need no
    restart and lapse by themselves.
    """
    return sorted(
        steps,
        key=lambda step: (
            not isinstance(step.change, SetEdgeLimit)
            or step.forecast is None
            or step.forecast.effect not in ("helps", "trade-off")
        ),
    )


def _usable(
    seen: TargetSnapshot,
    wish: Wish,
    step: NextStep,
    worst: ReplicaReport,
    limits: ServingLimits | None,
    serving: int,
    earlier: Sequence[State],
) -> ConfigChange | NotChanged:
    """The step as a change that can be carried out here; or why it cannot."""
    if step.forecast is not None and step.forecast.effect == "nothing":
        return NotChanged("the twin forecasts no difference from today")
    if wish.edge_only and not isinstance(step.change, SetEdgeLimit):
        return NotChanged("--fast sets a limit at the gateway and nothing else")
    window = seen.windows().get(worst.name)
    remedy = limits.spec.remedy if limits is not None else RemedyLimits()
    change = as_resolved(_change(seen, step.change), window)
    if isinstance(change, NotChanged):
        return change
    if (before := worse_before(change, seen.source, earlier)) is not None:
        return NotChanged(f"incident {before.plan.id} took it back: {before.why[:200]}")
    if change.kind == "limits":
        held = why_none(seen.gateways) or at_gateways(change, seen.gateways)
        return NotChanged(held) if isinstance(held, str) else held
    if refused := would_not_start(change, window, seen.template):
        return NotChanged(refused)
    if change.kind == "replicas" and (full := _no_room(seen, wish, remedy)):
        return NotChanged(full)
    if change.kind != "replicas" and isinstance(made := _template(seen, change), NotChanged):
        return made
    strategy = _strategy(seen, wish, change, serving, remedy)
    return NotChanged(strategy.why) if isinstance(strategy, NoRemedy) else change


def _chosen(
    step: NextStep, change: ConfigChange, worst: ReplicaReport, passed: Sequence[str] = ()
) -> Chosen:
    """The step with its forecast beside today's figures, where it has one."""
    trials = worst.trials
    if step.forecast is None or trials is None or trials.today is None:
        return Chosen(step.lever, change, str(step.because), tuple(passed))
    because = f"{beside_today(step, trials)}; {step.because}"
    return Chosen(step.lever, change, because, tuple(passed), (trials.today, step.forecast))


def _no_room(seen: TargetSnapshot, wish: Wish, remedy: RemedyLimits) -> str:
    """Why no replica can be added; empty if one can. It costs a GPU: without a person's yes,
    only the limits can allow it.
    """
    if wish.autonomy == "act" and remedy.max_replicas is None:
        return (
            "a replica more costs a GPU: allow it by spec.remedy.maxReplicas, or --lever scale-out"
        )
    if remedy.max_replicas is not None and seen.replicas >= remedy.max_replicas:
        return f"{seen.replicas} replicas are asked for, at most {remedy.max_replicas} are allowed"
    if any(writer.over == "replicas" for writer in seen.writers()):
        return "an autoscaler sets the number of replicas"
    place = spare_place(seen)
    if place is None:
        return "whether a node takes one more replica could not be read"
    return "" if place[0] else f"no node takes one more replica ({place[1]})"


def _requested(
    seen: TargetSnapshot, requested: Requested, worst: ReplicaReport
) -> Chosen | NoRemedy:
    """Return the change that the user requested by name."""
    name = requested.lever
    step = next((step for step in _proposed(worst) if step.lever == name), None)
    if isinstance(requested, RequestedLever):
        if step is None:
            return _not_among_the_steps(name, worst)
        change = as_resolved(_change(seen, step.change), seen.windows().get(worst.name))
        if isinstance(change, NotChanged):
            return NoRemedy(f"{as_written(step.change)}: {change.why}")
        return _chosen(step, change, worst)
    match requested.change:
        case SetEdgeLimit(limit, tokens):
            return _requested_limit(seen, name, ConfigChange("limits", limit, None, str(tokens)))
        case Scale(replicas):
            now = str(seen.replicas)
            return Chosen(name, ConfigChange("replicas", "replicas", now, str(replicas)), ASKED_FOR)
        case SetEnvironment(((variable, value),)):
            made = _setting(seen, variable, value)
        case SetFlag(flag, value):
            made = _setting(seen, flag, value)
        case EditPodSpec() if step is None:
            return _not_among_the_steps(name, worst)
        case _:
            made = _change(seen, requested.change)
    made = as_resolved(made, seen.windows().get(worst.name))
    if isinstance(made, NotChanged):
        return NoRemedy(f"{as_written(requested.change)}: {made.why}")
    if refused := would_not_start(made, seen.windows().get(worst.name), seen.template):
        return NoRemedy(f"{as_written(requested.change)}: {refused}")
    advised_against = {f"{name}{way}" for way in ("", "-down", "-up")}
    advice = next((s.because for s in worst.not_advised if s.lever in advised_against), None)
    because = f"{ASKED_FOR}; the diagnosis says of it: {advice}" if advice else ASKED_FOR
    return Chosen(name, made, because)


def _proposed(worst: ReplicaReport) -> tuple[NextStep, ...]:
    """The next steps, and those that are not advised for their forecast alone."""
    harmful = (step for step in worst.not_advised if step.forecast is not None)
    return (*worst.next, *harmful)


def _not_among_the_steps(lever: str, worst: ReplicaReport) -> NoRemedy:
    return NoRemedy(f"the lever {lever} is not among the next steps for {worst.diagnosis.cause}")


def _setting(seen: TargetSnapshot, name: str, value: ConfigScalar) -> ConfigChange | NotChanged:
    config_maps = {name_of(item): item for item in seen.lists.get("configmaps", [])}
    return setting_change(name, value, seen.template, config_maps)


def _requested_limit(seen: TargetSnapshot, lever: str, change: ConfigChange) -> Chosen | NoRemedy:
    """A limit by name: live at the gateways that are there, else in the limits file."""
    if not seen.gateways:
        return Chosen(lever, change, f"{ASKED_FOR}; it works where a gateway holds it")
    held = why_none(seen.gateways) or at_gateways(change, seen.gateways)
    return (
        Chosen(lever, held, ASKED_FOR)
        if isinstance(held, ConfigChange)
        else NoRemedy(f"{change}: {held}")
    )


def as_resolved(
    change: ConfigChange | NotChanged, window: Window | None
) -> ConfigChange | NotChanged:
    """The change from what the engine's log says it resolved, where the template sets nothing (an
    entrypoint script may) or a variable.
    """
    if (
        isinstance(change, NotChanged)
        or window is None
        or change.kind != "argument"
        or "$" not in (change.former or "$")
    ):
        return change
    found = window.config.get(canonical_name(change.name))
    if found is None or found.provenance != "log":
        return change
    now = str(found.value).lower() if isinstance(found.value, bool) else str(found.value)
    number = written_number(canonical_name(change.name), change.value)
    if now == change.value or (number is not None and number == found.value):
        return NotChanged(
            f"{change.name} is {now} already, as the engine's log says; no argument of the "
            "template tells it"
        )
    return (
        replace(change, former=now) if change.former is None else change
    )  # a reference is put back as it was written


def _change(seen: TargetSnapshot, proposed: ProposedChange) -> ConfigChange | NotChanged:
    pair = former_revision(seen.revisions() or [])
    config_maps = {name_of(item): item for item in seen.lists.get("configmaps", [])}
    return change_of(
        proposed, seen.template, replicas=seen.replicas, config_maps=config_maps, revision=pair
    )


def _template(seen: TargetSnapshot, change: ConfigChange) -> object | NotChanged:
    kept = {found.number: found.source for found in seen.revisions() or []}
    return changed_source(seen.kind, seen.home, change, revision=kept.get(change.value or ""))


def _limit_against(change: ConfigChange, window: Window, limits: ServingLimits | None) -> str:
    """Why that limit cannot be meant for this engine and beside the other limits; empty if it
    can.
    """
    spec = limits.spec if limits is not None else LimitsSpec()
    length, pool, wanted = (
        window.config.number("max_model_len"),
        window.fresh("kv_pool_tokens"),
        int(float(change.value or 0)),
    )
    request, edge, engine, capacity = spec.request, spec.edge, spec.engine, spec.capacity
    match change.name:
        case "request.maxInputTokens":
            request = replace(request, max_input_tokens=wanted)
        case "request.maxOutputTokens":
            request = replace(request, max_output_tokens=wanted)
        case _:
            edge = replace(edge, kv_token_budget=wanted)
    if engine.max_model_len is None and length is not None and length > 0:
        engine = replace(engine, max_model_len=int(length))
    if capacity.kv_cache_tokens is None and pool is not None:
        capacity = replace(capacity, kv_cache_tokens=int(pool.last))
    found = contradictions(
        ServingLimits(replace(spec, request=request, edge=edge, engine=engine, capacity=capacity))
    )
    return next(
        (
            f"{path} {why}"
            for path, why in found
            if path.startswith(("spec.request.", "spec.edge."))
        ),
        "",
    )


def _bounds(seen: TargetSnapshot, wish: Wish, expectation: Expectation) -> StepLimits:
    """Return the requested bounds, extended by what the proof, the requests and the target's pods
    need.
    """
    verify_s = max(wish.bounds.verify_s, 2.0 * expectation.sustained_s)
    needed_s = drain_s_of(seen.windows().values(), verify_s)
    drain_s = wish.drain_s or max(wish.bounds.drain_s, needed_s)
    bounds = replace(wish.bounds, verify_s=verify_s, drain_s=drain_s)
    return with_times_of(seen.home, seen.template, bounds)


def _strategy(
    seen: TargetSnapshot, wish: Wish, change: ConfigChange, serving: int, remedy: RemedyLimits
) -> Strategy | NoRemedy:
    if change.kind == "limits":
        return "edge-live" if seen.gateways else "edge-only"
    if change.kind == "replicas":
        if change.value != str(seen.replicas + 1):
            return NoRemedy(
                f"replicas are added one at a time: {seen.replicas + 1} is the next number"
            )
        return "scale-out"
    if seen.why_not():
        return "rolling"  # by its owner, once a person has put the change there
    done = seen.kind.rolled_out(seen.home, seen.lists)
    paused = seen.kind.is_paused(seen.home)
    if change.kind == "revision" and is_stuck(
        seen.revisions() or [], rolled_out=done, paused=paused
    ):
        return "stuck-rollout"
    if not done:
        if paused:
            return NoRemedy(
                "rollouts of it are paused: kubectl rollout resume "
                f"{seen.kind.typed(name_of(seen.home))} first"
            )
        return NoRemedy(
            "a rollout is under way: let it end, or undo it (--lever undo-rollout, where "
            "none of its replicas serves)"
        )
    if isinstance(seen.kind, CanaryKind):
        return "canary"
    floor = (
        remedy.floor_replicas if remedy.floor_replicas is not None else max(1, seen.replicas - 1)
    )
    if isinstance(seen.kind, OwnedKind):
        return _by_owner(seen, seen.kind, wish, change, min(floor, serving))
    kept = min(serving, seen.replicas - 1)
    place, stays = spare_place(seen), _stays_behind(seen)
    if wish.in_place or stays or (serving == 0 and (place is None or not place[0])):
        if kept < min(floor, serving):
            why = f" (no spare: {stays})" if stays else ""
            return NoRemedy(
                f"in place {kept} replicas would serve meanwhile, the floor is {floor}{why}: "
                "add one, or free a card for a spare"
            )
        return "in-place"
    if place is None:
        return NoRemedy(
            "whether a spare could be placed could not be read: "
            f"{seen.unread.get('nodes') or seen.unread.get('all pods', '')}"
        )
    if not place[0]:
        more = (
            "--in-place changes one replica at a time instead"
            if kept >= min(floor, serving)
            else f"and in place only {kept} would serve, the floor is {floor}"
        )
        return NoRemedy(f"no node takes a spare replica ({place[1]}); {more}")
    return "spare"


def _by_owner(
    seen: TargetSnapshot, kind: OwnedKind, wish: Wish, change: ConfigChange, floor: int
) -> Strategy | NoRemedy:
    """A spare that proves the change before the owner rolls it, where there can be one; else the
    rollout alone, which a person has to agree to.
    """
    surge, unavailable = kind.surge(seen.home), kind.unavailable(seen.home)
    kept = max(0, seen.replicas - unavailable)
    if kept < floor:
        return NoRemedy(
            f"its owner takes {many(unavailable, kind.unit)} away at a time, so {kept} would serve, "
            f"and the floor is {floor}. {kind.without_surge}"
        )
    place = spare_place(seen, max(1, surge))
    if place is None:
        return NoRemedy(
            "whether a spare could be placed could not be read: "
            f"{seen.unread.get('nodes') or seen.unread.get('all pods', '')}"
        )
    if surge and not place[0]:
        return NoRemedy(rollout_gpus(seen))
    why = "" if place[0] else f"no node takes a spare: {place[1]}"
    why = why or ("--in-place" if wish.in_place else _no_spare(seen, kind, change))
    if not why:
        return "spare"
    if wish.autonomy == "act" and kind.makes:
        return NoRemedy(
            f"without a spare ({why}) its owner gives the change to all replicas before the load "
            "proves it: that takes a person's yes (--autonomy recommend)"
        )
    return "rolling"


def _no_spare(seen: TargetSnapshot, kind: OwnedKind, change: ConfigChange) -> str:
    """Why no spare can be made like the units that the owner makes; empty if one can."""
    if not kind.makes:
        return "its replicas have no pod template of their own"
    made = changed_source(kind, seen.home, change)
    if isinstance(made, NotChanged):
        return made.why
    new = kind.with_source(seen.home, made)
    if kind.spare_template(seen.home, new, seen.lists) is None:
        return "what its owner would make of the change cannot be told from its Deployment"
    services = seen.services() or []
    off = rotation_labels(kind, seen.home, services, seen.lists)
    if not separable(kind, services):
        return "no Service selects its pods by labels that can come off"
    if kind.name_label in off and kind.needs_its_name(seen.home, seen.lists):
        return f"a Service selects on {kind.name_label}, which its owner's webhook needs"
    left = {
        key: found
        for key, found in kind.pod_labels(seen.home, seen.lists).items()
        if key not in off
    }
    pools = [
        pool
        for key, found in seen.lists.items()
        if key.startswith("inferencepools")
        for pool in found
    ]
    early = next((name_of(pool) for pool in pools if selects(pool, left)), "")
    return f"InferencePool {early} would send requests to it before it joins" if early else ""


def _stays_behind(seen: TargetSnapshot) -> str:
    """Why a spare would leave something behind; empty if it would not."""
    kind = seen.kind
    return kind.why_no_spare(seen.home) if isinstance(kind, NumberedKind) else ""


def limits_after(
    plan: RemedyPlan, replica: ReplicaReport, window: Window, held: ServingLimits | None
) -> Mapping[str, tuple[str, str]]:
    """(number, why) for the limits file, by path: the change itself, the pool where it stays what
    it was, what the edge should hold.
    """
    found: dict[str, tuple[str, str]] = {}
    if plan.change.kind in ("argument", "config-file") and plan.change.value is not None:
        words = plan.change.name.lstrip("-").split("-")
        found["spec.engine." + words[0] + "".join(word.capitalize() for word in words[1:])] = (
            plan.change.value,
            plan.because,
        )
    if plan.change.kind == "limits" and plan.change.value is not None:
        found[f"spec.{plan.change.name}"] = plan.change.value, plan.because
    for step in replica.next:
        if isinstance(step.change, SetEdgeLimit) and held is None:
            where = f"spec.{step.change.limit}"
            found.setdefault(where, (str(step.change.tokens), str(step.because)))
    pool, block = window.fresh("kv_pool_tokens"), window.fresh("block_size_tokens")
    if (
        held is None
        and pool is not None
        and (plan.change.kind == "limits" or canonical_name(plan.change.name) in _POOL_STAYS)
    ):
        found["spec.capacity.kvCacheTokens"] = f"{pool.last:.0f}", f"as {replica.name} reported it"
        if block is not None:
            found["spec.capacity.blockSize"] = f"{block.last:.0f}", f"as {replica.name} reported it"
    return found


def rollback_plan(seen: TargetSnapshot, done: RemedyPlan, wish: Wish) -> RemedyPlan | NoRemedy:
    """Return the plan that reverts a change in force, on a person's request, without a new
    diagnosis.

    It has to prove only that the replicas still answer under load, if there is any.
    """
    serving = seen.serving()
    if serving is None:
        return NoRemedy(
            f"how many replicas serve could not be read: {'; '.join(seen.unread.values())}"
        )
    change = done.change.reversed()
    if change.kind == "replicas":
        return NoRemedy(
            f"scale {done.target} back to {change.value} once the load is gone: kubectl scale"
        )
    if not is_former_whole(done.change):
        return NoRemedy(
            f"what {change.name} was before is not in the record ({change.value}): put it "
            "back where the workload is kept"
        )
    if since := made_else(seen, done):
        return NoRemedy(f"{since}; nothing of that is taken back")
    made = _template(seen, change) if change.kind != "limits" else None
    if isinstance(made, NotChanged):
        return NoRemedy(made.why)
    strategy = (
        _strategy(seen, wish, change, serving, RemedyLimits())
        if change.kind != "limits"
        else "edge-only"
    )
    if isinstance(strategy, NoRemedy):
        return strategy
    uses_spares = strategy in ("spare", "in-place") and seen.kind.rolls == "spares"
    previous = kept_of(seen, done.id) if uses_spares else ""
    expectation, former = promise_of_rollback(
        list(seen.windows().values()), replicas=seen.replicas, sustained_s=wish.sustained_s
    )
    return replace(
        done,
        id=wish.id,
        made_at=seen.at,
        lever=ROLLBACK,
        change=change,
        expectation=expectation,
        strategy=strategy,
        replicas=seen.replicas,
        serving=min(serving, seen.replicas),
        baseline=former,
        template=digest(seen.source),
        because=taking_back(done.id),
        autonomy=wish.autonomy,
        parent=text(marks(seen.home), ENDED),
        owners=paused_by(seen.home, done.id),
        bounds=_bounds(seen, wish, expectation),
        keep_previous_s=0.0,
        not_kept="",
        previous=previous,
        drops=tuple(job for job in jobs_of(seen) if job != previous) if uses_spares else (),
    )
