"""Something other than the power cap cuts the GPU's clocks: heat, a power brake, a hardware
slowdown.

Meaning: the card protects itself. It computes the same, more slowly.

Impact: latency rises and throughput falls on this card, and with tensor parallelism on all of its
partners: it looks like overload and is not.

Evidence: clock event reasons: thermal slowdown, hardware slowdown, power brake; the temperature
beside them.

Not evidence: the reason "idle" (0x1), application clocks, and the power cap (0x4): a busy card is
at its cap most of the time. Not every non-zero mask is a fault.

Mitigation: move the load off this node and tell its owner: fans, airflow, inlet temperature, power
supply. Do not tune the engine.

Source: NVML clocks event reasons; DCGM_FI_DEV_CLOCK_THROTTLE_REASONS; amd-smi throttle status.
"""

from __future__ import annotations

from barostat.core.symptom import Symptom
from barostat.core.verdict import Absent, Present, Verdict
from barostat.core.window import Window
from barostat.symptoms._holding import holding, together
from barostat.symptoms._lines import plural, quote


def judge(window: Window) -> Verdict:
    """Present if a card's clocks are cut for a reason that is a fault."""
    throttled = window["gpu_throttle_fault"]
    others = [
        signal
        for name in ("gpu_temperature_c", "gpu_throttle_power_cap")
        if (signal := window.fresh(name)) is not None
    ]
    evidence = (throttled.evidence(window.at), *(signal.evidence(window.at) for signal in others))
    held = holding(together(throttled), lambda cards: cards > 0)
    if not held.holds:
        return Absent("no card's clocks are cut for heat, a power brake or hardware", evidence)
    reason = f": {quote(throttled.detail)}" if throttled.detail else ""
    cards = max(throttled.last, 1.0)
    return Present(
        f"{plural(cards, 'card')} with clocks cut, {held.how}{reason}",
        evidence,
        max(0.75, held.confidence),
    )


SYMPTOM = Symptom(
    name="gpu-throttled",
    title="GPU clocks are cut by a fault",
    judge=judge,
    needs=("gpu_throttle_fault",),
)
