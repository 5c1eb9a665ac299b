"""Where a gateway of ours stands before the engine: its limits are levers that work at once, and
the command that pulls them is known.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from barostat.core.diagnosis import NextStep
from barostat.core.window import Window

_SEEN = "gateway_active_requests"
_DEPLOYMENT = re.compile(r"\b(?:deploy|deployment|deployments)/([a-z0-9][a-z0-9.-]*)")
_LIMIT = re.compile(r": *([0-9]+)\}")


def is_seen(window: Window) -> bool:
    """True where a gateway's own metrics are among what was read."""
    return _SEEN in window.signals


def live_steps(steps: Sequence[NextStep], window: Window, target: str) -> tuple[NextStep, ...]:
    """The steps, those at the gateway with the command that takes them there. `target`: as the
    recording names it.
    """
    found = _DEPLOYMENT.search(target)
    if found is None or not is_seen(window):
        return tuple(steps)
    namespace = window.pod.partition("/")[0] if "/" in window.pod else ""
    where = f"deploy/{found[1]}{f' -n {namespace}' if namespace else ''}"
    return tuple(_live(step, where) if step.lever.startswith("edge-") else step for step in steps)


def _live(step: NextStep, where: str) -> NextStep:
    value = _LIMIT.search(step.change)
    lever = f"{step.lever}={value[1]}" if value is not None else step.lever
    command = f"barostat mitigate {where} --lever {lever} --gateway-token-file FILE"
    return replace(step, because=f"{step.because}. Live, at the gateway before it: {command}")
