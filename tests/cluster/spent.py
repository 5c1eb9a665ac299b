"""Where a remedy's seconds went, from the timeline of its record: an entry ends what came since the
one before it.

    look       seen again before the first change
    start      engines start
    sample     the proof's own time under load, which the plan names
    drain      requests that are under way end
    end        replicas stop once they are drained
    other      all the rest: writes, records, waiting until a change is seen, settling
"""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

from barostat.remedy.record import from_json
from barostat.remedy.state import State

KINDS = {
    "Planned": "look",
    "AwaitSpare": "start",
    "AwaitUnit": "start",
    "AwaitCanary": "start",
    "AwaitHome": "start",
    "AwaitRolled": "start",
    "AwaitDrained": "drain",
    "DeletePod": "end",
    "DeleteSpare": "end",
    "RemoveUnit": "end",
}
NAMES = ("look", "start", "sample", "drain", "end", "other")


def spent_s(state: State) -> dict[str, float]:
    """Seconds by kind, from the first entry to the last."""
    spent = dict.fromkeys(NAMES, 0.0)
    for before, entry in pairwise(state.timeline):
        took_s = entry.at - before.at
        if entry.event == "Observe":
            sample_s = min(took_s, state.plan.expectation.sustained_s)
            spent["sample"] += sample_s
            took_s -= sample_s
        spent[KINDS.get(entry.event, "other")] += took_s
    return spent


def told(record: dict[str, Any]) -> str:
    """The seconds of each kind in a line, and the acts in the next."""
    state = from_json(json.dumps(record))
    spent = spent_s(state)
    total_s = sum(spent.values())
    acts = (
        f"{entry.event} {entry.at - before.at:.1f}"
        for before, entry in pairwise(state.timeline)
        if entry.at > before.at
    )
    kinds = ", ".join(f"{name} {spent[name]:.1f}" for name in NAMES)
    return (
        f"{state.plan.target.kind}, {state.plan.strategy}, {state.phase}: {total_s:.0f} s ({kinds}); "
        f"look, end and other {(spent['look'] + spent['end'] + spent['other']) / total_s:.1%}\n"
        f"  {', '.join(acts)}"
    )
