"""The labels by which Services send requests to a workload's pods, and that take a pod out of
rotation when they come off; and what each pod in rotation gets of the requests.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from barostat.core.window import Window
from barostat.platform.objects import Object, mapping, objects, text
from barostat.platform.workloads import Lists, WorkloadKind


def routing_services(
    kind: WorkloadKind,
    home: Object,
    services: Iterable[Object],
    pods: Iterable[Object] = (),
    lists: Lists[Object] = MappingProxyType({}),
) -> list[Object]:
    """Return the Services that send requests to home's pods. One without a selector sends none.

    `pods`: home's pods, whose common labels count where home's own templates have none. `lists`:
    what the kind reads besides.
    """
    labels = kind.pod_labels(home, lists) or _common_labels(pods)

    def selects(service: Object) -> bool:
        selector = mapping(service, "spec", "selector")
        return bool(selector) and all(
            labels.get(key) == value
            for key, value in selector.items()
            if key not in kind.fixed_labels or key in labels
        )

    return [found for found in services if selects(found) and kind.routes(home, found)]


def _common_labels(pods: Iterable[Object]) -> Object:
    found = [mapping(pod, "metadata", "labels") for pod in pods]
    return {
        key: entry
        for key, entry in (found[0] if found else {}).items()
        if all(labels.get(key) == entry for labels in found)
    }


def rotation_labels(
    kind: WorkloadKind,
    home: Object,
    services: Iterable[Object],
    lists: Lists[Object] = MappingProxyType({}),
) -> dict[str, str]:
    """Return the labels that these Services and home's own selector find the pods by, without those
    that home's owner needs. `lists`: what the kind reads besides.
    """
    labels, selector = kind.pod_labels(home, lists), kind.pod_selector(home, lists)
    found = {key: str(value) for key, value in mapping(selector, "matchLabels").items()}
    wanted = {
        text(entry, "key")
        for entry in objects(selector, "matchExpressions")
        if text(entry, "operator") in ("In", "Exists")
    }
    found |= {key: str(value) for key, value in labels.items() if key in wanted}
    for service in services:
        found |= {
            key: str(value)
            for key, value in mapping(service, "spec", "selector").items()
            if labels.get(key) == value
        }
    return {key: value for key, value in found.items() if key not in kind.fixed_labels}


def separable(kind: WorkloadKind, services: list[Object]) -> bool:
    """True if there is a Service and each of them selects by a label that can come off."""
    return bool(services) and all(
        set(mapping(service, "spec", "selector")) - set(kind.fixed_labels) for service in services
    )


def selects(pool: Object, labels: Mapping[str, Any]) -> bool:
    """True if the InferencePool sends requests to a pod with these labels."""
    selector = mapping(pool, "spec", "selector")
    wanted = mapping(selector, "matchLabels") or selector
    return bool(wanted) and all(labels.get(key) == found for key, found in wanted.items())


STARVED = 0.5
"""Below this share of what each replica would get evenly, clients keep their connections to others."""
POOLED = (
    "clients keep their connections to other replicas (HTTP keep-alive), and only the clients or a "
    "gateway can move them: `barostat gateway` before the workload sends each request to the "
    "replica with room"
)


def _rates(windows: Iterable[Window], since: float) -> dict[str, float]:
    rates: dict[str, float] = {}
    for window in windows:
        found = window.fresh("arrivals_per_s")
        part = found.since(since) if found is not None else None
        if part is not None:
            rates[window.replica] = rates.get(window.replica, 0.0) + part.mean
    return rates


def starved(changed: Sequence[Window], others: Sequence[Window], since: float) -> str:
    """Why a replica with the change proves nothing: it got no request since then, and others did.
    Empty if it got one, or where that was not measured.
    """
    own, rest = _rates(changed, since), _rates(others, since)
    if not own or any(own.values()) or sum(rest.values()) <= 0:
        return ""
    got = ", ".join(f"{name} got {rate:.2g} requests/s" for name, rate in rest.items() if rate)
    return f"{', '.join(own)} got no request, and {got}: {POOLED}"


def shares_of(changed: Sequence[Window], unchanged: Sequence[Window], since: float) -> str:
    """The share of the requests that each replica gets, as a sentence, with what to do where one
    with the change is starved; empty if it was not measured.
    """
    rates = _rates((*changed, *unchanged), since)
    total = sum(rates.values())
    if total <= 0 or len(rates) < len({window.replica for window in (*changed, *unchanged)}):
        return ""
    shares = {name: rate / total for name, rate in rates.items()}
    says = "requests: " + ", ".join(f"{name} {share:.0%}" for name, share in shares.items())
    least = min(shares[window.replica] for window in changed)
    return f"{says}; {POOLED}" if least < STARVED / len(shares) else says
