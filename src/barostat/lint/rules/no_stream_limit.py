"""No limit on how long a stream may last.

Meaning: the limits document has no request.maxStreamSeconds.
Impact: a slow or absent reader holds its blocks of the pool for as long as it likes; a rollout
waits for it.

Bad:

    {kind: ServingLimits, apiVersion: barostat.dev/v1alpha1, spec: {request: {maxOutputTokens:
    1024}}}

Good:

    {kind: ServingLimits, apiVersion: barostat.dev/v1alpha1, spec: {request: {maxOutputTokens: 1024,
    maxStreamSeconds: 120}}}

Fix: the time that the longest allowed answer takes at the slowest pace that is still served, twice.
Source: the prevention checklist, section 1.
"""

from __future__ import annotations

from collections.abc import Iterator

from barostat.lint.facts import Scene
from barostat.lint.rule import Found, Rule


def judge(scene: Scene) -> Iterator[Found]:
    """Every limits document without it."""
    for limits in scene.limits:
        if "request.maxStreamSeconds" not in limits.numbers:
            yield Found(
                limits.place, "no limit on how long a stream may last", "request.maxStreamSeconds"
            )


RULE = Rule(
    "no-stream-limit",
    "no limit on a stream's duration",
    judge,
    "note",
    "high",
    "pedant",
    topic="limits",
)
