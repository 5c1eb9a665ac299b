"""Plans, checks and incidents as text for a person."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from barostat.core.diagnosis import ReplicaReport
from barostat.core.units import many
from barostat.core.verdict import Absent, Present, Unknown
from barostat.judge.advice.change_text import as_written, price_of
from barostat.remedy.plan import RemedyPlan
from barostat.remedy.precheck import Facts, judged
from barostat.remedy.program import program
from barostat.remedy.verify import unmeasured
from barostat.shells.reports.diagnosis.document import SHORT_REFUSED
from barostat.shells.reports.diagnosis.forecasts import expected_words

if TYPE_CHECKING:
    from barostat.judge.mitigation.target_snapshot import TargetSnapshot
    from barostat.platform.owner import Owner

_STRATEGIES = {
    "spare": "with a spare: never fewer replicas in rotation than now",
    "in-place": "in place: one replica less in rotation while each is replaced",
    "scale-out": "one replica more",
    "stuck-rollout": "the template alone: no replica of the rollout serves, and those that serve stay",
    "canary": "by its owner: one unit with the change first, then the others",
    "rolling": "by its owner, which replaces every replica by itself",
    "edge-only": "limits only: no replica is touched",
    "edge-live": "live, at the gateway: no replica is touched, in force within a second",
}

_WANTS = {
    "zero": "at most {:.3g}", "below": "at most {:.3g}", "above": "at least {:.3g}", "falls": "falls by {:.0%}", "rises": "rises by {:.0%}",
    "holds": "rises by no more than {:.0%}", "no-more": "stays as it is",
}  # fmt: skip


def plan_text(plan: RemedyPlan, replica: ReplicaReport) -> str:
    """Render the plan: the change, the reason, the procedure, and the expected proof."""
    unknown = unmeasured(plan.expectation, dict(plan.baseline))
    essential = [
        found
        for found in plan.expectation.expects
        if found.essential and found.signal not in unknown
    ]
    promises = [f"{found.signal} {_WANTS[found.want].format(found.bound)}" for found in essential]
    proof = f"{'; '.join(promises)}, for {plan.expectation.sustained_s:.0f} s under the load of now"
    if unknown:
        proof += (
            f"; by {' and '.join(unknown)} only if that is measured after the change: it was "
            "not before"
        )
    undo = "the same steps backwards, until home's template is written"
    if plan.strategy == "stuck-rollout":
        proof = f"all {plan.replicas} replicas of the version before stand Ready in rotation"
        undo = f"barostat rollback {plan.id}: the rollout begins again"
    if plan.edge is not None:
        undo = plan.undo_sentence()
    lines = [
        f"plan {plan.id}",
        (
            f"  target    {plan.target}, {many(plan.replicas, 'replica')}, {plan.serving} "
            f"{'serves' if plan.serving == 1 else 'serve'}"
        ),
        (
            f"  cause     {plan.cause}{f' ({plan.variant})' if plan.variant else ''} on "
            f"{replica.name}: {replica.diagnosis.summary}"
        ),
        f"  change    {plan.change}   ({plan.lever})",
        f"  because   {plan.because}",
        *_candidate_lines(plan, replica),
        *(
            f"  not       {step.lever}: {step.because}"
            for step in replica.not_advised[:SHORT_REFUSED]
        ),
        f"  how       {_STRATEGIES[plan.strategy]}",
        (
            f"            at least {plan.kept_in_rotation} in rotation; {plan.starts} engine "
            f"starts, {len(program(plan))} steps"
        ),
        *_gateway_lines(plan),
        f"  proof     {proof}",
        f"  undo      {undo}",
    ]
    return "\n".join(lines)


def _candidate_lines(plan: RemedyPlan, replica: ReplicaReport) -> list[str]:
    """Today and each candidate on the twin, with its price, as `diagnose` ranks them; nothing
    if none was tried.
    """
    trials = replica.trials
    if trials is None or trials.today is None:
        return []
    lines = [f"  today     {expected_words(trials.today)} (twin)"]
    for step in replica.next:
        if step.forecast is not None:
            mark = "chosen  " if step.lever == plan.lever else "        "
            lines.append(
                f"  {mark}  {as_written(step.change)}: {expected_words(step.forecast.expected)}; "
                f"price: {price_of(step, trials)}"
            )
    return lines


def _gateway_lines(plan: RemedyPlan) -> list[str]:
    """How running gateways hold the limit; nothing for a plan without."""
    edge = plan.edge
    if edge is None:
        return []
    watched = (
        [
            (
                "            it only watches now (--shadow): while it holds this it enforces "
                "the limits of its file, too"
            )
        ]
        if edge.enforces
        else []
    )
    return [
        f"  where     {', '.join(map(str, edge.gateways))}",
        *watched,
        (
            "            held while this runs, until no pool is fuller than "
            f"{edge.calm_ratio:.0%} for {edge.calm_s:.0f} s and nobody waits"
        ),
    ]


def checks_text(facts: Facts, plan: RemedyPlan) -> str:
    """Every check with its verdict."""
    lines = ["checks"]
    for check, verdict in judged(facts, plan):
        match verdict:
            case Present(because):
                lines.append(f"  yes  {check.name}: {because}")
            case Absent(because):
                lines.append(f"  NO   {check.name}: {because}")
            case Unknown(why):
                lines.append(f"  ?    {check.name}: cannot tell: {why}")
    return "\n".join(lines)


def source_text(seen: TargetSnapshot, plan: RemedyPlan, owner: Owner) -> str:
    """Why nothing is written, and the patch for where the change belongs; of an autoscaler that
    only stands in the way, what pauses it.
    """
    if owner.kind == "own-controller":
        return _by_hand(seen, plan, owner)
    if owner.over == "replicas" and plan.change.kind != "replicas":
        return _in_the_way(owner, plan)
    because = (
        f"refused: {owner.because}; a write of ours would not last. The change belongs in "
        f"{owner.source}:"
    )
    return f"{because}\n{patch_text(seen, plan, owner)}"


def patch_text(seen: TargetSnapshot, plan: RemedyPlan, owner: Owner) -> str:
    """The plan's change as a patch of what the owner keeps, with the place and the step after
    it.
    """
    from barostat.judge.manifest_edit.flag_surgery import Surgery, set_flag
    from barostat.judge.manifest_edit.source_patch import (
        former_release,
        least_replicas,
        manifest_patch,
        own_patch,
        source_patch,
    )
    from barostat.platform.objects import name_of

    found = None
    if owner.kind == "own-controller":
        found = own_patch(seen.kind, seen.home, plan.change, plan.replicas, seen.held)
    elif plan.change.kind == "revision":
        return f"  {former_release(owner)}"
    elif plan.change.kind == "replicas":
        found = least_replicas(owner, plan.replicas + 1)
    elif plan.change.kind == "pod-spec":
        found = manifest_patch(owner, seen.home, plan.change)
    elif plan.change.kind in ("argument", "environment", "config-file"):
        maps = {name_of(item): item for item in seen.lists.get("configmaps", [])}
        value: Any = plan.change.value
        value = value == "true" if value in ("true", "false") else value
        surgery = set_flag(seen.template, plan.change.name, value, config_maps=maps)
        found = source_patch(owner, seen.home, surgery) if isinstance(surgery, Surgery) else None
    return (
        f"  {plan.change}"
        if found is None
        else f"# {found.where}\n{_yaml(found.document)}\n# {found.then}"
    )


def _by_hand(seen: TargetSnapshot, plan: RemedyPlan, owner: Owner) -> str:
    """Why a person makes the change, what the owner's rollout needs, and the patch."""
    from barostat.judge.mitigation.rollout_gpus import rollout_gpus

    lines = [
        f"refused: {seen.kind.api.kind}: {owner.because}.",
        rollout_gpus(seen),
        *(
            f"{other.kind} {other.name} writes it, too: put the patch into {other.source}."
            for other in seen.writers()
            if other.over == "everything"
        ),
        patch_text(seen, plan, owner),
    ]
    return "\n".join(line for line in lines if line)


