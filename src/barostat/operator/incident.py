"""PressureIncident: what a cluster keeps of one incident. The CRD is made from these dataclasses.

`spec` is what was seen at the start and never changes. `status` follows the incident to its end.
"""

from __future__ import annotations

import dataclasses
import typing
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, Literal

from barostat.core.limits import API_VERSION
from barostat.core.limits_fields import fields_of, required
from barostat.core.naming import camel
from barostat.io.input_files.limits_schema import schema_of, structural
from barostat.io.kubernetes.client.resources import Resource
from barostat.platform.objects import instant, mapping, text

KIND = "PressureIncident"
PLURAL = "pressureincidents"
GROUP, VERSION = API_VERSION.split("/")
PRESSURE_INCIDENTS = Resource(KIND, PLURAL, GROUP, VERSION)
SERVING_LIMITS = Resource("ServingLimits", "servinglimits", GROUP, VERSION)
MOST_CHARS = 1024
"""Longest text of one field."""
MOST_ROWS = 16

Severity = Literal["info", "warning", "critical"]
Phase = Literal["Open", "Healing", "Healed", "Recovered", "NotHealed"]
"""Open: harm is there. Healing: a remedy runs. Healed: a remedy ended it, verified. Recovered: it
ended without one. NotHealed: a remedy was rolled back or refused, and the harm persists.
"""
ENDED: tuple[Phase, ...] = ("Healed", "Recovered")
ConditionType = Literal["Harmful", "Planned", "Remedied"]
ConditionStatus = Literal["True", "False", "Unknown"]


@dataclass(frozen=True, slots=True)
class IncidentTarget:
    """The workload that the incident is about."""

    api_version: str
    kind: str
    name: str
    uid: str = ""


@dataclass(frozen=True, slots=True)
class IncidentSpec:
    """Observations at the start of the incident. Immutable."""

    target_ref: IncidentTarget
    cause: str
    severity: Severity
    first_harm_at: str
    detected_at: str
    variant: str = ""


@dataclass(frozen=True, slots=True)
class EvidenceRow:
    """One measured value that the diagnosis rests on."""

    signal: str
    value: str
    source: str
    note: str = ""


@dataclass(frozen=True, slots=True)
class Figures:
    """Measurements over all replicas. Numbers are text, because numbers in a CRD are rounded."""

    at: str
    running_requests: str = ""
    waiting_requests: str = ""
    kv_usage_ratio: str = ""
    preempted_per_second: str = ""
    output_tokens_per_second: str = ""
    ttft_p99_seconds: str = ""
    itl_p99_seconds: str = ""


@dataclass(frozen=True, slots=True)
class TwinFigures:
    """The twin's forecast for the worst engine. Numbers as text, as in Figures."""

    preempted_per_second: str = ""
    output_tokens_per_second: str = ""
    ttft_p99_seconds: str = ""
    itl_p99_seconds: str = ""
    refused_ratio: str = ""


@dataclass(frozen=True, slots=True)
class IncidentPlan:
    """The change that ends the incident. `record`: the ConfigMap record of the remedy, once one
    began.

    `effect`: what the change does on the twin of the engine with the traffic of the incident: helps,
    trade-off, unsure, nothing or harms; `unchanged` and `changed` are the figures without and with
    it. `not_tried`: why the twin was not asked.
    """

    lever: str
    change: str
    because: str = ""
    strategy: str = ""
    refused_because: str = ""
    record: str = ""
    effect: str = ""
    unchanged: TwinFigures | None = None
    changed: TwinFigures | None = None
    not_tried: str = ""

    @property
    def is_tried(self) -> bool:
        """True if the twin was asked, or cannot be."""
        return bool(self.effect or self.not_tried)

    def with_trial_of(self, other: IncidentPlan | None) -> IncidentPlan:
        """The same plan with the trial of another plan of the same change."""
        if other is None or (other.lever, other.change) != (self.lever, self.change):
            return self
        return replace(
            self,
            effect=other.effect,
            unchanged=other.unchanged,
            changed=other.changed,
            not_tried=other.not_tried,
        )


@dataclass(frozen=True, slots=True)
class Condition:
    """A condition as Kubernetes writes it."""

    type: ConditionType
    status: ConditionStatus
    reason: str
    last_transition_time: str
    message: str = ""
    observed_generation: int = 1


@dataclass(frozen=True, slots=True)
class IncidentStatus:
    """The status of an incident. `reason`: of the newest condition, for a printer column.
    `failed_remedies`: number of remedies that did not help.
    """

    phase: Phase = "Open"
    reason: str = ""
    cause: str = ""
    summary: str = ""
    replicas: tuple[str, ...] = ()
    evidence: tuple[EvidenceRow, ...] = ()
    plan: IncidentPlan | None = None
    proposals: tuple[str, ...] = ()
    before: Figures | None = None
    after: Figures | None = None
    conditions: tuple[Condition, ...] = ()
    ended_at: str | None = None
    failed_remedies: int | None = None
    observed_generation: int = 1


@dataclass(frozen=True, slots=True)
class PressureIncident:
    """One incident, in the namespace of its workload."""

    namespace: str
    name: str
    spec: IncidentSpec
    status: IncidentStatus = field(default_factory=IncidentStatus)

    @property
    def ended(self) -> bool:
        """True once the harm is over."""
        return self.status.phase in ENDED

    def with_condition(
        self,
        kind: ConditionType,
        status: ConditionStatus,
        reason: str,
        message: str,
        now: float,
    ) -> PressureIncident:
        """The same with that condition; its transition time stays where its status stays."""
        former = next((one for one in self.status.conditions if one.type == kind), None)
        same = former is not None and former.status == status
        at = former.last_transition_time if former is not None and same else rfc3339(now)
        made = Condition(kind, status, reason, at, message[:MOST_CHARS])
        if former == made:
            return self
        rest = tuple(one for one in self.status.conditions if one.type != kind)
        return replace(self, status=replace(self.status, conditions=(*rest, made), reason=reason))

    def condition(self, kind: ConditionType) -> Condition | None:
        """The condition of that type."""
        return next((one for one in self.status.conditions if one.type == kind), None)


