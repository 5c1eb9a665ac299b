"""Limits without reasons.

Meaning: the limits document has numbers and no `because`: no sentence says what each was derived
from.
Impact: the next person raises a number because nothing says why it is there.

Bad:

    {kind: ServingLimits, apiVersion: barostat.dev/v1alpha1, spec: {engine: {maxNumSeqs: 32}}}

Good:

    {kind: ServingLimits, apiVersion: barostat.dev/v1alpha1, spec: {engine: {maxNumSeqs: 32}},
      because: {engine.maxNumSeqs: "a pool of 96,000 tokens, requests of 3,000"}}

Fix: one sentence for each number; `barostat plan` writes them.
Source: the prevention checklist, section 7.
"""

from __future__ import annotations

from collections.abc import Iterator

from barostat.lint.facts import Scene
from barostat.lint.rule import Found, Rule


def judge(scene: Scene) -> Iterator[Found]:
    """Every limits document without reasons."""
    for limits in scene.limits:
        if limits.numbers and not limits.has_reasons:
            yield Found(
                limits.place,
                "no number has a reason: a review cannot tell whether it is right",
                "because: {field: sentence}",
            )


RULE = Rule("limits-without-reasons", "limits without reasons", judge, "note", "high", "pedant")
