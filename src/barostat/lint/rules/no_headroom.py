"""Limits that use the pool to its last block.

Meaning: the limits document keeps nothing free: no capacity.headroomRatio, or sequences times the
longest request that come to more than the pool less its headroom.
Impact: the estimate behind the numbers is off by a few per cent, and the rest is preemption.

Bad:

    {kind: ServingLimits, apiVersion: barostat.dev/v1alpha1, spec: {engine: {maxNumSeqs: 8},
    capacity: {kvCacheTokens: 100000}}}

Good:

    {kind: ServingLimits, apiVersion: barostat.dev/v1alpha1, spec: {engine: {maxNumSeqs: 8},
    capacity: {kvCacheTokens: 100000,
      headroomRatio: 0.1}}}

Fix: headroomRatio 0.05 to 0.2; `barostat plan --headroom` derives the other numbers with it.
Source: the prevention checklist, section 4, with the pool instead of the card's memory.
"""

from __future__ import annotations

from collections.abc import Iterator

from barostat.lint.facts import Scene
from barostat.lint.rule import Found, Rule


def judge(scene: Scene) -> Iterator[Found]:
    """Every limits document without headroom."""
    for limits in scene.limits:
        headroom = limits.numbers.get("capacity.headroomRatio")
        if headroom is None and "capacity.kvCacheTokens" in limits.numbers:
            yield Found(
                limits.numbers["capacity.kvCacheTokens"][1],
                "the pool is planned to its last block: no capacity.headroomRatio",
                "headroomRatio: 0.1",
            )
        elif headroom is not None and headroom[0] < 0.02:
            yield Found(
                headroom[1],
                f"a headroom of {headroom[0]:.0%} is less than the estimate is off by",
                "headroomRatio: 0.1",
            )


RULE = Rule("no-headroom", "limits without headroom", judge, "note", "medium", "pedant")
