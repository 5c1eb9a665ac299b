"""What was read, as the facts that the pre-checks judge; and whether a lever is right for a cause
on this engine.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from barostat.catalog.option_names import known_argument
from barostat.catalog.settings.table import SETTINGS, canonical_name, known_flag
from barostat.core.change import ConfigChange
from barostat.core.diagnosis import KV_CAUSES, CauseName
from barostat.core.limits import RemedyLimits
from barostat.core.window import Window
from barostat.engines.vllm.command_line.config import read_value
from barostat.judge.manifest_edit.config_change import digest
from barostat.judge.mitigation.gateways import not_ready
from barostat.judge.mitigation.kept_units import kept_units
from barostat.judge.mitigation.rotation import separable
from barostat.judge.mitigation.target_objects import former_revision, is_stuck, since_of_revision
from barostat.judge.mitigation.target_snapshot import ALL_PODS, TargetSnapshot
from barostat.levers import levers
from barostat.platform.objects import Object, condition, name_of, text
from barostat.platform.placing import disruption_minimum, placeable, quota_left
from barostat.platform.workloads import OwnedKind, marks
from barostat.remedy.annotations import CLAIM, PATCHED, is_patch_to
from barostat.remedy.plan import ROLLBACK, RemedyPlan
from barostat.remedy.precheck import Facts
from barostat.remedy.state import State

_LESS_IS_WORSE = (
    "gpu_memory_utilization",
    "num_gpu_blocks_override",
    "kv_cache_memory_bytes",
    "tensor_parallel_size",
    "watermark",
)
_MORE_IS_WORSE = ("max_model_len", "max_num_seqs", "max_num_active_seqs")
_SPARE_COUNTS = ("count/deployments.apps", "count/replicasets.apps")
"""What a quota may count for a spare in addition to its pod: it is a Deployment of its own."""
CHANGES_PER_HOUR = 2
BURN_WINDOW_S = 7200.0


def facts(
    seen: TargetSnapshot,
    plan: RemedyPlan,
    earlier: Sequence[State] | None,
    limits: RemedyLimits,
    unread: str = "",
) -> Facts:
    """The facts, each None if it could not be read. `earlier`: the incidents of this target;
    None if they could not be read.
    """
    lists, home = seen.lists, seen.home
    reasons = [
        (field, seen.unread[key])
        for field, key in (
            ("owner", "applications"), ("autoscaler", "horizontalpodautoscalers"), ("separable", "services"), ("serving", "endpointslices"),
            *(("serving", plural) for plural in seen.kind.reads), ("serving", "pods"),
            ("quota_left", "resourcequotas"), ("spare_schedulable", "nodes"),
            ("spare_schedulable", ALL_PODS), ("disruption_minimum", "poddisruptionbudgets"), ("missing_rights", "rights"),
            ("bad_nodes", "nodes"),
        )
        if key in seen.unread
    ]  # fmt: skip
    if unread:
        reasons.append(("changes_last_hour", unread))
    services, kept, rolled_out = (
        seen.services(),
        seen.revisions(),
        seen.kind.rolled_out(home, lists),
    )
    owner, autoscaler = _owner(seen, plan)
    placed = spare_place(seen, max(1, plan.units_needed))
    scrapes = [scrape.at for replica in seen.recording.replicas for scrape in replica.scrapes]
    return Facts(
        at=seen.at,
        cause=plan.cause if plan.lever == ROLLBACK else confirmed_cause(seen, plan.cause),
        evidence_at=max(scrapes, default=seen.recording.at),
        lever_fits=any(fits(plan, window) for window in seen.windows().values())
        if seen.windows()
        else None,
        bad_nodes=_bad_nodes(seen),
        rollout_age_s=rollout_age_s(seen),
        burn_window_s=limits.burn_window_seconds
        if limits.burn_window_seconds is not None
        else BURN_WINDOW_S,
        template=digest(seen.source),
        rollout_complete=rolled_out,
        rollout_stuck=None
        if kept is None
        else is_stuck(kept, rolled_out=rolled_out, paused=seen.kind.is_paused(home)),
        replicas=seen.replicas,
        serving=seen.serving(),
        spare_schedulable=None if placed is None else placed[0],
        spare_because="" if placed is None else placed[1],
        quota_left=_quota_left(seen),
        disruption_minimum=(
            None
            if "poddisruptionbudgets" not in lists
            else disruption_minimum(seen.template, seen.replicas, lists["poddisruptionbudgets"])
        ),
        autoscaler=None if "horizontalpodautoscalers" not in lists else autoscaler,
        owner=owner,
        separable=None if services is None else separable(seen.kind, services),
        claim=text(marks(home), CLAIM),
        changes_last_hour=None if earlier is None else changes_last_hour(earlier, plan.id, seen.at),
        changes_per_hour=limits.changes_per_hour
        if limits.changes_per_hour is not None
        else CHANGES_PER_HOUR,
        missing_rights=_missing_rights(seen, plan),
        gateways=not_ready(seen.gateways, plan.edge, plan.id) if plan.edge is not None else None,
        unread=tuple(reasons),
    )


def confirmed_cause(seen: TargetSnapshot, wanted: CauseName) -> CauseName:
    """The wanted cause where a replica has it still; else what the fleet has."""
    found = {replica.diagnosis.cause for replica in seen.report.replicas}
    return wanted if wanted in found and "node-fault" not in found else seen.report.fleet.cause


def fits(plan: RemedyPlan, window: Window) -> bool:
    """True if the plan's lever is for the plan's cause, and this engine's version has what it
    changes.

    An argument that the catalogue does not have fits nothing, unless a change is taken back.
    """
    lever = next((known for known in levers() if known.name == plan.lever), None)
    if lever is not None and plan.cause not in lever.causes:
        return False
    change, undoes = plan.change, plan.lever == ROLLBACK
    if plan.asked_for and plan.cause in KV_CAUSES and wrong_way(change, window):
        return False
    if change.kind == "environment":
        return True
    if change.kind not in ("argument", "config-file"):
        return lever is not None or undoes
    if change.value is None:
        return True
    name = canonical_name(change.name)
    return (
        known_flag(name, window.version) != "absent"
        if name in SETTINGS
        else undoes or bool(known_argument(change.name))
    )


def wrong_way(change: ConfigChange, window: Window) -> bool:
    """True if it makes KV pressure worse whatever else it does: a smaller pool, longer requests or
    more of them at once.
    """
    name = canonical_name(change.name)
    block, pool = window.fresh("block_size_tokens"), window.fresh("kv_pool_tokens")
    now = written_number(name, change.former)
    if now is None and "$" in (change.former or "$"):
        now = window.config.number(name)
    if name == "num_gpu_blocks_override" and block is not None and pool is not None:
        now = pool.last / block.last
    wanted = written_number(name, change.value)
    if change.kind not in ("argument", "config-file") or now is None or wanted is None:
        return False
    return (name in _LESS_IS_WORSE and wanted < now) or (name in _MORE_IS_WORSE and wanted > now)


def written_number(name: str, written: str | None) -> float | None:
    """Parse an argument's value as vLLM does; None if it is missing or not a number."""
    found = read_value(name, written) if written is not None else None
    return float(found) if isinstance(found, int | float) and not isinstance(found, bool) else None


