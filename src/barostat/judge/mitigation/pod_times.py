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


def drain_s_of(windows: Iterable[Window]) -> float:
    """Seconds that a drain may last: twice the time that the requests of any of these engines take
    now, with what is queued before them; 0 where that was not measured.
    """
    return min(LONGEST_DRAIN_S, 2.0 * max(map(_drained_within_s, windows), default=0.0))


def _drained_within_s(window: Window) -> float:
    longest, finished = window.fresh("e2e_p99_s"), window.fresh("finished_per_s")
    under_way = [window.fresh(name) for name in ("running_requests", "waiting_requests")]
    many = sum(found.last for found in under_way if found is not None)
    queued_s = many / finished.mean if finished is not None and finished.mean > 0 else 0.0
    return max(longest.last if longest is not None else 0.0, queued_s)


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
