"""The values at which a proposed change is tried."""

from __future__ import annotations

from barostat.core.proposed_change import ProposedChange, SetFlag
from barostat.core.window import Window

_RUNNING_SHARES = (0.5, 0.65, 0.8, 0.9)
_WATERMARKS = (0.01, 0.02, 0.05, 0.1)
_FACTORS = {
    "max_num_batched_tokens": (0.5, 2.0),
    "max_num_queued_reqs": (1.5, 2.0),
}
_MOST_BUDGET = 16_384


def nearby(change: ProposedChange, window: Window) -> list[ProposedChange]:
    """The change at each value that is tried, its own first."""
    if not isinstance(change, SetFlag) or isinstance(change.value, bool | str):
        return [change]
    own = change.value
    values: list[int | float] = [own]
    match change.name:
        case "watermark":
            values += _WATERMARKS
        case "max_num_active_seqs" | "max_num_seqs":
            running = window.fresh("running_requests")
            most = max(running.values) if running is not None else 0.0
            if own < most:
                values += [max(1, round(share * most)) for share in _RUNNING_SHARES]
            elif most:
                values += [round(own * factor) for factor in (0.75, 1.5)]
        case name:
            values += [round(own * factor) for factor in _FACTORS.get(name, ())]
    if change.name == "max_num_batched_tokens":
        values = [value for value in values if value <= _MOST_BUDGET]
    return [SetFlag(change.name, value) for value in dict.fromkeys(values)]