def _in_the_way(owner: Owner, plan: RemedyPlan) -> str:
    """An autoscaler would undo the steps, not the change: what pauses it, and what hands it
    back.
    """
    lines = [
        (
            f"refused: {owner.because}. While replicas are replaced there is one fewer for a "
            "moment, and it would fill them up."
        ),
        f"The change itself does not touch it ({plan.change}).",
    ]
    if owner.switch is None:
        return "\n".join(lines)
    switch = owner.switch
    identity = {
        "apiVersion": switch.api_version,
        "kind": switch.kind,
        "metadata": {"name": switch.name, "namespace": switch.namespace},
    }
    return "\n".join(
        [
            *lines,
            "--pause-owner pauses it for the incident and hands it back after; by hand:",
            f"# {switch}: {switch.note}",
            _yaml(_document(identity, switch.pause)),
            "# and back",
            _yaml(_document(identity, switch.resume)),
        ]
    )


def _document(identity: dict[str, Any], patch: Any) -> dict[str, Any]:
    """The patch beside the object's name."""
    return {**identity, **patch, "metadata": {**identity["metadata"], **patch.get("metadata", {})}}


def _yaml(document: Any) -> str:
    import yaml

    return str(
        yaml.safe_dump(json.loads(json.dumps(document)), sort_keys=False, width=140)
    ).rstrip()
