"""Limits of a Barostat gateway in front of the engine: steps that take effect at once, with the
command that takes them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from barostat.core.diagnosis import NextStep
from barostat.core.object_reference import ObjectReference
from barostat.core.proposed_change import SetEdgeLimit
from barostat.core.prose import Prose
from barostat.core.window import Window

_GATEWAY_SIGNAL = "gateway_active_requests"


def is_seen(window: Window) -> bool:
    """True if the metrics of a gateway are among the signals."""
    return _GATEWAY_SIGNAL in window.signals


def live_steps(steps: Sequence[NextStep], window: Window) -> tuple[NextStep, ...]:
    """The steps; each limit that a gateway holds has the command that sets it there."""
    workload = window.workload
    if workload is None or workload.kind != "deployment" or not is_seen(window):
        return tuple(steps)
    return tuple(_with_command(step, workload) for step in steps)


def _with_command(step: NextStep, workload: ObjectReference) -> NextStep:
    if not isinstance(step.change, SetEdgeLimit):
        return step
    namespace = f" -n {workload.namespace}" if workload.namespace else ""
    command = (
        f"barostat mitigate deploy/{workload.name}{namespace} --lever "
        f"{step.lever}={step.change.tokens} --gateway-token-file FILE"
    )
    why = Prose(f"{step.because}. Live, at the gateway before it: {command}")
    return replace(step, because=why)
