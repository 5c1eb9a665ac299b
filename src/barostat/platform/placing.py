"""Whether more pods find nodes, and what quotas and disruption budgets leave, computed from nodes
and pods.

Not considered: affinity between pods, topology spread, volumes, preemption. Where one of them
matters the spare stays Pending, which ends the plan before anything was changed.

Source: core/v1 PodSpec, Node, ResourceQuota; policy/v1 PodDisruptionBudget; Kubernetes 1.27 to
1.34.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

from barostat.core.whole_number import whole_number
from barostat.platform.label_selector import selects
from barostat.platform.node_affinity import against_affinity
from barostat.platform.objects import (
    Object,
    condition,
    mapping,
    name_of,
    objects,
    quantity,
    sequence,
    text,
    value,
)

PLENTY = 1_000_000


def requests(pod: Object) -> dict[str, float]:
    """Return the pod's resource requests: containers and sidecars together, or an init container
    with the earlier sidecars if that is more. Limits replace missing requests.
    """
    beside: dict[str, float] = {}
    most: dict[str, float] = {}
    for item in objects(pod, "spec", "initContainers"):
        here = _sum(beside, _asked(item))
        if text(item, "restartPolicy") == "Always":  # a sidecar: it stays
            beside = here
        most = {name: max(amount, most.get(name, 0.0)) for name, amount in {**most, **here}.items()}
    total = {"pods": 1.0, **beside}
    for item in objects(pod, "spec", "containers"):
        total = _sum(total, _asked(item))
    return {name: max(total.get(name, 0.0), most.get(name, 0.0)) for name in {**total, **most}}


def _sum(one: Mapping[str, float], other: Mapping[str, float]) -> dict[str, float]:
    return {name: one.get(name, 0.0) + other.get(name, 0.0) for name in {**one, **other}}


def _asked(item: Object) -> dict[str, float]:
    found = {**mapping(item, "resources", "limits"), **mapping(item, "resources", "requests")}
    return {name: quantity(amount) or 0.0 for name, amount in found.items()}


Used = Mapping[str, Mapping[str, float]]
"""What pods request of each node, by its name."""


def placeable(
    templates: Sequence[Object], nodes: Sequence[Object], pods: Iterable[Object]
) -> tuple[bool, str]:
    """(whether nodes take one more pod of each template together, why not)."""
    return placeable_beside(templates, nodes, used_by(pods))


def used_by(pods: Iterable[Object]) -> Used:
    """Return the resources requested by the pods on a node."""
    used: dict[str, dict[str, float]] = {}
    for pod in pods:
        node = text(pod, "spec", "nodeName")
        if node and text(pod, "status", "phase") not in ("Succeeded", "Failed"):
            _take(used, node, requests(pod))
    return used


def placeable_beside(
    templates: Sequence[Object], nodes: Sequence[Object], held: Used
) -> tuple[bool, str]:
    """Like `placeable`, given the resources already in use."""
    used = {node: dict(amounts) for node, amounts in held.items()}
    for place, template in enumerate(templates):
        wanted = requests(template)
        reasons: list[str] = []
        for found in nodes:
            why = _against(template, found) or _lacks(wanted, found, used.get(name_of(found), {}))
            if not why:
                _take(used, name_of(found), wanted)
                break
            reasons.append(f"{name_of(found)}: {why}")
        else:
            why = "; ".join(reasons[:4]) or "there is no node"
            of = f"pod {place + 1} of {len(templates)}: " if len(templates) > 1 else ""
            return False, of + why
    return True, ""


def _take(used: dict[str, dict[str, float]], node: str, amounts: Mapping[str, float]) -> None:
    on = used.setdefault(node, {})
    for name, amount in amounts.items():
        on[name] = on.get(name, 0.0) + amount


def _against(template: Object, node: Object) -> str:
    if value(node, "spec", "unschedulable") is True:
        return "is cordoned"
    if condition(node, "Ready").get("status") != "True":
        return "is not Ready"
    labels = mapping(node, "metadata", "labels")
    for key, wanted in mapping(template, "spec", "nodeSelector").items():
        if labels.get(key) != wanted:
            return f"is not labelled {key}={wanted}"
    if why := against_affinity(template, node):
        return why
    tolerations = objects(template, "spec", "tolerations")
    for taint in objects(node, "spec", "taints"):
        if text(taint, "effect") in ("NoSchedule", "NoExecute") and not any(
            _tolerates(found, taint) for found in tolerations
        ):
            return f"is tainted {text(taint, 'key')}"
    return ""


def _tolerates(toleration: Object, taint: Object) -> bool:
    if text(toleration, "effect") not in ("", text(taint, "effect")):
        return False
    if text(toleration, "operator") == "Exists":
        return text(toleration, "key") in ("", text(taint, "key"))
    return text(toleration, "key") == text(taint, "key") and text(toleration, "value") == text(
        taint, "value"
    )


def _lacks(wanted: Mapping[str, float], node: Object, used: Mapping[str, float]) -> str:
    has = mapping(node, "status", "allocatable")
    for name, amount in wanted.items():
        free = (quantity(has.get(name)) or 0.0) - used.get(name, 0.0)
        if amount > free + 1e-9 and amount > 0:
            return f"has {max(0.0, free):g} {name} free, needs {amount:g}"
    return ""


def quota_left(template: Object, quotas: Iterable[Object], also_counted: Sequence[str] = ()) -> int:
    """Return how many more pods of the template the namespace's quotas allow.

    `also_counted`: other objects created with each pod, by their names in quotas, such as
    `count/deployments.apps`.
    """
    wanted = requests(template)
    limits = {
        name: sum(
            quantity(mapping(item, "resources", "limits").get(name)) or 0.0
            for item in objects(template, "spec", "containers")
        )
        for name in ("cpu", "memory")
    }
    left = float(PLENTY)
    for quota in quotas:
        if not all(_in_scope(template, scope) for scope in _scopes(quota)):
            continue
        hard = mapping(quota, "status", "hard") or mapping(quota, "spec", "hard")
        for name, bound in hard.items():
            kind, _, resource = name.partition(".")
            if name in ("pods", "count/pods", *also_counted):
                amount = 1.0
            elif kind == "requests":
                amount = wanted.get(resource, 0.0)
            elif kind == "limits":
                amount = limits.get(resource, 0.0)
            else:
                amount = wanted.get(name, 0.0) if name in ("cpu", "memory") else 0.0
            if amount > 0:
                free = (quantity(bound) or 0.0) - (
                    quantity(mapping(quota, "status", "used").get(name)) or 0.0
                )
                left = min(left, free / amount)
    return max(0, math.floor(left + 1e-9))


def _scopes(quota: Object) -> Iterable[Object]:
    """Return the scopes of a quota; empty if it counts all pods."""
    yield from (
        {"scopeName": name, "operator": "Exists"} for name in sequence(quota, "spec", "scopes")
    )
    yield from objects(quota, "spec", "scopeSelector", "matchExpressions")


def _in_scope(template: Object, scope: Object) -> bool:
    spec = mapping(template, "spec")
    name, priority = text(scope, "scopeName"), text(spec, "priorityClassName")
    amounts = [
        mapping(item, "resources", kind)
        for item in objects(spec, "containers")
        for kind in ("requests", "limits")
    ]
    best_effort = not any(one in found for found in amounts for one in ("cpu", "memory"))
    match name:
        case "Terminating" | "NotTerminating":
            return ("activeDeadlineSeconds" in spec) is (name == "Terminating")
        case "BestEffort" | "NotBestEffort":
            return best_effort is (name == "BestEffort")
        case "PriorityClass":
            held = {"PriorityClass": priority} if priority else {}
            return selects({"matchExpressions": [{**scope, "key": "PriorityClass"}]}, held)
        case "CrossNamespacePodAffinity":
            return any(
                "namespaces" in term or "namespaceSelector" in term for term in _pod_terms(spec)
            )
    return True


def _pod_terms(spec: Object) -> Iterable[Object]:
    for kind in ("podAffinity", "podAntiAffinity"):
        yield from objects(spec, "affinity", kind, "requiredDuringSchedulingIgnoredDuringExecution")
        for one in objects(
            spec, "affinity", kind, "preferredDuringSchedulingIgnoredDuringExecution"
        ):
            yield mapping(one, "podAffinityTerm")


def disruption_minimum(template: Object, replicas: int, budgets: Iterable[Object]) -> int:
    """How many of these pods the PodDisruptionBudgets want to be available."""
    labels = mapping(template, "metadata", "labels")
    least = 0
    for budget in budgets:
        selector = value(budget, "spec", "selector")
        if not isinstance(selector, Mapping) or not selects(selector, labels):
            continue
        kept, lost = value(budget, "spec", "minAvailable"), value(budget, "spec", "maxUnavailable")
        if kept is not None:
            least = max(least, _share(kept, replicas))
        elif lost is not None:
            least = max(least, replicas - _share(lost, replicas))
    return least


def _share(written: object, of: int) -> int:
    if (
        isinstance(written, str)
        and written.endswith("%")
        and (percent := whole_number(written[:-1])) is not None
    ):
        return math.ceil(of * percent / 100)
    return written if isinstance(written, int) else of
