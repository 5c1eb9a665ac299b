"""What a card's own words mean: clock-event (throttle) reasons, AMD violations, and Xid codes.

The runbook diverts to the hardware team on *any* non-zero throttle mask. That is wrong: an idle
card shows 0x1 and a busy one very often 0x4 (it runs at its power cap), both normal. Only the
reasons of class `fault` cut the clocks because something is wrong.

Source: NVML `nvmlClocksEventReason*` and the nvidia-smi manual (R535 to R590); NVIDIA's Xid
catalogue and the codes that its Kubernetes device plugin ignores (`barostat.catalog.xid`); amd-smi
`throttle` violations (ROCm 6.3 to 7).
"""

from __future__ import annotations

from typing import Literal

from barostat.catalog.xid import XIDS, xid

ThrottleClass = Literal["normal", "power-cap", "fault", "unclear"]

THROTTLE_BITS: tuple[tuple[int, str], ...] = (
    (0x1, "gpu_idle"),
    (0x2, "applications_clocks_setting"),
    (0x4, "sw_power_cap"),
    (0x8, "hw_slowdown"),
    (0x10, "sync_boost"),
    (0x20, "sw_thermal_slowdown"),
    (0x40, "hw_thermal_slowdown"),
    (0x80, "hw_power_brake_slowdown"),
    (0x100, "display_clock_setting"),
)
"""Bits of `clocks_event_reasons.active` (before R535: `clocks_throttle_reasons.active`) and of
DCGM's field 112.
"""

THROTTLE_CLASS: dict[str, ThrottleClass] = {
    "gpu_idle": "normal",
    "applications_clocks_setting": "normal",
    "sync_boost": "normal",
    "display_clock_setting": "normal",
    "low_utilization": "normal",
    "sw_power_cap": "power-cap",
    "ppt": "power-cap",
    "gfx_clk_below_host_limit_power": "power-cap",
    "hw_slowdown": "fault",
    "sw_thermal_slowdown": "fault",
    "hw_thermal_slowdown": "fault",
    "hw_power_brake_slowdown": "fault",
    "prochot": "fault",
    "prochot_thermal": "fault",
    "socket_thermal": "fault",
    "vr_thermal": "fault",
    "hbm_thermal": "fault",
    "gfx_clk_below_host_limit_thermal": "fault",
}
"""Anything not named here is `unclear`: shown, never counted."""

XID_OF_APPLICATIONS: frozenset[int] = frozenset(
    code for code, row in XIDS.items() if row.kind == "application"
)
"""Xid codes that a faulty program causes: the card keeps working. A wrong kernel, not a broken
card.
"""

_WEIGHTS = {"application": 1, "unclear": 2, "pending": 3, "fatal": 4}


def xid_weight(code: int) -> tuple[int, int]:
    """Orders Xid codes by how much they matter for the card: none, a program's, unclear, waiting
    for a reset, fatal.
    """
    return (_WEIGHTS[xid(code).kind] if code > 0 else 0, code)


def throttle_reasons(mask: int) -> tuple[str, ...]:
    """The names of the bits that are set; an unknown bit is named by its value."""
    known = tuple(name for bit, name in THROTTLE_BITS if mask & bit)
    rest = mask & ~sum(bit for bit, _ in THROTTLE_BITS)
    return (*known, f"unknown_{rest:#x}") if rest > 0 else known


def throttle_class(reason: str) -> ThrottleClass:
    """Return whether a reason is normal, the power cap, a fault, or unknown."""
    return THROTTLE_CLASS.get(reason, "unclear")
