"""Evaluates a pod's required node affinity; preferences are ignored.

Source: core/v1 NodeAffinity (requiredDuringSchedulingIgnoredDuringExecution: terms are
alternatives, the conditions in a term all apply; an empty term selects nothing), Kubernetes 1.27 to
1.34.
"""

from __future__ import annotations

from barostat.core.whole_number import whole_number
from barostat.platform.label_selector import selects
from barostat.platform.objects import Object, mapping, name_of, objects, sequence, text

_REQUIRED = ("spec", "affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution")
_SHOWN = 80


def against_affinity(template: Object, node: Object) -> str:
    """Why the node is none of those that the template's node affinity asks for; empty if it is,
    or nothing is asked.
    """
    terms = objects(template, *_REQUIRED, "nodeSelectorTerms")
    if not terms or any(_fits(term, node) for term in terms):
        return ""
    return f"is not what node affinity asks for ({'; or '.join(map(_told, terms))[:_SHOWN]})"


def _fits(term: Object, node: Object) -> bool:
    labels, named = mapping(node, "metadata", "labels"), {"metadata.name": name_of(node)}
    asked, fields = objects(term, "matchExpressions"), objects(term, "matchFields")
    return (
        bool(asked or fields)
        and all(_holds(one, labels) for one in asked)
        and all(_holds(one, named) for one in fields)
    )


def _holds(asked: Object, labels: Object) -> bool:
    how, key = text(asked, "operator"), text(asked, "key")
    if how not in ("Gt", "Lt"):
        return selects({"matchExpressions": [asked]}, labels)
    bound, found = (
        whole_number(str(one)) for one in ((*sequence(asked, "values"), "")[0], labels.get(key, ""))
    )
    return (
        bound is not None
        and found is not None
        and (found > bound if how == "Gt" else found < bound)
    )


def _told(term: Object) -> str:
    asked = (*objects(term, "matchExpressions"), *objects(term, "matchFields"))
    return ", ".join(
        " ".join([text(one, "key"), text(one, "operator"), *map(str, sequence(one, "values"))])
        for one in asked
    )
