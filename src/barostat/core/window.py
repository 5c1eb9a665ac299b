"""The window: everything known about one engine, up to one instant, that a rule may read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from barostat.core.config import EngineConfig
from barostat.core.object_reference import ObjectReference
from barostat.core.signal import Fresh, Missing, Reading, Signal, Stale
from barostat.core.version import EngineVersion

# A scrape and its judge may run on two machines: their clocks may differ by this much before we
# call it the future.
CLOCK_SKEW_S = 5.0


@dataclass(frozen=True, slots=True)
class Window:
    """The signals of one engine (a replica, or one of its data-parallel engines) at the instant
    `at` (unix seconds).

    `pod`: namespace/name of the replica's pod, if known from the cluster; the replica's own name
    may be an address or a file name. `workload`: the owner of the pod, from the cluster or the
    pod's name.
    """

    replica: str
    at: float
    signals: Mapping[str, Signal] = field(default_factory=dict)
    config: EngineConfig = field(default_factory=EngineConfig)
    version: EngineVersion | None = None
    pod: str = ""
    workload: ObjectReference | None = None

    def read(self, name: str) -> Reading:
        """Fresh, Stale or Missing; never a bare number."""
        found = self.signals.get(name)
        if found is None:
            return Missing(name)
        age_s = self.at - found.at
        if age_s > found.stale_after_s or age_s < -CLOCK_SKEW_S:
            return Stale(found, age_s)
        return Fresh(found, max(0.0, age_s))

    def fresh(self, name: str) -> Signal | None:
        """The signal if it is fresh, else None: for what sharpens a judgement but is not needed for
        it.
        """
        found = self.signals.get(name)
        if found is None or not -CLOCK_SKEW_S <= self.at - found.at <= found.stale_after_s:
            return None
        return found

    def __getitem__(self, name: str) -> Signal:
        """Return the signal, for a rule that declared it in `needs` (the harness has checked it).

        Errors: KeyError for a missing or stale signal, which the rule has not declared.
        """
        found = self.fresh(name)
        if found is None:
            raise KeyError(name)
        return found
