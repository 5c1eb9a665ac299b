"""The values at which a proposal is tried: its own, and a few around it where its lever has
degrees.
"""

from __future__ import annotations

import re
from dataclasses import replace

from barostat.core.diagnosis import NextStep
from barostat.core.window import Window

_FLAG = re.compile(r"^(--[a-z][a-z-]*) (\d+(?:\.\d+)?)$")
_RUNNING_SHARES = (0.5, 0.65, 0.8, 0.9)
_WATERMARKS = (0.01, 0.02, 0.05, 0.1)
_AROUND = {
    "--max-num-batched-tokens": (1.0, 0.5, 2.0), "--max-num-queued-reqs": (1.0, 1.5, 2.0), "--max-num-seqs": (1.0, 0.75, 1.5),
}  # fmt: skip
_MOST_BUDGET = 16_384


def at_values(step: NextStep, window: Window) -> list[NextStep]:
    """The step at each value worth a trial, its own first."""
    found = _FLAG.match(step.change)
    if found is None:
        return [step]
    flag, written = found[1], float(found[2])
    values = [written]
    if flag == "--watermark":
        values += _WATERMARKS
    elif flag == "--max-num-active-seqs" or (
        flag == "--max-num-seqs" and step.lever == "max-num-seqs"
    ):
        running = window.fresh("running_requests")
        most = max(running.values) if running is not None else 0.0
        values += [float(max(1, round(share * most))) for share in _RUNNING_SHARES if most]
    elif flag in _AROUND:
        values += [float(round(written * factor)) for factor in _AROUND[flag]]
    if flag == "--max-num-batched-tokens":
        values = [value for value in values if value <= _MOST_BUDGET]
    return [
        replace(step, change=f"{flag} {value:g}" if value < 1 else f"{flag} {value:.0f}")
        for value in dict.fromkeys(values)
    ]
