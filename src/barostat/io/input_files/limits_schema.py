"""The limits document for a schema library: one model made from the dataclasses of `core.limits`,
and of it the checks of a file, the JSON Schema and the Kubernetes CRD. Nothing is described twice
([schema-library](docs/decisions/schema-library.md)).
"""

from __future__ import annotations

import dataclasses
import typing
from collections.abc import Mapping
from functools import cache
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, Strict, create_model

from barostat.core.limits import API_VERSION, KIND, LimitsSpec
from barostat.core.limits_fields import bounds, fields_of, required
from barostat.core.naming import camel
from barostat.io.input_files.yaml_places import Written


class Document(BaseModel):
    """The whole file. `status` is what a cluster adds."""

    model_config = ConfigDict(extra="forbid", alias_generator=camel)

    api_version: Literal["barostat.dev/v1alpha1"]
    kind: Literal["ServingLimits"]
    metadata: dict[str, Any] = Field(default_factory=dict)
    spec: Any
    because: dict[str, str] = Field(default_factory=dict)
    status: Any = None


@cache
def model_of(cls: type) -> type[BaseModel]:
    """The model of one dataclass: the same fields, spelled as a file spells them, and no others."""
    fields: dict[str, Any] = {
        name: (_kind(name, hint), ... if name in required(cls) else None)
        for name, hint in fields_of(cls).values()
    }
    config = ConfigDict(extra="forbid", alias_generator=camel, title=cls.__name__)
    return create_model(
        cls.__name__,
        __config__=config,
        __doc__=" ".join((cls.__doc__ or "").split("\n\n")[0].split()),
        **fields,
    )


@cache
def document() -> type[BaseModel]:
    """The model of a limits file."""
    return create_model(KIND, __base__=Document, spec=(model_of(LimitsSpec), ...))


def _kind(name: str, hint: Any) -> Any:
    if dataclasses.is_dataclass(hint) and isinstance(hint, type):
        return model_of(hint)
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is tuple:
        return list[_kind(name, arguments[0])]  # type: ignore[misc]
    if origin in (Mapping, dict):
        return dict[str, _kind(name, arguments[1])]  # type: ignore[misc]
    if hint not in (int, float):
        return hint
    low, high, exclusive = bounds(name, hint)
    extra: Any = {"format": "int64"} if hint is int else None
    field = (
        Field(gt=low, le=high, json_schema_extra=extra)
        if exclusive
        else Field(ge=low, le=high, json_schema_extra=extra)
    )
    return Annotated[
        hint,
        field,
        Strict(),
        BeforeValidator(lambda given: given.value if isinstance(given, Written) else given),
    ]


def schema_of(cls: type) -> dict[str, Any]:
    """The JSON Schema of one dataclass, in one piece: without references, titles and defaults."""
    whole = model_of(cls).model_json_schema()
    definitions = whole.pop("$defs", {})

    def resolved(node: Any, *, names: bool = False) -> Any:
        if isinstance(node, list):
            return [resolved(item) for item in node]
        if not isinstance(node, dict):
            return node
        if "$ref" in node:
            return resolved(definitions[node["$ref"].rsplit("/", 1)[-1]])
        kept = {
            key: value for key, value in node.items() if names or key not in ("title", "default")
        }
        return {
            key: resolved(value, names=key == "properties" and not names)
            for key, value in kept.items()
        }

    made: dict[str, Any] = resolved(whole)
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
                        "spec": structural(schema_of(LimitsSpec)),
                        "because": {"type": "object", "additionalProperties": {"type": "string"}},
                        "status": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
                    },
                }},
            }],
        },
    }  # fmt: skip


def structural(schema: Any) -> Any:
    """The schema as a CRD may state it: OpenAPI v3 has a flag for exclusive bounds, and unknown
    fields are refused by strict validation instead.
    """
    if isinstance(schema, list):
        return [structural(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    made = {
        key: structural(value)
        for key, value in schema.items()
        if not (key == "additionalProperties" and value is False)
    }
    if isinstance(low := made.get("exclusiveMinimum"), int | float):
        made["minimum"], made["exclusiveMinimum"] = low, True
    return made
