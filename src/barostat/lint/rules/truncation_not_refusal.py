"""Requests that are too long are cut, not refused.

Meaning: the limits document says `onMissingOutputLimit: cap`, or vLLM is 0.32 or newer, which takes
max_tokens down to what the context leaves and answers as if nothing had been asked otherwise.
Impact: a client gets half an answer and does not learn why.

Bad:

    {kind: ServingLimits, apiVersion: barostat.dev/v1alpha1, spec: {request: {maxOutputTokens: 1024,
    onMissingOutputLimit: cap}}}

Good:

    {kind: ServingLimits, apiVersion: barostat.dev/v1alpha1, spec: {request: {maxOutputTokens: 1024,
    onMissingOutputLimit: refuse}}}

Fix: `onMissingOutputLimit: refuse`, and a gateway that answers 400 with the limit.
Source: vLLM 0.32.0 entrypoints (get_max_tokens); the prevention checklist, section 1.
"""

from __future__ import annotations

from collections.abc import Iterator

from barostat.lint.edits import changed
from barostat.lint.facts import Scene
from barostat.lint.rule import Found, Rule


def judge(scene: Scene) -> Iterator[Found]:
    """Every limits document that has requests cut."""
    for limits in scene.limits:
        given = limits.words.get("request.onMissingOutputLimit")
        if given is not None and given.text == "cap":
            yield Found(
                given.place,
                "a request without an output limit is cut without being told",
                "refuse",
                changed(given.place, "refuse"),
            )


RULE = Rule(
    "truncation-not-refusal",
    "too long requests are cut, not refused",
    judge,
    "note",
    "medium",
    "pedant",
)
