"""ServingLimits as a JSON Schema and as a Kubernetes CRD, both made from the dataclasses in core.limits."""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Mapping
from typing import Any

from barostat.core.limits import API_VERSION, KIND, LimitsSpec

# Bounds of numbers by name: (lowest, highest, whether the lowest itself is refused).
BOUNDS: dict[str, tuple[float, float | None, bool]] = {
    "watermark": (0, 1, False), "gpu_memory_utilization": (0, 1, True), "headroom_ratio": (0, 1, False), "share": (0, 1, True),
    "floor_replicas": (0, None, False), "max_replicas": (1, None, False), "changes_per_hour": (0, None, False),
}  # fmt: skip
_POSITIVE_INTEGER: tuple[float, float | None, bool] = (1, None, False)
_POSITIVE_NUMBER: tuple[float, float | None, bool] = (0, None, True)


def camel(name: str) -> str:
    """`max_num_seqs` -> `maxNumSeqs`."""
    first, *rest = name.split("_")
    return first + "".join(part.capitalize() for part in rest)


def bounds(name: str, kind: type) -> tuple[float, float | None, bool] | None:
    """The bounds of a number; None for what is no number."""
    if kind not in (int, float):
        return None
    return BOUNDS.get(name, _POSITIVE_INTEGER if kind is int else _POSITIVE_NUMBER)


def inner(hint: Any) -> Any:
    """The type without its `| None`."""
    arguments = [argument for argument in typing.get_args(hint) if argument is not type(None)]
    return arguments[0] if typing.get_origin(hint) in (types.UnionType, typing.Union) and len(arguments) == 1 else hint


def fields_of(cls: type) -> dict[str, tuple[str, Any]]:
    """Key in the file -> (name in the dataclass, type)."""
    hints = typing.get_type_hints(cls)
    return {camel(field.name): (field.name, inner(hints[field.name])) for field in dataclasses.fields(cls)}


def schema_of(hint: Any, name: str = "") -> dict[str, Any]:
    """The JSON Schema of one type."""
    if dataclasses.is_dataclass(hint) and isinstance(hint, type):
        properties = {key: schema_of(kind, field) for key, (field, kind) in fields_of(hint).items()}
        required = [camel(f.name) for f in dataclasses.fields(hint) if f.default is f.default_factory is dataclasses.MISSING]
        described = (hint.__doc__ or "").split("\n")[0]
        made: dict[str, Any] = {"type": "object", "description": described, "properties": properties, "additionalProperties": False}
        return {**made, "required": required} if required else made
    origin = typing.get_origin(hint)
    if origin is typing.Literal:
        return {"type": "string", "enum": list(typing.get_args(hint))}
    if origin is tuple:
        return {"type": "array", "items": schema_of(typing.get_args(hint)[0])}
    if origin in (Mapping, dict):
        return {"type": "object", "additionalProperties": schema_of(typing.get_args(hint)[1])}
    made = {"type": {int: "integer", float: "number", str: "string", bool: "boolean"}[hint]}
    limits = bounds(name, hint)
    if limits is not None:
        low, high, exclusive = limits
        made["exclusiveMinimum" if exclusive else "minimum"] = low
        if high is not None:
            made["maximum"] = high
    if hint is int:
        made["format"] = "int64"
    return made


def json_schema() -> dict[str, Any]:
    """The JSON Schema of a limits file."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": KIND,
        "type": "object",
        "required": ["apiVersion", "kind", "spec"],
        "additionalProperties": False,
        "properties": {
            "apiVersion": {"const": API_VERSION},
            "kind": {"const": KIND},
            "metadata": {"type": "object"},
            "spec": schema_of(LimitsSpec),
            "because": {"type": "object", "additionalProperties": {"type": "string"}},
        },
    }


def crd() -> dict[str, Any]:
    """The CustomResourceDefinition of the same document."""
    group, version = API_VERSION.split("/")
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"servinglimits.{group}"},
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {"kind": KIND, "plural": "servinglimits", "singular": "servinglimits", "shortNames": ["sl"]},
            "versions": [{
                "name": version, "served": True, "storage": True, "subresources": {"status": {}},
                "additionalPrinterColumns": [
                    {"name": "Model", "type": "string", "jsonPath": ".spec.model"},
                    {"name": "Input", "type": "integer", "jsonPath": ".spec.request.maxInputTokens"},
                    {"name": "Output", "type": "integer", "jsonPath": ".spec.request.maxOutputTokens"},
                    {"name": "Seqs", "type": "integer", "jsonPath": ".spec.engine.maxNumSeqs"},
                ],
                "schema": {"openAPIV3Schema": {
                    "type": "object", "required": ["spec"],
                    "properties": {
                        "apiVersion": {"type": "string"}, "kind": {"type": "string"}, "metadata": {"type": "object"},
                        "spec": _structural(schema_of(LimitsSpec)),
                        "because": {"type": "object", "additionalProperties": {"type": "string"}},
                        "status": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
                    },
                }},
            }],
        },
    }  # fmt: skip


def _structural(schema: Any) -> Any:
    """The schema as a CRD may state it: OpenAPI v3 has a flag for exclusive bounds, and unknown fields are refused by strict validation
    instead."""
    if isinstance(schema, list):
        return [_structural(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    made = {key: _structural(value) for key, value in schema.items() if not (key == "additionalProperties" and value is False)}
    if isinstance(low := made.get("exclusiveMinimum"), int | float):
        made["minimum"], made["exclusiveMinimum"] = low, True
    return made