def rollout_age_s(seen: TargetSnapshot) -> float:
    """Return the age of the last rollout that can be undone, in seconds; infinite if there is none
    (the first revision, our own change, only restarts).
    """
    if is_patch_to(text(marks(seen.home), PATCHED), digest(seen.source)):
        return math.inf
    kept = seen.revisions() or []
    since = since_of_revision(kept)
    if since is not None:
        former = former_revision(kept)
        return math.inf if former is None else max(0.0, seen.at - since)
    ages = []
    for window in seen.windows().values():
        found = window.fresh("rollout_age_s")
        if found is not None and "first revision" not in found.detail:
            ages.append(found.last)
    return min(ages, default=math.inf)


def worse_before(change: ConfigChange, source: Object, earlier: Sequence[State]) -> State | None:
    """Return the earlier incident in which the same change of the same source made things worse or
    ended the engine; None if there is none.
    """
    now = digest(source)
    alike = (
        state for state in earlier if state.plan.template == now and state.plan.change == change
    )
    return next(
        (state for state in alike if state.phase == "RolledBack" and state.verified == "worse"),
        None,
    )


def changes_last_hour(earlier: Sequence[State], own: str, at: float) -> int:
    """Return how many changes of this target were started within the last hour, without this one
    and without rollbacks.
    """
    others = (state for state in earlier if state.plan.id != own and state.plan.lever != ROLLBACK)
    return sum(
        any(entry.event == "ClaimHome" and at - entry.at < 3600.0 for entry in state.timeline)
        for state in others
    )


