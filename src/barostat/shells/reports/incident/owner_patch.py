"""What a person does where an owner keeps the field: why nothing is written, and the patch to paste."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from barostat.remedy.plan import RemedyPlan

if TYPE_CHECKING:
    from barostat.judge.mitigation.target_snapshot import TargetSnapshot
    from barostat.platform.owner import Owner


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
    """The document; a text of several lines (serveConfigV2) stands there line by line."""
    import yaml

    class Dumper(yaml.SafeDumper):
        def represent_text(self, text: str) -> yaml.ScalarNode:
            style = "|" if "\n" in text else None
            return self.represent_scalar("tag:yaml.org,2002:str", text, style)

    Dumper.add_representer(str, Dumper.represent_text)
    plain = json.loads(json.dumps(document))
    return str(yaml.dump(plain, Dumper=Dumper, sort_keys=False, width=140)).rstrip()
