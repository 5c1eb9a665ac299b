"""Facts about a workload from the objects around it: its revisions, and the pods that its Services
send requests to.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from barostat.platform.objects import Object, instant, name_of, objects, text, value
from barostat.platform.workloads import Revision


def former_revision(kept: Sequence[Revision]) -> tuple[str, str] | None:
    """Return (the current revision, the one to go back to): among revisions with different pods,
    one that serves, else the newest. None if there is none.

    Restarts, labels and annotations create revisions without a difference.
    """
    if not kept:
        return None
    present = kept[-1]
    older = [found for found in reversed(kept[:-1]) if not same_pods(found, present)]
    serves = [found for found in older if found.ready]
    return (present.number, (serves or older)[0].number) if older else None


def since_of_revision(kept: Sequence[Revision]) -> float | None:
    """When the pods of the present revision were first rolled out as they are, where they were
    restarted since; else None.
    """
    alike: list[Revision] = []
    for found in reversed(kept):
        if not same_pods(found, kept[-1]):
            break
        alike.append(found)
    return instant(alike[-1].made_at) if len(alike) > 1 else None


def is_stuck(kept: Sequence[Revision], *, rolled_out: bool, paused: bool) -> bool:
    """A rollout is under way and not paused; none of its pods is Ready, and those of the revision
    to go back to are.
    """
    pair = former_revision(kept)
    if rolled_out or paused or pair is None:
        return False
    ready = {found.number: found.ready for found in kept}
    return ready[pair[0]] == 0 and ready[pair[1]] > 0


def same_pods(one: Revision, other: Revision) -> bool:
    """True if both make the same pods, labels and annotations aside."""
    return bool(_bare(one.source) == _bare(other.source))


def _bare(node: Any) -> Any:
    if not isinstance(node, dict):
        return node
    return {
        key: _bare(found) if key.endswith("Template") else found
        for key, found in node.items()
        if key != "metadata"
    }


def behind(
    services: Iterable[Object], slices: Iterable[Object]
) -> tuple[frozenset[str], frozenset[str]]:
    """Return (uids of pods that are ready in every one of the Services, uids of pods that are in
    any of them in any state).
    """
    ready: dict[str, set[str]] = {name_of(service): set() for service in services}
    seen: set[str] = set()
    for item in slices:
        service = text(item, "metadata", "labels", "kubernetes.io/service-name")
        if service not in ready:
            continue
        for end in objects(item, "endpoints"):
            uid = text(end, "targetRef", "uid")
            seen.add(uid)
            if value(end, "conditions", "ready") is not False:
                ready[service].add(uid)
    everywhere = frozenset.intersection(*map(frozenset, ready.values())) if ready else frozenset()
    return everywhere, frozenset(seen)