def spare_place(seen: TargetSnapshot, units: int = 1) -> tuple[bool, str] | None:
    """Whether nodes take so many more units; None if nodes or their pods could not be read. A kept
    unit of a former version takes no room: a plan ends it or uses it.
    """
    nodes, pods = seen.lists.get("nodes"), seen.lists.get(ALL_PODS)
    if nodes is None or pods is None:
        return None
    kept = {text(pod, "metadata", "uid") for pod in kept_units(seen)}
    others = (pod for pod in pods if text(pod, "metadata", "uid") not in kept) if kept else pods
    return placeable(seen.kind.placed_templates(seen.home, seen.lists) * units, nodes, others)


def _quota_left(seen: TargetSnapshot) -> int | None:
    """Units that the quotas allow: of a group, as many as its most demanding pod lets."""
    quotas = seen.lists.get("resourcequotas")
    if quotas is None:
        return None
    templates = seen.kind.placed_templates(seen.home, seen.lists)
    makes = seen.kind.rolls == "spares" or (isinstance(seen.kind, OwnedKind) and seen.kind.makes)
    beside = _SPARE_COUNTS if makes else ()
    left = min(quota_left(template, quotas, beside) for template in templates)
    return left // len(templates) + len(kept_units(seen))


def _owner(seen: TargetSnapshot, plan: RemedyPlan) -> tuple[str, str]:
    """Return (who would revert the template, which autoscaler would reset the replicas); empty for
    nobody, or for owners that the plan pauses.
    """
    paused = {(owner.kind, owner.namespace, owner.name) for owner in plan.owners}
    writers = seen.writers()
    found = [
        one
        for one in writers
        if one.switch is None
        or (one.switch.kind, one.switch.namespace, one.switch.name) not in paused
    ]
    everything = [
        owner for owner in found if owner.over == "everything" and owner.hinders("everything")
    ]
    scaling = [owner for owner in found if owner.over == "replicas" and owner.hinders("replicas")]
    names = [f"{owner.kind} {owner.name}" for owner in (*everything[:1], *scaling[:1])]
    return (names[0] if everything else ""), (names[-1] if scaling else "")


def _missing_rights(seen: TargetSnapshot, plan: RemedyPlan) -> tuple[str, ...] | None:
    """Every right that the plan needs and that is not there, each once; None if that could not
    be asked.
    """
    if seen.lacking is None:
        return None
    owners = ((owner.kind, owner.namespace, owner.name) for owner in plan.owners)
    to_pause = [seen.cannot_pause[owner] for owner in owners if owner in seen.cannot_pause]
    return tuple(dict.fromkeys((*seen.lacking, *to_pause, *sorted(seen.cannot_read))))


def _bad_nodes(seen: TargetSnapshot) -> tuple[str, ...] | None:
    """The nodes of home's pods that are not well, with the reason."""
    nodes, pods = seen.lists.get("nodes"), seen.pods()
    if nodes is None or pods is None:
        return None
    used = {text(pod, "spec", "nodeName") for pod in pods}
    bad = [
        f"{name_of(node)} is not Ready"
        for node in nodes
        if name_of(node) in used and condition(node, "Ready").get("status") != "True"
    ]
    faulty = [
        replica for replica in seen.report.replicas if replica.diagnosis.cause == "node-fault"
    ]
    return (*bad, *(f"{replica.name}: {replica.diagnosis.summary}" for replica in faulty))
