"""The pod is given the time that it needs to start, and is not killed for being slow.

Meaning: a startupProbe that waits as long as a start takes; liveness with a time-out that a busy
API server meets.
When: a probe killed the container while it was loading or busy.
Not when: the engine really hangs: then the probe is right, and says too little (200 on /health is
no token).
Undo: restore the former probe.
Proof: no "Unhealthy" events and no restarts through a start and a busy hour.
Source: vLLM opens its port only after the engine is up, so that /health cannot answer before;
Kubernetes startupProbe.
"""

from __future__ import annotations

import math

from barostat.core.lever import Lever, NotApplicable, Proposal, Situation
from barostat.core.proposed_change import EditPodSpec, SetStartupProbe
from barostat.core.prose import Prose
from barostat.levers._readings import last_of

NAME = "probes"
PERIOD_S = 10


def propose(situation: Situation) -> Proposal | NotApplicable:
    """Twice the longest start that was seen, at least ten minutes."""
    window = situation.window
    if situation.cause == "bad-config" and situation.variant != "probe":
        return NotApplicable(NAME, Prose("no probe ended the container"))
    started = last_of(window, "pod_starting_s")
    if situation.cause == "scaling-lag" and not (last_of(window, "pod_probe_kills") or 0) > 0:
        return NotApplicable(NAME, Prose("no probe ended the container"))
    tries = max(60, math.ceil(2 * (started or 0.0) / PERIOD_S))
    port = int(window.config.number("port") or 8000)
    seen = (
        f"it has been starting for {started:.0f} s"
        if started is not None
        else "a probe ended the container before it was ready"
    )
    change = EditPodSpec(SetStartupProbe("/health", port, PERIOD_S, 5, tries))
    return Proposal(
        NAME,
        change,
        Prose(f"{seen}; this waits {tries * PERIOD_S // 60} min before liveness counts"),
        True,
        20,
    )


LEVER = Lever(NAME, Prose("probes that wait"), "manifest", ("bad-config", "scaling-lag"), propose)