def rfc3339(at: float) -> str:
    """The instant as Kubernetes writes it, in whole seconds."""
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def seconds_of(written: str) -> float:
    """The instant in unix seconds; 0 for a text that is none."""
    return instant(written) or 0.0


def incident_name(workload: str, first_harm_at: float) -> str:
    """The object's name: the same for the same first harm, so that a repeated create changes
    nothing.
    """
    at = datetime.fromtimestamp(first_harm_at, UTC).strftime("%Y%m%d-%H%M%S")
    return f"{workload[:40].rstrip('-.')}-{at}"


# --- documents


def as_document(value: Any) -> Any:
    """A dataclass as JSON: keys in camelCase, empty values left out unless the CRD needs them."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        needed = required(type(value))
        made = {
            one.name: as_document(getattr(value, one.name)) for one in dataclasses.fields(value)
        }
        return {
            camel(name): entry
            for name, entry in made.items()
            if name in needed or entry not in (None, "", [])
        }
    if isinstance(value, tuple):
        return [as_document(entry) for entry in value]
    return value[:MOST_CHARS] if isinstance(value, str) else value


def from_document(item: Any) -> PressureIncident | None:
    """The incident that the object holds; None for one that cannot be read."""
    try:
        return PressureIncident(
            text(item, "metadata", "namespace"),
            text(item, "metadata", "name"),
            _read(IncidentSpec, mapping(item, "spec")),
            _read(IncidentStatus, mapping(item, "status")),
        )
    except (TypeError, ValueError):
        return None


def _read(cls: type, document: Any) -> Any:
    """Errors: TypeError or ValueError for a document that does not fit."""
    if not isinstance(document, dict):
        raise TypeError(cls.__name__)
    given = {}
    for key, (name, hint) in fields_of(cls).items():
        if key in document:
            given[name] = _value(hint, document[key])
    return cls(**given)


def _value(hint: Any, given: Any) -> Any:
    if dataclasses.is_dataclass(hint) and isinstance(hint, type):
        return _read(hint, given)
    if typing.get_origin(hint) is tuple:
        if not isinstance(given, list):
            raise TypeError("a list was expected")
        return tuple(_value(typing.get_args(hint)[0], entry) for entry in given)
    expected = int if hint is int else str
    if not isinstance(given, expected):
        raise TypeError("another type was expected")
    return given


# --- the CRD


def crd() -> dict[str, Any]:
    """The CustomResourceDefinition of PressureIncident."""
    spec = structural(schema_of(IncidentSpec))
    spec["x-kubernetes-validations"] = [
        {
            "rule": "self == oldSelf",
            "message": "spec never changes: it is what was seen at the start",
        }
    ]
    status = structural(schema_of(IncidentStatus))
    for rows in ("evidence", "proposals", "replicas", "conditions"):
        status["properties"][rows]["maxItems"] = MOST_ROWS if rows != "replicas" else 100
    status["properties"]["conditions"] |= {
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["type"],
    }
    status["x-kubernetes-validations"] = [
        {
            "rule": "!(has(self.phase) && self.phase in ['Healed', 'Recovered']) || has(self.endedAt)",
            "message": "an incident that is over says when it ended",
        }
    ]
    for section in (spec, status):
        _bounded(section)
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{PLURAL}.{GROUP}"},
        "spec": {
            "group": GROUP,
            "scope": "Namespaced",
            "names": {"kind": KIND, "plural": PLURAL, "singular": "pressureincident", "shortNames": ["pi"], "categories": ["barostat"]},
            "versions": [{
                "name": VERSION, "served": True, "storage": True, "subresources": {"status": {}},
                "additionalPrinterColumns": [
                    {"name": "Workload", "type": "string", "jsonPath": ".spec.targetRef.name"},
                    {"name": "Cause", "type": "string", "jsonPath": ".spec.cause"},
                    {"name": "Severity", "type": "string", "jsonPath": ".spec.severity"},
                    {"name": "Phase", "type": "string", "jsonPath": ".status.phase"},
                    {"name": "Reason", "type": "string", "jsonPath": ".status.reason"},
                    {"name": "Change", "type": "string", "jsonPath": ".status.plan.change", "priority": 1},
                    {"name": "Age", "type": "date", "jsonPath": ".spec.firstHarmAt"},
                ],
                "schema": {"openAPIV3Schema": {
                    "type": "object", "required": ["spec"],
                    "properties": {
                        "apiVersion": {"type": "string"}, "kind": {"type": "string"}, "metadata": {"type": "object"},
                        "spec": spec, "status": status,
                    },
                }},
            }],
        },
    }  # fmt: skip


def _bounded(schema: dict[str, Any]) -> None:
    """Bound every free text: CEL costs are estimated from the longest one."""
    kind = schema.get("type")
    if kind == "string" and "enum" not in schema:
        schema["maxLength"] = MOST_CHARS
    for entry in schema.get("properties", {}).values():
        _bounded(entry)
    if isinstance(items := schema.get("items"), dict):
        _bounded(items)
