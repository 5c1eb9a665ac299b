"""Every kind that is known: by its name, and as a person types it."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from barostat.core.rules import exported
from barostat.platform.objects import Object, mapping, text
from barostat.platform.workloads._kind import WorkloadKind

_PACKAGE, _FOLDER = "barostat.platform.workloads", str(Path(__file__).parent)


@cache
def kinds() -> tuple[WorkloadKind, ...]:
    """Every kind of workload, in the order of their files' names."""
    return exported(_PACKAGE, (_FOLDER,), "KIND", WorkloadKind)


@cache
def _by_name() -> dict[str, WorkloadKind]:
    return {kind.api.kind: kind for kind in kinds()}


def kind_named(name: str) -> WorkloadKind | None:
    """The kind of that name as objects carry it (`Deployment`), or None."""
    return _by_name().get(name)


def kind_of_plural(plural: str) -> WorkloadKind | None:
    """The kind of that plural name (`deployments`), or None."""
    return next((kind for kind in kinds() if kind.api.plural == plural), None)


def marks(item: Object) -> Object:
    """The annotations of the object that remedies leave there, by its kind."""
    kind = kind_named(text(item, "kind"))
    path = kind.marks_path if kind is not None else WorkloadKind.marks_path
    return mapping(item, *path)


@cache
def spellings() -> dict[str, WorkloadKind]:
    """Every spelling that kubectl takes before the slash: short, singular, plural, with the
    group.
    """
    found: dict[str, WorkloadKind] = {}
    for kind in kinds():
        api = kind.api
        singular = api.kind.lower()
        for word in (api.short, singular, api.plural):
            if word:
                found.setdefault(word, kind)
        if api.group:
            found[f"{singular}.{api.group}"] = found[f"{api.plural}.{api.group}"] = kind
    return found


@cache
def words_to_type() -> str:
    """How a person names a workload, for a message: `deploy/NAME, or another of ds, isvc, ...`."""
    others = ", ".join(kind.api.word for kind in kinds() if kind.api.word != "deploy")
    return f"deploy/NAME, or with another kind ({others})"


def kind_typed(word: str) -> WorkloadKind | None:
    """The kind that a person means by that word, or None."""
    return spellings().get(word.lower())
