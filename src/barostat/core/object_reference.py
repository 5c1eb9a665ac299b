"""A Kubernetes object by its kind and name."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ObjectReference:
    """An object of a cluster. `kind` in lower case (`deployment`); an empty `name` is not known."""

    kind: str
    name: str
    namespace: str = ""
