"""Plans, checks and incidents as text for a person."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from barostat.core.diagnosis import ReplicaReport
from barostat.core.verdict import Absent, Present, Unknown
from barostat.remedy.plan import Plan
from barostat.remedy.precheck import Facts, judged
from barostat.remedy.program import program

if TYPE_CHECKING:
    from barostat.judge.remedy_scene import Seen
    from barostat.platform.owner import Owner

_STRATEGIES = {
    "spare": "with a spare: never fewer replicas in rotation than now",
    "in-place": "in place: one replica less in rotation while each is replaced",
    "scale-out": "one replica more",
    "edge-only": "limits only: no replica is touched",
}


def plan_text(plan: Plan, replica: ReplicaReport) -> str:
    """What will be done, why, how, and what will prove it."""
    proof = [f"{found.signal} {found.want} {found.bound:g}" for found in plan.expectation.expects if found.essential]
    lines = [
        f"plan {plan.id}",
        f"  target    {plan.target}, {plan.replicas} replicas, {plan.serving} serve",
        f"  cause     {plan.cause}{f' ({plan.variant})' if plan.variant else ''} on {replica.name}: {replica.diagnosis.summary}",
        f"  change    {plan.change}   ({plan.lever})",
        f"  because   {plan.because}",
        f"  how       {_STRATEGIES[plan.strategy]}",
        f"            at least {plan.kept_in_rotation} in rotation; {plan.starts} engine starts, {len(program(plan))} steps",
        f"  proof     {'; '.join(proof)}, for {plan.expectation.sustained_s:.0f} s under the load of now",
        "  undo      the same steps backwards, until home's template is written",
    ]
    return "\n".join(lines)


def checks_text(facts: Facts, plan: Plan) -> str:
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


def source_text(seen: Seen, plan: Plan, owner: Owner, reach: str) -> str:
    """Who would undo a write, and the patch for where the change belongs."""
    import yaml

    from barostat.judge.flag_surgery import Surgery, set_flag
    from barostat.judge.source_patch import least_replicas, source_patch
    from barostat.platform.objects import name_of

    lines = [f"refused: {owner.because}; a write of ours would not last. The change belongs in {owner.source}:"]
    found = None
    if owner.over == "replicas" and reach == "replicas":
        found = least_replicas(owner, plan.replicas + 1)
    elif plan.change.kind in ("argument", "environment", "config-file"):
        maps = {name_of(item): item for item in seen.lists.get("configmaps", [])}
        value: Any = plan.change.value
        value = value == "true" if value in ("true", "false") else value
        surgery = set_flag(seen.template, plan.change.name, value, config_maps=maps)
        found = source_patch(owner, seen.home, surgery) if isinstance(surgery, Surgery) and owner.over == "everything" else None
    if found is None:
        lines.append(f"  {plan.change}")
        return "\n".join(lines)
    lines += [
        f"# {found.where}",
        yaml.safe_dump(json.loads(json.dumps(found.document)), sort_keys=False, width=140).rstrip(),
        f"# {found.then}",
    ]
    return "\n".join(lines)
