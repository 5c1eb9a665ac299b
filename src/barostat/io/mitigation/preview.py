"""What the server would make of a plan: a dry run of the spare and of home's new template. Nothing
is written.
"""

from __future__ import annotations

import difflib
import json
from typing import Any

import yaml

from barostat.io.kubernetes.client.failures import RequestFailed
from barostat.io.kubernetes.client.resources import DEPLOYMENTS
from barostat.io.mitigation.act_context import ActContext
from barostat.io.mitigation.spares import spare_document
from barostat.io.mitigation.target_reader import Denied


async def preview(context: ActContext) -> list[str]:
    """Lines for a person: the server-side diff of the template, and whether it would take the
    spare.
    """
    plan, cluster = context.plan, context.cluster
    if plan.edge is not None:
        return []  # what would be written stands in the plan
    if plan.change.kind in ("limits", "replicas"):
        return [f"dry run: {plan.change}"]
    try:
        home = await context.home()
        new = context.kind.with_source(home, await context.new_source(home))
        new.pop("status", None)
        tried = await cluster.replace(
            context.resource, plan.target.name, new, plan.target.namespace, dry_run=True
        )
        if isinstance(tried, RequestFailed):
            return [f"dry run of the template: {tried.why}"]
        lines = [
            "dry run, as the server would store it:",
            *_diff(context.kind.source(home), context.kind.source(tried)),
        ]
        spared = plan.rolls == "spares" or (plan.rolls == "owner" and plan.strategy == "spare")
        if plan.strategy == "stuck-rollout" or not spared:
            return lines
        spare = await spare_document(context, home, 0, "dry-run")
        made = await cluster.create(DEPLOYMENTS, spare, plan.target.namespace, dry_run=True)
        lines.append(
            f"spare {spare['metadata']['name']}: "
            f"{made.why if isinstance(made, RequestFailed) else 'the server accepts it'}"
        )
        return lines
    except Denied as denied:
        return [f"dry run: {denied}"]


def _diff(old: Any, new: Any) -> list[str]:
    before, after = (
        yaml.safe_dump(json.loads(json.dumps(found)), sort_keys=True).splitlines()
        for found in (old, new)
    )
    return list(
        difflib.unified_diff(
            before, after, "template of the target", "with the change", lineterm="", n=2
        )
    )
