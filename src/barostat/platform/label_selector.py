"""A label selector of an object: as the API server reads it from a query, and whether it selects
labels that are at hand.

Source: meta/v1 LabelSelector; "Labels and Selectors" in Kubernetes' documentation.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from barostat.platform.objects import Object, mapping, objects, sequence, text


def as_query(selector: Object) -> str:
    """The selector as `labelSelector=` takes it."""
    parts = [f"{key}={value}" for key, value in mapping(selector, "matchLabels").items()]
    for entry in objects(selector, "matchExpressions"):
        key, how = text(entry, "key"), text(entry, "operator")
        values = ",".join(_values(entry))
        parts.append(
            {"In": f"{key} in ({values})", "NotIn": f"{key} notin ({values})", "Exists": key}.get(
                how, f"!{key}"
            )
        )
    return ",".join(parts)


def selects(selector: Object, labels: Mapping[str, Any]) -> bool:
    """True if an object with those labels is selected; a selector that asks for nothing selects
    everything.
    """
    return all(
        labels.get(key) == value for key, value in mapping(selector, "matchLabels").items()
    ) and all(_holds(entry, labels) for entry in objects(selector, "matchExpressions"))


def _holds(entry: Object, labels: Mapping[str, Any]) -> bool:
    key, how = text(entry, "key"), text(entry, "operator")
    if how in ("In", "NotIn"):
        return (key in labels and labels[key] in _values(entry)) == (how == "In")
    return (key in labels) == (how == "Exists")


def _values(entry: Object) -> list[str]:
    return [str(value) for value in sequence(entry, "values")]
