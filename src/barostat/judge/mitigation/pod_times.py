"""How long a pod of the target may take to start and to end, as its own manifest says it, and to
drain, as its requests do.

Source: apps/v1 Deployment (progressDeadlineSeconds), core/v1 PodSpec
(terminationGracePeriodSeconds) and Probe, Kubernetes 1.27 to 1.34.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from barostat.core.window import Window
from barostat.platform.objects import Object, count
from barostat.platform.pods import engine_container
from barostat.remedy.plan import StepLimits

GRACE_S = 30.0
"""What Kubernetes grants a pod to end that says nothing."""
LONGEST_DRAIN_S = 3600.0
LONGEST_START_S = 3600.0
"""Longest start-up deadline that is honoured (an absent deadline may be 2^31 - 1 seconds)."""


def with_times_of(home: Object, template: Object, bounds: StepLimits) -> StepLimits:
    """The bounds with the time that home's pods (made from `template`) are given to start, where
    that is longer, and to end.
    """
    return replace(
        bounds,
        ready_s=max(bounds.ready_s, min(LONGEST_START_S, _start_s(home, template))),
        end_s=_end_s(template),
    )


def drain_s_of(windows: Iterable[Window], verify_s: float) -> float:
    """Seconds that a drain may last: twice the time that the requests of any of these engines take,
    with what is queued before them by the end of the proof; 0 where that was not measured.

    `verify_s`: seconds that the proof may take; a queue that grows now grows on until then.
    """
    within_s = (_drained_within_s(window, verify_s) for window in windows)
    return min(LONGEST_DRAIN_S, 2.0 * max(within_s, default=0.0))


def _drained_within_s(window: Window, verify_s: float) -> float:
    now = {
        name: found.last if name == "e2e_p99_s" else found.mean
        for name in ("e2e_p99_s", "running_requests", "waiting_requests", "arrivals_per_s")
        if (found := window.fresh(name)) is not None
    }
    finished = window.fresh("finished_per_s")
    per_s = finished.mean if finished is not None else 0.0
    grows_per_s = max(0.0, now.get("arrivals_per_s", 0.0) - per_s)
    queue = now.get("running_requests", 0.0) + now.get("waiting_requests", 0.0)
    queued_s = (queue + grows_per_s * verify_s) / per_s if per_s > 0 else 0.0
    return max(now.get("e2e_p99_s", 0.0), queued_s)


def _start_s(home: Object, template: Object) -> float:
    """The longer of the rollout's deadline and what the engine's startup probe lets pass."""
    container = engine_container(template)
    probe = container.probes.get("startup", {}) if container is not None else {}
    tries, each_s, first_s = (
        count(probe, "failureThreshold"),
        count(probe, "periodSeconds"),
        count(probe, "initialDelaySeconds"),
    )
    probed_s = (
        (first_s or 0) + (3 if tries is None else tries) * (10 if each_s is None else each_s)
        if probe
        else 0
    )
    return float(max(count(home, "spec", "progressDeadlineSeconds") or 0, probed_s))


def _end_s(template: Object) -> float:
    given = count(template, "spec", "terminationGracePeriodSeconds")
    return GRACE_S if given is None else max(0.0, float(given))
