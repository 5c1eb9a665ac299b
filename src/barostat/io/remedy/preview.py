"""What the server would make of a plan: a dry run of the spare and of home's new template. Nothing is written."""

from __future__ import annotations

import difflib
import json
from typing import Any

import yaml

from barostat.io.kubernetes.failures import Failed
from barostat.io.kubernetes.resources import DEPLOYMENTS
from barostat.io.remedy.campaign import Campaign
from barostat.io.remedy.ground import Denied, Ground
from barostat.io.remedy.spares import spare_document
from barostat.platform.objects import mapping
from barostat.remedy.plan import Plan


async def preview(campaign: Campaign, plan: Plan) -> list[str]:
    """Lines for a person: the server-side diff of the template, and whether it would take the spare."""
    if plan.change.kind in ("limits", "replicas"):
        return [f"dry run: {plan.change}"]
    ground = Ground(campaign.cluster, plan, campaign.clock)
    try:
        home = await ground.home()
        new: dict[str, Any] = json.loads(json.dumps(home))
        new["spec"]["template"] = await ground.new_template(home)
        new.pop("status", None)
        tried = await campaign.cluster.replace(DEPLOYMENTS, plan.target.name, new, plan.target.namespace, dry_run=True)
        if isinstance(tried, Failed):
            return [f"dry run of the template: {tried.why}"]
        lines = ["dry run, as the server would store it:", *_diff(mapping(home, "spec", "template"), mapping(tried, "spec", "template"))]
        if plan.strategy == "stuck-rollout":
            return lines
        spare = await spare_document(ground, home, 0, "dry-run")
        made = await campaign.cluster.create(DEPLOYMENTS, spare, plan.target.namespace, dry_run=True)
        lines.append(f"spare {spare['metadata']['name']}: {made.why if isinstance(made, Failed) else 'the server takes it'}")
        return lines
    except Denied as denied:
        return [f"dry run: {denied}"]


def _diff(old: Any, new: Any) -> list[str]:
    before, after = (yaml.safe_dump(json.loads(json.dumps(found)), sort_keys=True).splitlines() for found in (old, new))
    return list(difflib.unified_diff(before, after, "home's template", "with the change", lineterm="", n=2))
