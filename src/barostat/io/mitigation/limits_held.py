"""The limits of a target: those that the cluster holds, and the file that will hold once a change
is in force.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import yaml

from barostat.core.errors import InputError
from barostat.core.limits import API_VERSION, KIND, LimitsSpec, ServingLimits
from barostat.core.limits_fields import fields_of
from barostat.io.input_files import limits_file
from barostat.io.kubernetes.client.cluster import Cluster
from barostat.io.kubernetes.client.failures import RequestFailed
from barostat.io.kubernetes.client.resources import CONFIG_MAPS
from barostat.io.mitigation.target_acts import FORMER_LIMITS_KEY, LIMITS_KEY, limits_name
from barostat.io.mitigation.target_reader import ActTiming, patient
from barostat.platform.objects import text
from barostat.remedy.annotations import INCIDENT
from barostat.remedy.plan import RemedyPlan

KNOWN = frozenset(
    f"{key}.{inner}"
    for key, (_, kind) in fields_of(LimitsSpec).items()
    if key in ("request", "engine", "capacity", "edge")
    for inner in fields_of(kind)
)
"""Paths that a limits file has a place for; other flags of the engine are not its business."""


async def limits_in_cluster(
    cluster: Cluster,
    namespace: str,
    name: str,
    pace: ActTiming,
    tell: Callable[[str], None] | None = None,
) -> ServingLimits | None:
    """Return the limits in the cluster for that Deployment. `tell` is called if the API server must
    be retried.

    Errors: InputError for a ConfigMap without valid limits; OutsideError if it is unknown whether
    there are any.
    """
    found = await patient(
        lambda: cluster.get(CONFIG_MAPS, limits_name(name), namespace), pace, tell
    )
    if isinstance(found, RequestFailed) and found.kind != "not-found":
        raise found.error()
    held = "" if isinstance(found, RequestFailed) else text(found, "data", LIMITS_KEY)
    return limits_file.parse(held, f"configmap {limits_name(name)}") if held else None


async def limits_before(
    cluster: Cluster, namespace: str, plan: RemedyPlan, written: str, pace: ActTiming
) -> str:
    """The limits file that held before that plan's; what is held now where it is not any more what
    the plan has `written`.

    Errors: OutsideError.
    """
    found = await patient(
        lambda: cluster.get(CONFIG_MAPS, limits_name(plan.target.name), namespace), pace
    )
    if isinstance(found, RequestFailed):
        if found.kind == "not-found":
            return ""
        raise found.error()
    now = text(found, "data", LIMITS_KEY)
    own = text(found, "metadata", "labels", INCIDENT) == plan.id and now == written
    return text(found, "data", FORMER_LIMITS_KEY) if own else now


def limits_text(
    found: Mapping[str, tuple[str, str]], held: ServingLimits | None, plan: RemedyPlan
) -> str:
    """The limits file with these numbers, each with its reason; what was held stays. Empty if
    there is no number for it.
    """
    known = {path: entry for path, entry in found.items() if path.removeprefix("spec.") in KNOWN}
    if not known:
        return ""
    document: dict[str, Any] = (
        limits_file.as_document(held)
        if held is not None
        else {"apiVersion": API_VERSION, "kind": KIND, "spec": {}}
    )
    spec = document["spec"]
    spec.setdefault(
        "targetRef", {"apiVersion": "apps/v1", "kind": "Deployment", "name": plan.target.name}
    )
    because = document.setdefault("because", {})
    for path, (value, why) in known.items():
        parts = path.split(".")[1:]
        node = spec
        for part in parts[:-1]:
            node = node.setdefault(part, {})
        node[parts[-1]] = yaml.safe_load(value)
        because[path.removeprefix("spec.")] = f"incident {plan.id}, {plan.cause}: {why}"[:300]
    written = str(yaml.safe_dump(document, sort_keys=False, allow_unicode=True, width=140))
    try:
        limits_file.parse(written)
    except InputError:
        return ""
    return written
