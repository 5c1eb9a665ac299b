"""Time limits for a pod of the target: start and termination from its manifest, drain from its
measured requests.

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
"""Termination grace period that Kubernetes uses by default."""
LONGEST_DRAIN_S = 3600.0
LONGEST_START_S = 3600.0
"""Upper bound on the start-up deadline (an absent deadline may be 2^31 - 1 seconds)."""


def with_times_of(home: Object, template: Object, bounds: StepLimits) -> StepLimits:
    """Return the bounds with the target's own start-up time, if that is longer, and its termination
    time. `template`: pod template of the target.
    """
    return replace(
        bounds,
        ready_s=max(bounds.ready_s, min(LONGEST_START_S, _start_s(home, template))),
        end_s=_end_s(template),
    )


def drain_s_of(windows: Iterable[Window], verify_s: float) -> float:
    """Return the drain limit in seconds: twice the time until a request that arrives at the end of
    the proof would finish, on the slowest of these engines; 0 if that was not measured.

    `verify_s`: duration of the proof in seconds; a growing queue is assumed to grow until its end.
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
    """Return the longer of the rollout's deadline and the time that the startup probe allows."""
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
