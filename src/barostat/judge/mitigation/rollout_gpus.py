"""Whether the owner's own rollout needs more GPUs than are free."""

from __future__ import annotations

from barostat.core.units import many
from barostat.judge.mitigation.facts import spare_place
from barostat.judge.mitigation.target_snapshot import TargetSnapshot


def rollout_gpus(seen: TargetSnapshot) -> str:
    """Return the GPUs that the owner's rollout needs in addition to those in use, and whether they
    are free; empty if it needs none.
    """
    kind, home = seen.kind, seen.home
    units = kind.surge(home)
    gpus = units * kind.unit_gpus(home)
    if not gpus:
        return ""
    needs = (
        f"Its rollout starts {many(units, kind.unit)} beside {many(seen.replicas, kind.unit)} that "
        f"{'runs' if seen.replicas == 1 else 'run'}: {many(gpus, 'GPU')} more"
    )
    place = spare_place(seen, units)
    if place is None:
        return f"{needs}. Whether they are free could not be read."
    if place[0]:
        return f"{needs}; they are free."
    return f"{needs}, and they are not free ({place[1]}): the rollout would wait for them. {kind.without_surge}".rstrip()
