"""A limits document that does not hold together.

Meaning: an unknown key, a value of the wrong kind, or numbers that exclude each other.
Impact: it is not enforced: gateway and operator refuse the document.

Bad:

    {kind: ServingLimits, apiVersion: barostat.dev/v1alpha1, spec: {request: {maxInputTokens: 8192},
    engine: {maxModelLen: 4096}}}

Good:

    {kind: ServingLimits, apiVersion: barostat.dev/v1alpha1, spec: {request: {maxInputTokens: 3072},
    engine: {maxModelLen: 4096}}}

Fix: as the message says; `barostat limits schema` has the whole shape.
Source: docs/reference/serving-limits.schema.json.
"""

from __future__ import annotations

from collections.abc import Iterator

from barostat.lint.facts import Scene
from barostat.lint.rule import Found, Rule


def judge(scene: Scene) -> Iterator[Found]:
    """Every complaint of the strict reading."""
    for limits in scene.limits:
        for place, complaint in limits.problems:
            yield Found(place, complaint)


RULE = Rule("limits-invalid", "a limits file that does not hold together", judge, "error")
