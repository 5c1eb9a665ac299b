"""Remedies that are not over, read from the marks that they leave in the cluster: the claim on the
target, the record, Events, pods, and limits held at gateways.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, get_args

from barostat.core.diagnosis import HeldLimit, PodRole, RunningRemedy
from barostat.core.errors import InputError
from barostat.judge.mitigation.gateways import SeenGateway
from barostat.judge.mitigation.kept_units import is_kept
from barostat.platform.objects import Object, instant, mapping, name_of, text, value
from barostat.platform.workloads import kind_named, marks
from barostat.remedy.annotations import (
    CLAIM,
    ENDED,
    EVENT_REASON,
    INCIDENT,
    LABELS,
    SPARE,
    UNTIL,
    read_claim,
)
from barostat.remedy.record import KEY, from_json
from barostat.remedy.state import State
from barostat.remedy.step import Phase


def claimed(workloads: Iterable[Object]) -> list[Object]:
    """Return the workloads on which a change is in flight."""
    return [item for item in workloads if text(marks(item), CLAIM)]


def may_keep(workloads: Iterable[Object]) -> list[Object]:
    """Return the workloads beside which an incident that is over may keep a former version warm."""
    return [
        item
        for item in workloads
        if text(item, "metadata", "annotations", ENDED) and text(item, "kind") == "Deployment"
    ]


def keeping(workload: Mapping[str, Any], pods: Iterable[Object]) -> list[RunningRemedy]:
    """Return the incidents that keep these pods warm beside the workload."""
    return [
        RunningRemedy(
            incident=text(pod, "metadata", "labels", INCIDENT),
            target=_typed(workload),
            phase="Done",
            pods=((name_of(pod), "previous"),),
            warm_until=text(pod, "metadata", "annotations", UNTIL),
        )
        for pod in pods
        if is_kept(pod)
    ]


def phases(events: Iterable[Object]) -> dict[str, str]:
    """Return the phase of each incident by the latest Event about it.

    While a remedy only watches, its record stays as it was before.
    """
    found: dict[str, str] = {}
    for item in sorted(events, key=_order):
        reason = text(item, "reason")
        incident = text(item, "metadata", "labels", INCIDENT)
        if incident and reason.removeprefix(EVENT_REASON) in get_args(Phase):
            found[incident] = reason.removeprefix(EVENT_REASON)
    return found


def running(
    workload: Mapping[str, Any],
    record: Object | None,
    events: Iterable[Object],
    pods: Iterable[Object],
) -> RunningRemedy:
    """Return the remedy that has claimed the workload.

    `record`: the ConfigMap of the incident; None if it cannot be read. `pods`: of its namespace.
    """
    claim = read_claim(text(marks(workload), CLAIM))
    state = _state(record)
    phase = phases(events).get(claim.incident) or (state.phase if state is not None else "")
    return RunningRemedy(
        incident=claim.incident,
        target=_typed(workload),
        phase=phase,
        change=str(state.plan.change) if state is not None else "",
        holder=claim.holder,
        pods=tuple(_touched(claim.incident, pods)),
    )


def with_held_limits(
    remedies: Sequence[RunningRemedy], gateways: Iterable[SeenGateway], target: str
) -> tuple[RunningRemedy, ...]:
    """Return the remedies with the limits that they hold at these gateways, which stand before
    `target`. A holder that claims nothing is a remedy of its own.
    """
    by_holder: dict[str, list[HeldLimit]] = {}
    for gateway in gateways:
        for document in gateway.documents:
            by_holder.setdefault(text(document, "override", "holder"), []).extend(
                _held(str(gateway.ref), document)
            )
    by_holder.pop("", None)
    found = [
        replace(one, limits=tuple(dict.fromkeys(by_holder.pop(one.incident, ()))))
        for one in remedies
    ]
    rest = (
        RunningRemedy(holder, target, limits=tuple(dict.fromkeys(limits)))
        for holder, limits in by_holder.items()
    )
    return (*found, *rest)


def _held(gateway: str, document: Mapping[str, object]) -> list[HeldLimit]:
    lease_s = value(document, "override", "leaseSeconds")
    return [
        HeldLimit(gateway, name, number, lease_s if isinstance(lease_s, int | float) else 0.0)
        for name, number in mapping(document, "override", "limits").items()
        if isinstance(number, int | float)
    ]


def _touched(incident: str, pods: Iterable[Object]) -> Iterable[tuple[str, PodRole]]:
    for pod in pods:
        labels = mapping(pod, "metadata", "labels")
        if labels.get(INCIDENT) == incident and SPARE in labels:
            yield name_of(pod), "spare"
        elif text(pod, "metadata", "annotations", LABELS):
            yield name_of(pod), "detached"


def _state(record: Object | None) -> State | None:
    if record is None:
        return None
    try:
        return from_json(text(record, "data", KEY), name_of(record))
    except InputError:
        return None


def _typed(workload: Object) -> str:
    kind = kind_named(text(workload, "kind"))
    name = name_of(workload)
    typed = kind.typed(name) if kind is not None else name
    return f"{typed} -n {text(workload, 'metadata', 'namespace')}"


def _order(event: Object) -> tuple[float, int]:
    version = text(event, "metadata", "resourceVersion")
    return instant(event, "lastTimestamp") or 0.0, int(version) if version.isdigit() else 0
